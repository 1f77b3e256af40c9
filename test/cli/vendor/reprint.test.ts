import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { runBerth } from "../../support/run-berth.ts";
import { VendorDesk } from "../../support/vendor-desk.ts";

const issuedIn = (ledger: string): { readonly serial: number; readonly document: string }[] =>
  ledger
    .split("\n")
    .filter((line) => line.includes('"type":"issued"'))
    .map((line) => JSON.parse(line) as { serial: number; document: string });

/** A valid file name, but the longer temporary name used while writing is too long. */
const UNWRITABLE = `${"x".repeat(246)}.jwt`;

describe("an --out file that cannot be written", () => {
  test("makes vendor issue print the command that writes the license again", async () => {
    const desk = await VendorDesk.open();
    const id = await desk.issueLicense("--slots", "3");
    const out = ["--out", desk.path(UNWRITABLE)];
    const result = await desk.run("issue", "--renew", id, "--slots", "5", ...out);
    expect([result.code, result.stdout]).toEqual([1, ""]);
    expect(result.stderr).toContain(`; license ${id}, serial 2, is in the ledger\n`);
    const folder = desk.path("desk");
    const hint = `berth vendor issue --reprint ${id} --serial 2 --dir ${folder} --out FILE`;
    expect(result.stderr).toContain(`berth: hint: ${hint} writes the license again\n`);
    const file = desk.path("license.jwt");
    const words = hint.replace("berth ", "").replace("FILE", file).split(" ");
    const ledger = desk.readLedger();
    expect((await runBerth(words)).code).toBe(0);
    const document = issuedIn(ledger).find(({ serial }) => serial === 2)?.document;
    expect(readFileSync(file, "utf8")).toBe(`${document}\n`);
    expect(desk.readLedger()).toBe(ledger);
  });

  test("makes vendor policy fail, and the same command writes it later", async () => {
    const desk = await VendorDesk.open();
    const result = await desk.makePolicy("--out", desk.path(UNWRITABLE));
    expect(result.code).toBe(1);
    expect(result.stderr).toContain("; policy p is in the ledger\n");
    const ledger = desk.readLedger();
    expect((await desk.makePolicy("--out", desk.path("policy.jwt"))).code).toBe(0);
    expect(desk.readLedger()).toBe(ledger);
  });
});

describe("berth vendor issue --reprint", () => {
  test("writes the newest serial or the one that --serial names, and notes if it is replaced", async () => {
    const desk = await VendorDesk.open();
    const id = await desk.issueLicense("--slots", "3");
    await desk.renewLicense(id, "--slots", "4");
    const [first, second] = issuedIn(desk.readLedger());
    const newest = await desk.run("issue", "--reprint", id);
    expect([newest.code, newest.stdout, newest.stderr]).toEqual([0, `${second?.document}\n`, ""]);
    const older = await desk.run("issue", "--reprint", id, "--serial", "1", "--json");
    expect(JSON.parse(older.stdout)).toMatchObject({
      license_id: Number(id),
      serial: 1,
      state: "replaced",
      document: first?.document,
    });
    expect(older.stderr).toBe(`berth: note: license ${id}, serial 1, is replaced\n`);
  });

  test("refuses a license or a serial that is not in the ledger", async () => {
    const desk = await VendorDesk.open();
    const id = await desk.issueLicense("--slots", "3");
    const serial = await desk.run("issue", "--reprint", id, "--serial", "7");
    expect(serial.code).toBe(1);
    expect(serial.stderr).toContain(`serial 7 of license ${id} is not in the ledger`);
    const license = await desk.run("issue", "--reprint", "12345");
    expect(license.code).toBe(1);
    expect(license.stderr).toContain("license 12345 is not in the ledger");
  });

  test("refuses flags that apply only to signing, and --renew refuses --serial", async () => {
    const desk = await VendorDesk.open();
    const id = await desk.issueLicense("--slots", "3");
    const result = await desk.run("issue", "--reprint", id, "--slots", "9");
    expect(result.code).toBe(2);
    expect(result.stderr).toContain("--reprint signs nothing and cannot be combined with --slots");
    const signing = await desk.run("issue", "--renew", id, "--serial", "9");
    expect(signing.code).toBe(2);
    expect(signing.stderr).toContain("--serial is only valid with --reprint");
  });
});

describe("berth vendor issue --out", () => {
  test("replaces an earlier license, and refuses to replace a document of another kind", async () => {
    const desk = await VendorDesk.open();
    const id = await desk.issueLicense("--slots", "3");
    const request = await desk.makeRequest();
    const [ledger, text] = [desk.readLedger(), readFileSync(request, "utf8")];
    for (const words of [
      ["--renew", id],
      ["--reprint", id],
    ]) {
      const result = await desk.run("issue", ...words, "--out", request);
      expect(result.code).toBe(2);
      expect(result.stderr).toContain(
        `${request} is a license request; it is not overwritten with`,
      );
    }
    const policy = await desk.makePolicy("--out", request);
    expect(policy.code).toBe(2);
    expect([desk.readLedger(), readFileSync(request, "utf8")]).toEqual([ledger, text]);
    const out = ["--out", desk.path("license.jwt")];
    for (const slots of ["4", "5"]) {
      expect((await desk.run("issue", "--renew", id, "--slots", slots, ...out)).code).toBe(0);
    }
    expect(existsSync(desk.path("license.jwt"))).toBe(true);
  });
});

describe("a renewal that has already expired", () => {
  const PAST = ["--valid-until", "2020-01-01"];

  test("is signed without a terminal only with --yes, and --dry-run asks nothing", async () => {
    const desk = await VendorDesk.open();
    const id = await desk.issueLicense("--valid-until", "2099-12-31");
    const ledger = desk.readLedger();
    const result = await desk.run("issue", "--renew", id, ...PAST);
    expect([result.code, result.stdout]).toEqual([2, ""]);
    expect(result.stderr).toContain(`license ${id} expired on 2020-01-02T00:00:00.000Z`);
    expect((await desk.run("issue", "--renew", id, ...PAST, "--dry-run")).code).toBe(0);
    expect(desk.readLedger()).toBe(ledger);
    const { terms } = await desk.renewLicense(id, ...PAST, "--yes");
    expect(terms.valid_until).toBe("2020-01-02T00:00:00.000Z");
  });

  test("causes a warning but no question when it keeps an end that was already past", async () => {
    const desk = await VendorDesk.open();
    const id = await desk.issueLicense("--valid-until", "2099-12-31");
    await desk.renewLicense(id, ...PAST, "--yes");
    const { result } = await desk.renewLicense(id, "--slots", "7");
    const warning = `license ${id} expired on 2020-01-02T00:00:00.000Z: this renewal keeps that end`;
    expect(result.stderr).toContain(`berth: warning: ${warning}`);
    expect(JSON.parse(result.stdout)).toMatchObject({
      warnings: [expect.stringContaining(warning)],
    });
    const { result: extended } = await desk.renewLicense(id, "--valid-until", "2099-12-31");
    expect(extended.stderr).not.toContain("warning");
  });
});
