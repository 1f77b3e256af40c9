// A vendor with many customers, played from nothing with the executable: orders from a CSV file,
// the requests of all sites in one folder, renewals, a lost machine, a stolen issuing key. The
// figures of a soak are those of 200 customers; it fails past its bounds.
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { verifyLicense } from "../../src/license/documents/license.ts";
import { verifyTrustDocument } from "../../src/license/documents/trust.ts";
import { wallClock } from "../../src/platform/clock.ts";
import { readMachineComponents } from "../../src/platform/system/machine.ts";
import { runBinary, startBinary } from "../support/binary.ts";
import { unwrap } from "../support/licensed-store.ts";
import { openSiteFolder } from "../support/site-folder.ts";
import { chooseSize } from "../support/suite-harness.ts";
import { tempFolder } from "../support/temp-folder.ts";

const CUSTOMERS = chooseSize(30, 200);
const RENEWED = Math.round(CUSTOMERS * 0.15);
const SERVING = chooseSize(4, 20);
const IS_MEASURED = CUSTOMERS === 200;

interface Order {
  readonly license_key: string;
  readonly customer: { readonly name: string };
  readonly licenses: readonly { readonly license_id: number; readonly appliance: string }[];
}

interface Answers {
  readonly documents: readonly { readonly outcome: string; readonly out: string | null }[];
  readonly renewed: readonly { readonly outcome: string; readonly file: string }[];
}

