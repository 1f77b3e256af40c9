// Many commands of the executable at once ask for the same order: as many are served as were sold.
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runBinary } from "../support/binary.ts";
import { makeSignedRequest } from "../support/signed-request.ts";
import { tempFolder } from "../support/temp-folder.ts";

const COMMANDS = 64;
const PLACES = 5;

interface Answers {
  readonly documents: readonly {
    readonly outcome: string;
    readonly obstacles: readonly { readonly code: string }[];
  }[];
}

test("64 commands at once for one license key get as many licenses as were sold", async () => {
  const folder = tempFolder();
  const desk = ["--dir", join(folder, "desk")];
  const run = async <T>(...args: string[]): Promise<T> => {
    const { code, stdout, stderr } = await runBinary([...args, ...desk, "--json"]);
    if (code !== 0) throw new Error(`berth ${args.join(" ")}: ${code} ${stdout} ${stderr}`);
    return JSON.parse(stdout) as T;
  };
  await run("vendor", "init", "--name", "Acme", "--product", "CAD", "--no-passphrase");
  const terms = ["--customer", "Initech", "--product", "CAD", "--valid-until", "never"];
  const places = ["--appliances", String(PLACES), "--moves", "0"];
  const order = ["vendor", "order", "add", ...terms, ...places];
  const { license_key } = await run<{ license_key: string }>(...order);

  // Every second one answers a folder, the others a request by hand.
  const commands = await Promise.all(
    Array.from({ length: COMMANDS }, async (_, index) => {
      const inbox = join(folder, `inbox-${index}`);
      mkdirSync(inbox);
      const request = join(inbox, "request.jwt");
      writeFileSync(request, await makeSignedRequest("CAD", license_key));
      return index % 2 === 0
        ? ["vendor", "answer", inbox]
        : ["vendor", "issue", "--request", request];
    }),
  );
  const results = await Promise.all(
    commands.map((command) => runBinary([...command, ...desk, "--json"])),
  );
  const outcomes = results.map(({ code, stdout, stderr }, index) => {
    const result = JSON.parse(stdout) as Partial<Answers> & { code?: string; document?: string };
    const [answer] = result.documents ?? [];
    if (commands[index]?.[1] === "answer" && code !== 1)
      return answer?.obstacles[0]?.code ?? answer?.outcome;
    if (stderr.includes("the desk is busy")) return "busy";
    if (stderr.includes("places are taken")) return "order_full";
    return result.document === undefined ? stderr : "answered";
  });
  const counts = Object.fromEntries(
    Map.groupBy(outcomes, (outcome) => outcome ?? "none")
      .entries()
      .map(([outcome, all]) => [outcome, all.length]),
  );
  const { answered, busy = 0, order_full = 0, ...others } = counts;
  expect(others).toEqual({});
  expect(answered).toBe(PLACES);
  expect(busy + order_full).toBe(COMMANDS - PLACES);

  const [shown] = await run<{ holders: number; licenses: unknown[] }[]>("vendor", "order", "list");
  expect([shown?.holders, shown?.licenses.length]).toEqual([PLACES, PLACES]);
  await run("vendor", "verify");
});
