import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DAY } from "../../domain/time.ts";
import type { Operations } from "../../operations/operations.ts";
import { Misuse } from "../../platform/options.ts";
import { version } from "../../platform/version.ts";
import { dataFolder, Failure, listOf, type Command } from "../command.ts";
import { demoLicenseId, demoTerms } from "../demo-license.ts";
import { option } from "../flags.ts";
import { serveFolder, type Server } from "../serving.ts";
import { print, table } from "../terminal.ts";

export const demo: Command = {
  name: "demo",
  summary: "try it: a server with a license, ready for curl",
  options: [option.demoListen, option.demoData, option.demoProducts],
  examples: ["berth demo", "berth demo --product CAD --listen 127.0.0.1:9000"],
  async run(given) {
    const products = ["DEMO", ...listOf(given, "product")];
    const wrong = products.find((code) => !/^[\x21-\x7e]{1,64}$/.test(code));
    if (wrong !== undefined) {
      throw new Misuse(
        "--product must be 1 to 64 visible ASCII characters",
        "for example --product CAD",
      );
    }
    const kept = given.values.has("data") ? dataFolder(given) : null;
    const folder = kept ?? mkdtempSync(join(tmpdir(), "berth-demo-"));
    try {
      return await serveFolder(
        given,
        folder,
        "demo",
        (operations) => install(operations, products),
        (server) => banner(server, kept !== null),
      );
    } finally {
      if (kept === null) rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** Only what is missing: a kept folder keeps its totals. */
async function install(operations: Operations, products: readonly string[]): Promise<void> {
  const installed = await operations.licenses();
  const ids = new Set(installed.ok ? installed.value.map(({ id }) => id) : []);
  for (const product of new Set(products)) {
    const license = demoLicenseId(product);
    if (ids.has(license)) continue;
    const done = await operations.installLicense({ license, terms: demoTerms(product) });
    if (!done.ok) throw new Failure(`the demo license was refused: ${done.fault.code}`, "");
  }
}

async function banner({ url, folder }: Server, kept: boolean): Promise<void> {
  print(
    `berth ${version}: a demo, for trying; administration is open to the same networks as applications`,
  );
  print(
    table([
      ["  address", `${url}, page at ${url}/`],
      ["  data", `${folder}${kept ? "" : " (removed at the end)"}`],
    ]),
  );
  print("\nIn another terminal, one line for each operation:\n");
  for (const { says, line } of curlLines(url)) print(`# ${says}\n${line}\n`);
  print("ready");
}

function curlLines(url: string): { readonly says: string; readonly line: string }[] {
  const contact = { os_hostname: "ws-17", ip_local: "10.0.0.17", user_info: "" };
  const until = new Date(Date.now() + 7 * DAY).toISOString();
  const post = (path: string, body: object): string =>
    `curl -sS -X POST ${url}/api/v4/${path} -H 'Content-Type: application/json' ` +
    `-H 'Accept: application/json' -d '${JSON.stringify(body)}'`;
  return [
    {
      says: "register a user for a product",
      line: post("register", { product: "DEMO", user: "ada", ...contact }),
    },
    {
      says: "borrow a license slot for a user",
      line: post("borrow", { product: "DEMO", user: "grace", ...contact, borrowed_until: until }),
    },
    {
      says: "add license consumption for a product",
      line: post("add_consumption", {
        product: "DEMO",
        consumptions: "1",
        max_overages: "10",
        allow_overages: "true",
      }),
    },
    {
      says: "add consumption of a feature",
      line: post("add_feature_consumption", {
        product: "DEMO",
        feature: "EXPORT",
        consumptions: "1",
      }),
    },
  ];
}
