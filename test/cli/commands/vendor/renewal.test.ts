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

describe("the terms before they are signed", () => {
  /** The lines under the heading `terms of …:`. */
  const termsIn = (stderr: string, name: string): string[] => {
    const lines = stderr.split("\n");
    const first = lines.indexOf(`berth: note: terms of ${name}:`) + 1;
    const end = lines.findIndex((line, index) => index >= first && !line.startsWith("  "));
    return first === 0 ? [] : lines.slice(first, end).map((line) => line.slice(2));
  };

  test("are printed by vendor issue for a new license and for a renewal, with and without --dry-run", async () => {
    const desk = await VendorDesk.open();
    const answer = ["--request", await desk.makeRequest(), "--slots", "4"];
    const until = ["--valid-until", "2098-12-31"];
    for (const dry of [["--dry-run"], []]) {
      const { stderr } = await desk.run("issue", ...answer, ...until, ...dry);
      const id = /terms of license (\d+), serial 1:/.exec(stderr)?.[1] ?? "";
      const terms = termsIn(stderr, `license ${id}, serial 1`);
      expect(terms).toContain("slots:                4");
      expect(terms).toContain("valid until:          2098-12-31 (ends 2099-01-01T00:00:00Z)");
      if (dry.length > 0) continue;
      const renewed = await desk.run("issue", "--renew", id, "--slots", "6", "--dry-run");
      expect(renewed.stderr).toStartWith(`berth: note: license ${id}: slots 4 → 6\n`);
      expect(termsIn(renewed.stderr, `license ${id}, serial 2`)).toEqual(
        terms.map((line) => line.replace(/4$/, "6")),
      );
    }
  });

  test("are printed by vendor policy, with and without --dry-run", async () => {
    const desk = await VendorDesk.open();
    for (const dry of [["--dry-run"], []]) {
      const { stderr } = await desk.makePolicy("--slots", "8", ...dry);
      expect(termsIn(stderr, "policy p")).toContain("slots:                8");
    }
  });

  test("are a member of the JSON output instead", async () => {
    const desk = await VendorDesk.open();
    const request = ["--request", await desk.makeRequest(), "--valid-until", "never"];
    for (const result of [
      await desk.makePolicy("--slots", "8", "--json"),
      await desk.run("issue", ...request, "--slots", "8", "--json"),
    ]) {
      expect(JSON.parse(result.stdout) as object).toMatchObject({ terms: { slots: 8 } });
      expect(result.stderr).not.toContain("terms of");
    }
  });

  test("stay on their lines, whatever the customer's name is", async () => {
    const desk = await VendorDesk.open();
    const { stderr } = await desk.makePolicy("--customer", "Initech\n  slots: 9");
    expect(termsIn(stderr, "policy p")).toContain("customer:             Initech\\u000a  slots: 9");
  });
});

describe("a new license or policy without an end", () => {
  const refusal =
    "berth: error: the terms do not say when the license ends\n" +
    "berth: hint: use --valid-until DAY, or --valid-until never for a license without an end\n";
  const policy = ["--policy-id", "p", "--product", "CAD"];

  test("is refused with a hint that names both forms, and nothing is signed", async () => {
    const desk = await VendorDesk.open();
    const request = ["--request", await desk.makeRequest()];
    const file = ["--terms", desk.writeFile("terms.json", '{"slots":5}')];
    for (const result of [
      await desk.run("issue", ...request),
      await desk.run("issue", ...request, "--new", "--dry-run"),
      await desk.run("issue", ...request, ...file),
      await desk.run("policy", ...policy),
      await desk.run("policy", ...policy, "--license-type", "consumption", "--consumptions", "5"),
    ])
      expect(result).toEqual({ code: 1, stdout: "", stderr: refusal });
    expect(desk.readLedger()).toBe("");
  });

  test.each([
    ["--valid-until never", ["--valid-until", "never"], "perpetual"],
    ["the type perpetual", ["--license-type", "perpetual"], "perpetual"],
    [
      "another type with --valid-until never",
      ["--license-type", "consumption", "--consumptions", "5", "--valid-until", "never"],
      "consumption",
    ],
  ])("is signed with %s", async (_what, flags, license_type) => {
    const desk = await VendorDesk.open();
    const { code, stdout } = await desk.run("policy", ...policy, ...flags, "--dry-run");
    expect(code).toBe(0);
    expect(JSON.parse(stdout) as object).toMatchObject({ license_type, valid_until: null });
  });

  test("is signed with null in a terms file", async () => {
    const desk = await VendorDesk.open();
    const file = ["--terms", desk.writeFile("terms.json", '{"valid_until":null}')];
    expect((await desk.run("issue", "--request", await desk.makeRequest(), ...file)).code).toBe(0);
  });
});

test("berth vendor issue keeps the end of the license that it renews, with --renew and by request", async () => {
  const desk = await VendorDesk.open();
  const id = await desk.issueLicense("--valid-until", "2098-12-31");
  const renewed = await desk.run("issue", "--renew", id, "--slots", "2", "--json");
  const requested = await desk.run("issue", "--request", await desk.makeRequest(), "--json");
  for (const [index, { stdout }] of [renewed, requested].entries()) {
    expect(JSON.parse(stdout) as object).toMatchObject({
      serial: index + 2,
      valid_until: "2099-01-01T00:00:00.000Z",
    });
  }
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
  const first = await desk.run("issue", ...answer, "--valid-until", "2098-12-31");
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
