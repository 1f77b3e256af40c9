import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { RegistrationReply } from "../../../../src/http/routes/slots/registrations.ts";
import type { StatusReply } from "../../../../src/http/routes/health/status-schema.ts";
import { buildBinary } from "../../../support/binary.ts";
import {
  runBerth,
  runOrThrow,
  runJsonOrThrow,
  startServer,
  type RunningServer,
} from "../../../support/run-berth.ts";
import { modeOf, tempFolder, type AtEnd } from "../../../support/temp-folder.ts";

const folderOf = ({ banner }: RunningServer): string => /^ {2}data +(\S+)/m.exec(banner)?.[1] ?? "";

/** Splits a line as a shell does. The line may have single quotes only, and no expansion. */
function shellWords(line: string): string[] {
  expect(line).not.toMatch(/["\\$`](?=[^']*$)/);
  return [...line.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ""));
}

function requestOf(line: string): [url: string, init: RequestInit] {
  const [curl, ...words] = shellWords(line);
  expect(curl).toBe("curl");
  const headers: Record<string, string> = {};
  let method = "GET";
  let body = "";
  let url = "";
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? "";
    const value = (): string => words[(index += 1)] ?? "";
    if (word === "-sS") continue;
    else if (word === "-X") method = value();
    else if (word === "-d") body = dataOf(value());
    else if (word === "-H") {
      const [name = "", text = ""] = value().split(": ");
      headers[name] = text;
    } else url = word;
  }
  return [url, { method, headers, ...(method === "POST" && { body }) }];
}

const dataOf = (word: string): string =>
  word.startsWith("@") ? readFileSync(word.slice(1), "utf8") : word;

/** Each operation with a field that its reply must have. */
const OPERATIONS: Readonly<Record<string, string>> = {
  "/api/v4/register": "license_id",
  "/api/v4/borrow": "license_id",
  "/api/v4/add_consumption": "license_id",
  "/api/v4/add_feature_consumption": "license_id",
  "/api/v4/airgap/license": "policy_id",
  "/api/v4/license/generate": "request_id",
  "/api/v4/setKeys": "updated",
};

describe("the curl lines of the banner", () => {
  test("cover every operation, and each succeeds twice", async () => {
    const demo = await startServer(["demo"]);
    const lines = demo.banner.split("\n").filter((line) => line.startsWith("curl "));
    const pathOf = (line: string): string => new URL(requestOf(line)[0]).pathname;
    expect(lines.map(pathOf)).toEqual(Object.keys(OPERATIONS));
    for (const line of [...lines, ...lines]) {
      const response = await fetch(...requestOf(line));
      const field = OPERATIONS[pathOf(line)] ?? "";
      expect([line, response.status, await response.json()]).toEqual([
        line,
        200,
        expect.objectContaining({ [field]: expect.anything() as unknown }),
      ]);
    }
    const slots = await runJsonOrThrow<RegistrationReply[]>(["slots", "--data", folderOf(demo)]);
    expect(slots.map(({ user, product }) => [user, product])).toEqual([
      ["ada", "DEMO"],
      ["grace", "DEMO"],
    ]);
    const { licenses } = await runJsonOrThrow<StatusReply>(["status", "--data", folderOf(demo)]);
    // The second round counts on the license that was installed during the first.
    const counted = { total_consumptions: 1, max_consumptions: 100 };
    expect(licenses).toMatchObject([counted, counted]);
    // Replies describe one license, so the banner says that there are two.
    expect(licenses.map(({ floating_users }) => floating_users)).toEqual([5, 5]);
    expect(demo.banner).toContain("a second one of DEMO, with 5 slots of its own");
  });

  test("run unchanged in a shell", async () => {
    const demo = await startServer(["demo"]);
    const lines = demo.banner.split("\n").filter((line) => line.startsWith("curl "));
    const script = lines.map((line) => `${line} -o /dev/null -w '%{http_code}\\n'`).join("\n");
    if (Bun.which("curl") === null) return;
    const shell = Bun.spawnSync(["sh", "-c", `${script}\n${script}`], { cwd: "/" });
    expect(shell.stdout.toString().trim().split("\n")).toEqual(Array(14).fill("200"));
  });
});

describe("berth demo", () => {
  const cleanups: Parameters<AtEnd>[0][] = [];
  let demo: RunningServer;
  beforeAll(async () => {
    demo = await startServer(["demo"], {}, (cleanup) => cleanups.push(cleanup));
  });
  afterAll(async () => {
    for (const cleanup of cleanups) await cleanup();
  });

  test("installs a license with the documented terms", async () => {
    const response = await fetch(`${demo.url}/api/v4/license`);
    expect(await response.json()).toMatchObject({
      license_type: "consumption",
      product_details: { short_code: "DEMO" },
      floating_users: 5,
      floating_timeout: 15,
      max_borrow_time: 720,
      max_consumptions: 100,
      max_overages: 10,
      product_features: [
        { code: "RENDER", is_floating: true, floating_users: 2 },
        { code: "EXPORT", feature_type: "consumption", max_consumption: 50 },
      ],
    });
  });

  test("says that administration is open, and it is", async () => {
    expect(demo.banner).toContain("administration is open to the same networks");
    const forwarded = { headers: { "x-forwarded-for": "10.0.0.1" } };
    expect((await fetch(`${demo.url}/api/admin/v1/status`, forwarded)).status).toBe(200);
  });

  test("prints the vendor's public key, as berth vendor show does", async () => {
    const desk = join(folderOf(demo), "demo", "vendor");
    const words = ["vendor", "show", "--dir", desk];
    const { public_key } = await runJsonOrThrow<{ readonly public_key: string }>(words);
    const [, printed] = /^ {2}vendor key +(\S{43}) /m.exec(demo.banner) ?? [];
    expect(printed).toBe(public_key);
  });
});

