import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { runWithAnswer } from "../../../support/run-berth.ts";
import { VendorDesk } from "../../../support/vendor-desk.ts";

const TERMS = (
  "--slots 5 --timeout-minutes 30 --consumptions 1000 --overages 50 --period monthly " +
  "--feature MESH:slots=2:timeout=30 --feature PRO --feature " +
  "EXPORT:consumptions=100:overages=5:period=weekly:ends=2029-12-31"
).split(" ");

describe("berth vendor issue --renew", () => {
  test("keeps the terms that no flag names, and prints what changes", async () => {
    const desk = await VendorDesk.open();
    const id = await desk.issueLicense(...TERMS);
    const flags = ["--consumptions", "2000", "--feature", "MESH:slots=4", "--no-feature", "PRO"];
    const { result, terms } = await desk.renewLicense(id, ...flags);
    expect(terms).toMatchObject({
      slots: 5,
      timeout_minutes: 30,
      consumption: { max: 2_000, overages: 50, negative: false, period: "monthly" },
      features: [
        { code: "MESH", floating: { slots: 4, timeout_minutes: 30 } },
        {
          code: "EXPORT",
          consumption: { max: 100, overages: 5, negative: false, period: "weekly" },
          expires: "2030-01-01T00:00:00.000Z",
        },
      ],
    });
    expect(terms.features).toHaveLength(2);
    const changes = ["consumptions 1000 → 2000", "MESH slots 2 → 4", "feature PRO removed"];
    expect(result.stderr).toContain(`berth: note: license ${id}: ${changes.join("; ")}\n`);
    expect(JSON.parse(result.stdout) as object).toMatchObject({ changes });
  });

  test("signs a reduction that a flag names without asking, with and without a terminal", async () => {
    const desk = await VendorDesk.open();
    const id = await desk.issueLicense(...TERMS);
    const { result, terms } = await desk.renewLicense(id, "--slots", "3", "--overages", "0");
    expect(terms).toMatchObject({ slots: 3, consumption: { max: 1_000, overages: 0 } });
    expect(result.stderr).toContain("slots 5 → 3; overages 50 → 0");
    const renew = ["vendor", "issue", "--dir", desk.path("desk"), "--renew", id];
    const out = desk.path("less.jwt");
    const shown = await runWithAnswer([...renew, "--slots", "2", "--out", out], null);
    expect([shown.code, existsSync(out)]).toEqual([0, true]);
    expect(shown.text).toContain("slots 3 → 2");
  });

  test("says when no term changes", async () => {
    const desk = await VendorDesk.open();
    const id = await desk.issueLicense("--slots", "5");
    const { result } = await desk.renewLicense(id, "--slots", "5");
    expect(result.stderr).toBe(`berth: note: license ${id}: no term changes\n`);
    expect(JSON.parse(result.stdout) as object).toMatchObject({ changes: [], serial: 2 });
  });

  test("refuses to remove a feature that the license does not have, and lists its features", async () => {
    const desk = await VendorDesk.open();
    const id = await desk.issueLicense(...TERMS);
    const before = desk.readLedger();
    const result = await desk.run("issue", "--renew", id, "--no-feature", "EXPRT");
    expect([result.code, result.stdout]).toEqual([1, ""]);
    expect(result.stderr).toBe(
      "berth: error: the license has no feature EXPRT to remove\n" +
        "berth: hint: its features are: MESH, PRO, EXPORT\n",
    );
    expect(desk.readLedger()).toBe(before);
  });
});

test("berth vendor issue --renew prints changes on one line, whatever the customer's name is", async () => {
  const desk = await VendorDesk.open();
  const id = await desk.issueLicense("--slots", "5");
  const { result } = await desk.renewLicense(
    id,
    "--customer",
    "Initech\nberth: license 1: slots 5 → 9",
  );
  expect(result.stderr.trimEnd().split("\n")).toHaveLength(1);
  expect(result.stderr).toContain("customer none → Initech\\u000aberth");
});

describe("--dry-run", () => {
  test("of vendor issue shows the changes and the terms, and signs and writes nothing", async () => {
    const desk = await VendorDesk.open();
    const id = await desk.issueLicense(...TERMS);
    const before = desk.readLedger();
    const dry = ["--renew", id, "--slots", "8", "--dry-run", "--out", desk.path("out.jwt")];
    const result = await desk.run("issue", ...dry);
    expect(result.code).toBe(0);
    expect(result.stderr).toStartWith(`berth: note: license ${id}: slots 5 → 8\n`);
    expect(JSON.parse(result.stdout) as object).toMatchObject({ slots: 8, timeout_minutes: 30 });
    const both = await desk.run("issue", ...dry, "--json");
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining("cannot be combined")]);
    const json = await desk.run("issue", ...dry.slice(0, -2), "--json");
    expect(JSON.parse(json.stdout) as object).toMatchObject({
      license_id: Number(id),
      serial: 2,
      changes: ["slots 5 → 8"],
      terms: { slots: 8 },
    });
    expect(json.stdout).not.toContain("document");
    expect([desk.readLedger(), existsSync(desk.path("out.jwt"))]).toEqual([before, false]);
  });

  test("of vendor policy shows the terms, and signs and writes nothing", async () => {
    const desk = await VendorDesk.open();
    const result = await desk.makePolicy("--slots", "8", "--dry-run");
    expect(JSON.parse(result.stdout) as object).toMatchObject({ product: "CAD", slots: 8 });
    expect(desk.readLedger()).toBe("");
  });
});

test("berth vendor issue writes the same license again for a request that was already answered", async () => {
  const desk = await VendorDesk.open();
  const answer = ["--request", await desk.makeRequest(), "--slots", "4"];
  const first = await desk.run("issue", ...answer);
  const again = await desk.run("issue", ...answer);
  expect([again.code, again.stdout]).toEqual([0, first.stdout]);
  expect(again.stderr).toBe(
    "berth: note: this request was already answered: the same license is written again\n" +
      "berth: note: the site needs the newest trust document: send it trust.jwt of the desk, too\n",
  );
});

test("vendor issue and vendor policy refuse an unwritable --out before they sign", async () => {
  const desk = await VendorDesk.open();
  const out = ["--out", desk.writeFile("letter.txt", "Dear Sir,")];
  const answer = ["--request", await desk.makeRequest()];
  expect((await desk.run("issue", ...answer, ...out)).code).toBe(2);
  expect((await desk.makePolicy(...out)).code).toBe(2);
  expect(desk.readLedger()).toBe("");
});

describe("an existing --policy-id", () => {
  test("gives the same document for the same terms, and needs --replace for others", async () => {
    const desk = await VendorDesk.open();
    const first = await desk.makePolicy("--slots", "3");
    expect((await desk.makePolicy("--slots", "3")).stdout).toBe(first.stdout);
    const before = desk.readLedger();
    const other = await desk.makePolicy("--slots", "300");
    expect([other.code, other.stdout]).toEqual([1, ""]);
    expect(other.stderr).toContain("with other terms: slots 3 → 300\n");
    expect(other.stderr).toContain("berth: hint: choose another --policy-id, or use --replace");
    expect(desk.readLedger()).toBe(before);
    expect((await desk.makePolicy("--slots", "300", "--replace")).code).toBe(0);
    expect((await desk.makePolicy("--slots", "300")).code).toBe(0);
  });
});