test("a vendor sells to all customers, renews some, replaces a lost machine and a stolen key", async () => {
  const folder = tempFolder();
  const path = (...names: string[]): string => join(folder, ...names);
  const run = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runBinary(args);
    if (code !== 0) throw new Error(`berth ${args.join(" ")}: ${code} ${stdout} ${stderr}`);
    return stdout;
  };
  const desk = ["--dir", path("desk")];
  const key = ["--passphrase-file", path("passphrase")];
  const runJson = async <T>(...args: string[]): Promise<T> =>
    JSON.parse(await run(...args, ...desk, "--json")) as T;
  const measure = async <T>(what: string, bound: number, work: () => Promise<T>): Promise<T> => {
    const start = performance.now();
    const result = await work();
    const seconds = (performance.now() - start) / 1_000;
    console.log(`${what}: ${seconds.toFixed(1)} s for ${CUSTOMERS} customers`);
    if (IS_MEASURED) expect(seconds).toBeLessThan(bound);
    return result;
  };

  // The desk, with a passphrase that is read once by each command.
  writeFileSync(path("passphrase"), "correct horse battery\n");
  writeFileSync(path("root-passphrase"), "another horse battery\n");
  const root = ["--root", path("root"), "--root-passphrase-file", path("root-passphrase")];
  await run("vendor", "init", "--name", "Acme", "--product", "CAD", ...desk, ...key, ...root);
  mkdirSync(path("desk", "presets"));
  const preset = { product: "CAD", slots: 5, borrow_hours: 720 };
  writeFileSync(path("desk", "presets", "cad-5.json"), JSON.stringify(preset));

  // Orders from a CSV file.
  const rows = Array.from(
    { length: CUSTOMERS },
    (_, index) => `Customer ${index};cad-5;${index < RENEWED ? "2030-01-31" : "2035-12-31"};yes`,
  );
  const header = "customer;preset;valid_until;allow_weak_binding";
  writeFileSync(path("orders.csv"), `\ufeff${[header, ...rows].join("\r\n")}\r\n`);
  const { orders } = await measure("orders imported from CSV", 5, () =>
    runJson<{ orders: Order[] }>("vendor", "order", "import", path("orders.csv")),
  );
  expect(orders).toHaveLength(CUSTOMERS);

  // Each customer's site makes a request with its key.
  const trust = readFileSync(path("desk", "trust.jwt"), "utf8");
  mkdirSync(path("requests"));
  const makeRequest = async (site: string, licenseKey: string): Promise<void> => {
    const machine = await openSiteFolder(path(site), wallClock, readMachineComponents());
    unwrap(await machine.vendorTrust.trustVendor(trust, "test"));
    const { document } = unwrap(await machine.licensing.request("CAD", licenseKey, "test"));
    await machine.close();
    writeFileSync(path("requests", `${site}.jwt`), document);
  };
  for (const [index, { license_key }] of orders.entries())
    await makeRequest(`site-${index}`, license_key.toLowerCase());

  // All of them are answered at once, and a second time with the same documents.
  const answerAll = (...flags: string[]): Promise<Answers> =>
    runJson<Answers>("vendor", "answer", path("requests"), "--out-dir", path("answers"), ...flags);
  const first = await measure("requests answered", 30, () => answerAll(...key));
  expect(first.documents.map(({ outcome }) => outcome)).toEqual(orders.map(() => "answered"));
  const documents = (): string[] =>
    readdirSync(path("answers"))
      .toSorted()
      .map((name) => readFileSync(path("answers", name), "utf8"));
  const before = documents();
  const second = await answerAll();
  expect(second.documents.every(({ outcome }) => outcome === "repeated")).toBe(true);
  expect(documents()).toEqual(before);

  // Those that end first are renewed, without requests.
  const until = ["--valid-until", "2036-12-31", "--ending-within", "1460d"];
  const renewals = await runJson<Answers>(
    "vendor",
    "order",
    "renew",
    ...until,
    "--out-dir",
    path("renewals"),
    ...key,
  );
  expect(renewals.renewed.map(({ outcome }) => outcome)).toEqual(
    Array.from({ length: RENEWED }, () => "renewed"),
  );

  // The machine of the last customer is lost; its place goes to another one.
  const lostKey = orders.at(-1)?.license_key ?? "";
  const lost = (await runJson<Order>("vendor", "order", "show", lostKey)).licenses[0];
  await makeRequest("replacement", lostKey);
  const { code } = await runBinary(["vendor", "answer", path("requests"), ...desk, "--dry-run"]);
  expect(code).toBe(3);
  const replacing = ["--write-off", lost?.appliance ?? "", "--reason", "the disk died", "--yes"];
  const replacement = ["--request", path("requests", "replacement.jwt"), ...replacing];
  await run("vendor", "issue", ...replacement, ...desk, ...key, "--out", path("lost.jwt"));

  rmSync(path("requests", `site-${CUSTOMERS - 1}.jwt`));

  // The issuing key is stolen: it is retired, and all licenses are signed again.
  await run("vendor", "key", "retire", "--all", ...root, ...desk, "--yes");
  await run("vendor", "key", "new", ...root, ...desk, ...key);
  const reissued = await measure("licenses signed again", 30, () => answerAll("--reissue", ...key));
  expect(reissued.renewed.map(({ outcome }) => outcome)).toEqual(orders.map(() => "renewed"));

  // Every document verifies with the newest trust document.
  const newest = unwrap(
    await verifyTrustDocument(readFileSync(path("desk", "trust.jwt"), "utf8").trim()),
  );
  const verified = await Promise.all(
    reissued.renewed.map(async ({ file }) =>
      unwrap(await verifyLicense(readFileSync(file, "utf8").trim(), [newest])),
    ),
  );
  expect(new Set(verified.map(({ license }) => license.terms.license_key))).toEqual(
    new Set(orders.map(({ license_key }) => license_key)),
  );
  const ended = verified.filter(({ license }) =>
    license.terms.valid_until?.startsWith("2037-01-01"),
  );
  expect(ended).toHaveLength(RENEWED);
  await run("vendor", "verify", ...desk, ...key);

  // Some sites install the license and the newest trust document, and serve.
  const byKey = new Map(
    verified.map(({ license }, index) => [
      license.terms.license_key,
      reissued.renewed[index]?.file,
    ]),
  );
  const serving = [...orders.keys()].slice(0, SERVING - 1).map((index) => `site-${index}`);
  for (const [index, site] of [...serving, "replacement"].entries()) {
    const licenseKey = site === "replacement" ? lostKey : (orders[index]?.license_key ?? "");
    const data = ["--data", path(site)];
    const server = await startBinary("serve", ...data, "--listen", "127.0.0.1:0");
    try {
      await run("license", "add", byKey.get(licenseKey) ?? "", path("desk", "trust.jwt"), ...data);
      const response = await fetch(`${server.url}/api/v4/register`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ user: "ada" }),
      });
      expect([site, response.status]).toEqual([site, 200]);
    } finally {
      await server.stop();
    }
  }
});