describe("berth demo without --data", () => {
  test.each(["SIGTERM", "SIGINT"] as const)("removes its folder after %s", async (signal) => {
    const tmp = tempFolder();
    const demo = await startServer(["demo"], { env: { TMPDIR: tmp } });
    const folder = folderOf(demo);
    expect(folder).toStartWith(join(tmp, "berth-demo-"));
    expect(existsSync(join(folder, "state.json"))).toBe(true);
    expect(modeOf(folder)).toBe("700");
    expect((await demo.post("register", { user: "ada" })).status).toBe(200);
    expect(await demo.stop(signal)).toEqual({ code: 0, stderr: "" });
    expect(readdirSync(tmp)).toEqual([]);
  });

  test("removes its folder when it cannot listen", async () => {
    const tmp = tempFolder();
    const other = await startServer(["demo"]);
    const { host, port } = new URL(other.url);
    const result = await runBerth(["demo", "--listen", host], { env: { TMPDIR: tmp } });
    expect([result.code, result.stdout]).toEqual([1, ""]);
    expect(result.stderr).toContain(`berth: error: port ${port} on 127.0.0.1 is in use by `);
    expect(result.stderr).toContain("berth: hint: choose another port with --listen");
    expect(readdirSync(tmp)).toEqual([]);
  });
});

describe("berth demo with --data", () => {
  test("keeps its state between starts and installs nothing twice", async () => {
    const data = join(tempFolder(), "data");
    const first = await startServer(["demo", "--data", data]);
    expect((await first.post("add_consumption", { consumptions: "7" })).status).toBe(200);
    const before = await runJsonOrThrow<StatusReply>(["status", "--data", data]);
    expect((await first.stop()).code).toBe(0);
    const second = await startServer(["demo"], { env: { BERTH_DATA: data } });
    const { licenses, storage } = await runJsonOrThrow<StatusReply>(["status", "--data", data]);
    expect(licenses).toMatchObject([{ product: "DEMO", total_consumptions: 7 }]);
    // One more change: the activation code for the banner of this start.
    expect(storage.seq).toBe(before.storage.seq + 1);
    expect((await second.stop()).code).toBe(0);
  });

  test("writes everything to state.json after SIGTERM", async () => {
    const data = join(tempFolder(), "data");
    const demo = await startServer(["demo", "--data", data]);
    expect((await demo.post("register", { user: "ada-of-the-state" })).status).toBe(200);
    const { storage } = await runJsonOrThrow<StatusReply>(["status", "--data", data]);
    expect(await demo.stop()).toEqual({ code: 0, stderr: "" });
    const state = readFileSync(join(data, "state.json"), "utf8");
    expect(state).toContain("ada-of-the-state");
    const journals = readdirSync(data).filter((name) => name.startsWith("journal-"));
    const open = `journal-${storage.seq + 1}.jsonl`;
    expect(journals).toContain(open);
    expect(readFileSync(join(data, open), "utf8")).toBe("");
    expect(existsSync(join(data, "berth.sock"))).toBe(false);
  });

  test("installs the same license under another code for each --product", async () => {
    const data = join(tempFolder(), "data");
    const products = ["--product", "CAD", "--product", "CAM,PDM", "--product", "CAD"];
    const demo = await startServer(["demo", "--data", data, ...products]);
    const { licenses } = await runJsonOrThrow<StatusReply>(["status", "--data", data]);
    expect(licenses.map(({ product, floating_users }) => [product, floating_users])).toEqual(
      ["DEMO", "CAD", "CAM", "PDM"].map((product) => [product, 5]),
    );
    expect((await demo.post("register", { user: "ada", product: "CAM" })).status).toBe(200);
    expect((await demo.post("register", { user: "ada" })).status).toBe(400);
  });
});

test("berth slots --json prints a list longer than a pipe's buffer completely to a slow reader", async () => {
  const data = join(tempFolder(), "data");
  const products = Array.from({ length: 9 }, (_, index) => `P${index}`);
  const demo = await startServer(["demo", "--data", data, "--product", products.join(",")]);
  const user_info = "x".repeat(4_000);
  for (const product of products) {
    for (const user of ["a", "b", "c", "d"]) {
      expect((await demo.post("register", { product, user, user_info })).status).toBe(200);
    }
  }
  const script = `"${buildBinary()}" slots --json --data "${data}" | (sleep 0.4; cat)`;
  const shell = Bun.spawn(["sh", "-c", script], { stdout: "pipe", stderr: "pipe" });
  const text = await shell.stdout.text();
  expect(text.length).toBeGreaterThan(140_000);
  expect(JSON.parse(text) as unknown[]).toHaveLength(36);
  expect(await runOrThrow(["slots", "--data", data])).toContain("P8");
});
