import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { runWithAnswer } from "../support/run-berth.ts";
import { VendorDesk } from "../support/vendor-desk.ts";

const SOLD = (
  "--slots 5 --timeout-minutes 30 --consumptions 1000 --overages 50 --period monthly " +
  "--feature MESH:slots=2:timeout=30 --feature PRO --feature " +
  "EXPORT:consumptions=100:overages=5:period=weekly:ends=2029-12-31"
).split(" ");

describe("berth vendor issue --renew", () => {
  test("keeps what was sold but for what its flags say, and prints what changes", async () => {
    const desk = await VendorDesk.open();
    const id = await desk.issueLicense(...SOLD);
    const flags = ["--consumptions", "2000", "--feature", "MESH:slots=4", "--no-feature", "PRO"];
    const { said, terms } = await desk.renewLicense(id, ...flags);
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
    expect(said.stderr).toContain(`berth: note: license ${id}: ${changes.join("; ")}\n`);
    expect(JSON.parse(said.stdout) as object).toMatchObject({ changes });
  });

  test("signs a reduction that a flag names, without a terminal and without a question on one", async () => {
    const desk = await VendorDesk.open();
    const id = await desk.issueLicense(...SOLD);
    const { said, terms } = await desk.renewLicense(id, "--slots", "3", "--overages", "0");
    expect(terms).toMatchObject({ slots: 3, consumption: { max: 1_000, overages: 0 } });
    expect(said.stderr).toContain("slots 5 → 3; overages 50 → 0");
    const renew = ["vendor", "issue", "--dir", desk.path("desk"), "--renew", id];
    const out = desk.path("less.jwt");
    const shown = await runWithAnswer([...renew, "--slots", "2", "--out", out], null);
    expect([shown.code, existsSync(out)]).toEqual([0, true]);
    expect(shown.text).toContain("slots 3 → 2");
  });

  test("says that no term changes where none does", async () => {
    const desk = await VendorDesk.open();
    const id = await desk.issueLicense("--slots", "5");
    const { said } = await desk.renewLicense(id, "--slots", "5");
    expect(said.stderr).toBe(`berth: note: license ${id}: no term changes\n`);
    expect(JSON.parse(said.stdout) as object).toMatchObject({ changes: [], serial: 2 });
  });

  test("refuses to take away a feature that is not there, naming those that are", async () => {
    const desk = await VendorDesk.open();
    const id = await desk.issueLicense(...SOLD);
    const before = desk.readLedger();
    const said = await desk.run("issue", "--renew", id, "--no-feature", "EXPRT");
    expect([said.code, said.stdout]).toEqual([1, ""]);
    expect(said.stderr).toBe(
      "berth: error: the license has no feature EXPRT to remove\n" +
        "berth: hint: its features are: MESH, PRO, EXPORT\n",
    );
    expect(desk.readLedger()).toBe(before);
  });
});

test("a change is one line on the screen, whatever a customer's name holds", async () => {
  const desk = await VendorDesk.open();
  const id = await desk.issueLicense("--slots", "5");
  const { said } = await desk.renewLicense(
    id,
    "--customer",
    "Initech\nberth: license 1: slots 5 → 9",
  );
  expect(said.stderr.trimEnd().split("\n")).toHaveLength(1);
  expect(said.stderr).toContain("customer none → Initech\\u000aberth");
});

describe("berth vendor issue --dry-run", () => {
  test("shows the difference and the terms, and signs and writes nothing", async () => {
    const desk = await VendorDesk.open();
    const id = await desk.issueLicense(...SOLD);
    const before = desk.readLedger();
    const dry = ["--renew", id, "--slots", "8", "--dry-run", "--out", desk.path("out.jwt")];
    const said = await desk.run("issue", ...dry);
    expect(said.code).toBe(0);
    expect(said.stderr).toStartWith(`berth: note: license ${id}: slots 5 → 8\n`);
    expect(JSON.parse(said.stdout) as object).toMatchObject({ slots: 8, timeout_minutes: 30 });
    const both = await desk.run("issue", ...dry, "--json");
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining("exclude each other")]);
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

  test("of a policy shows its terms, and signs and writes nothing", async () => {
    const desk = await VendorDesk.open();
    const said = await desk.makePolicy("--slots", "8", "--dry-run");
    expect(JSON.parse(said.stdout) as object).toMatchObject({ product: "CAD", slots: 8 });
    expect(desk.readLedger()).toBe("");
  });
});

test("an answer to a request says that it is the same license when it was given before", async () => {
  const desk = await VendorDesk.open();
  const answer = ["--request", await desk.makeRequest(), "--slots", "4"];
  const first = await desk.run("issue", ...answer);
  const again = await desk.run("issue", ...answer);
  expect([again.code, again.stdout]).toEqual([0, first.stdout]);
  expect(again.stderr).toBe(
    "berth: note: this request was already answered: the same license is written again\n",
  );
});

test("a license file that cannot be written is noticed before anything is signed", async () => {
  const desk = await VendorDesk.open();
  const out = ["--out", desk.writeFile("letter.txt", "Dear Sir,")];
  const answer = ["--request", await desk.makeRequest()];
  expect((await desk.run("issue", ...answer, ...out)).code).toBe(2);
  expect((await desk.makePolicy(...out)).code).toBe(2);
  expect(desk.readLedger()).toBe("");
});

describe("one --policy-id", () => {
  test("gives the same document for the same terms, and refuses others but with --replace", async () => {
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
