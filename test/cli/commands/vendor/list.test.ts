import { beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  fingerprintOf,
  keyIdOf,
  generateKey,
  publicPart,
} from "../../../../src/license/documents/keys.ts";
import { realDisk } from "../../../../src/platform/files/disk.ts";
import { Desk } from "../../../../src/desk/desk.ts";
import { applyTermsChanges } from "../../../../src/desk/issuing/apply-terms.ts";
import type { TermsChanges } from "../../../../src/license/terms/terms-changes.ts";
import type { IssuedEntry } from "../../../../src/desk/ledger/ledger-entries.ts";
import {
  runWithAnswers,
  runBerth,
  runOrThrow,
  runJsonOrThrow,
} from "../../../support/run-berth.ts";
import { bothFolders, initDesk } from "../../../support/vendor-commands.ts";
import { tempFolder } from "../../../support/temp-folder.ts";

const DAY = 86_400_000;
const inDays = (days: number): string => new Date(Date.now() + days * DAY).toISOString();

/** Appends the ledger line of an issued license. */
async function appendIssued(desk: Desk, id: number, serial: number, terms: TermsChanges) {
  const jwk = publicPart(await generateKey());
  const entry: IssuedEntry = {
    type: "issued",
    at: inDays(-400),
    key: keyIdOf(desk.issuing.key),
    license_id: id,
    serial,
    appliance: APPLIANCE,
    jwk,
    hardware_id: "0".repeat(64),
    request_id: `${id}-${serial}`,
    terms: applyTermsChanges(desk, null, { product: "CAD", valid_until: null, ...terms }),
    document: "a.b.c",
  };
  await desk.ledger.transact((append) => append(entry));
}

const APPLIANCE = "0123456789ABCDEF";
const ORDER_KEY = "Q041B-B2JE3-Y9WCW-088GG";
const OTHER_APPLIANCE = "FEDCBA9876543210";

/** Makes a desk with an encrypted key and one license in each state. */
async function fillDesk(folder: string): Promise<Desk> {
  const options = { name: "Acme", products: ["CAD", "CAM"], passphrase: "correct horse" };
  const desk = await Desk.create(realDisk, folder, options);
  await appendIssued(desk, 1, 1, { customer: "Initech", slots: 5 });
  await appendIssued(desk, 1, 2, { customer: "Initech", slots: 7, valid_until: inDays(30) });
  await appendIssued(desk, 2, 1, { customer: "INITRODE", valid_until: inDays(-5) });
  await appendIssued(desk, 3, 1, { start: inDays(5), valid_until: inDays(90), license_key: "K-3" });
  await appendIssued(desk, 4, 1, { product: "CAM", customer: "=1+2", license_key: ORDER_KEY });
  await appendIssued(desk, 5, 1, { customer: 'Quote "and", comma' });
  const received = {
    appliance: APPLIANCE,
    license_id: 4,
    serial: 1,
    total_consumptions: 0,
    borrows: 0,
  };
  const at = inDays(-1);
  await desk.ledger.transact((append) =>
    append({ type: "received", at, removed_at: at, ...received }),
  );
  await appendIssued(desk, 6, 1, { enabled: false, valid_until: inDays(10) });
  return desk;
}

let folder = "";
let dir: string[] = [];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "berth-list-"));
  dir = ["--dir", join(folder, "desk")];
  await fillDesk(join(folder, "desk"));
  return () => rmSync(folder, { recursive: true, force: true });
});

type ListedLicense = IssuedEntry & { readonly state: string; readonly ends_at: string | null };

const listLicenseIds = async (...flags: string[]): Promise<string[]> => {
  const rows = await runJsonOrThrow<ListedLicense[]>(["vendor", "list", ...dir, ...flags]);
  return rows.map(({ license_id, serial, state }) => `${license_id}/${serial} ${state}`);
};

describe("berth vendor list", () => {
  test("prints one line for each license, its newest serial, without a passphrase", async () => {
    expect(await listLicenseIds()).toEqual([
      "6/1 disabled",
      "5/1 active",
      "4/1 returned",
      "3/1 not yet started",
      "2/1 ended",
      "1/2 active",
    ]);
    const text = await runOrThrow(["vendor", "list", ...dir]);
    const columns = "LICENSE SERIAL CUSTOMER PRODUCT SLOTS HOSTS EXPIRES STATE APPLIANCE KEY".split(
      " ",
    );
    const [header = "", ...rows] = text.trimEnd().split("\n");
    expect(header.split(/ {2,}/)).toEqual(columns);
    expect(rows.at(-1)?.split(/ {2,}/)).toEqual([
      "1",
      "2",
      "Initech",
      "CAD",
      "7",
      "1",
      expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string,
      "active",
      APPLIANCE,
      "-",
    ]);
  });

  test("prints every serial with --all", async () => {
    const all = await listLicenseIds("--all");
    expect([all.length, all.at(-1)]).toEqual([7, "1/1 replaced"]);
    expect(await listLicenseIds("--state", "replaced")).toEqual(["1/1 replaced"]);
  });

  test.each([
    ["--product CAM", ["4/1 returned"]],
    ["--customer init", ["2/1 ended", "1/2 active"]],
    ["--customer nobody", []],
    ["--license-key K-3", ["3/1 not yet started"]],
    ["--license-key k-3", []],
    ["--license-key qo41bb2je3y9wcwo88gg", ["4/1 returned"]],
    ["--state returned", ["4/1 returned"]],
    ["--state ended", ["2/1 ended"]],
    [`--appliance ${OTHER_APPLIANCE}`, []],
    [`--appliance ${APPLIANCE} --product CAD --state active`, ["5/1 active", "1/2 active"]],
  ])("shows only the licenses that match %s", async (flags, expected) => {
    expect(await listLicenseIds(...flags.split(" "))).toEqual(expected);
  });

  test("shows with --ending-within the licenses that end by then, soonest first, and no ended ones", async () => {
    expect(await listLicenseIds("--ending-within", "60d")).toEqual(["6/1 disabled", "1/2 active"]);
    expect(await listLicenseIds("--ending-within", "2w")).toEqual(["6/1 disabled"]);
    expect(await listLicenseIds("--ending-within", "48h")).toEqual([]);
  });

  test.each([
    ["--product NOPE", "--product NOPE is not a product of this desk"],
    ["--state lost", "--state must be one of active, "],
    ["--ending-within soon", "--ending-within must be a number of hours, days or weeks"],
    ["--ending-within 0d", "--ending-within must be a number of hours, days or weeks"],
    [
      "--ending-within 2m",
      "--ending-within must be a number of hours, days or weeks\n" +
        "berth: hint: m means minutes; for 2 months: --ending-within 60d\n",
    ],
    ["--ending-within 99999m", "--ending-within must be a number of hours, days or weeks\n"],
    ["--appliance x", "--appliance must be an appliance id"],
    ["--csv --json", "--csv and --json cannot be combined"],
  ])("refuses %s and names the flag", async (flags, error) => {
    const result = await runBerth(["vendor", "list", ...dir, ...flags.split(" ")]);
    const out = flags.includes("--json") ? expect.stringContaining('"code": "misuse"') : "";
    expect([result.code, result.stdout]).toEqual([2, out]);
    expect(result.stderr).toStartWith(`berth: error: ${error}`);
  });

  test("prints CSV in which no spreadsheet finds a formula", async () => {
    const text = await runOrThrow(["vendor", "list", ...dir, "--csv"]);
    const records = text.split("\r\n");
    expect(records[0]).toBe(
      "license_id,serial,customer,product,slots,ends_at,state,appliance,license_key,issued_at,hosts",
    );
    expect(text).toContain(",'=1+2,CAM,");
    expect(text).toContain(',"Quote ""and"", comma",CAD,');
    expect([records.length, records.at(-1)]).toEqual([8, ""]);
    expect(text.replaceAll("\r\n", "")).not.toContain("\n");
  });

  test("prints CSV on a terminal without control characters", async () => {
    const shown = await runWithAnswers(["vendor", "list", ...dir, "--csv"], []);
    expect(shown.text).not.toContain(String.raw`\u000d`);
    expect(shown.text.trimEnd().split("\n")).toHaveLength(7);
  });
});

describe("berth vendor show", () => {
  test("prints the desk's name, products, keys and license counts, without a passphrase", async () => {
    const desk = await Desk.open(realDisk, join(folder, "desk"), "correct horse");
    const shown = await runJsonOrThrow<object>(["vendor", "show", ...dir]);
    const [key] = desk.keys;
    expect(shown).toEqual({
      vendor: desk.vendor.vendor,
      name: "Acme",
      products: ["CAD", "CAM"],
      version: 1,
      fingerprint: fingerprintOf(desk.vendor.jwk),
      public_key: desk.vendor.jwk.x,
      encrypted: true,
      keys: [
        {
          key: keyIdOf(desk.issuing.key),
          since: key?.since,
          until: new Date((key?.certificate.until ?? 0) * 1_000).toISOString(),
          state: "current",
          public_key: desk.issuing.key.x,
        },
      ],
      uncertified: [],
      retired: [],
      licenses: {
        active: 2,
        disabled: 1,
        ended: 1,
        returned: 1,
        "not yet started": 1,
      },
      to_reissue: [],
      splits: [],
    });
    const text = await runOrThrow(["vendor", "show", ...dir]);
    for (const part of [
      fingerprintOf(desk.vendor.jwk),
      desk.vendor.vendor,
      desk.vendor.jwk.x,
      keyIdOf(desk.issuing.key),
      "Acme",
      "CAD, CAM",
    ]) {
      expect(text).toContain(part);
    }
    expect(text).toMatch(/^passphrase +set$/m);
  });

  test("shows since when a key is the current one, and the same fingerprint after a new key", async () => {
    const desk = join(tempFolder(), "desk");
    await initDesk(desk, "CAD");
    const read = () => runJsonOrThrow<ShownDesk>(["vendor", "show", "--dir", desk]);
    const first = await read();
    const before = Date.now();
    const words = ["vendor", "key", "new", ...bothFolders(desk), "--no-passphrase"];
    const { key } = await runJsonOrThrow<{ key: string }>(words);
    const shown = await read();
    expect(shown).toMatchObject({
      fingerprint: first.fingerprint,
      encrypted: false,
      keys: [
        { key, state: "current" },
        { key: first.keys[0]?.key, state: "earlier", since: first.keys[0]?.since },
      ],
    });
    expect(Date.parse(shown.keys[0]?.since ?? "")).toBeGreaterThanOrEqual(before);
  });
});

interface ShownDesk {
  readonly fingerprint: string;
  readonly keys: readonly { readonly key: string; readonly since: string }[];
}

test("berth vendor inspect of a trust document prints the fingerprint, without a passphrase", async () => {
  const { fingerprint } = await runJsonOrThrow<{ fingerprint: string }>(["vendor", "show", ...dir]);
  const words = ["vendor", "inspect", join(folder, "desk", "trust.jwt"), ...dir];
  expect(await runOrThrow(words)).toContain(`\nfingerprint ${fingerprint}\n`);
  expect(await runJsonOrThrow<object>(words)).toMatchObject({ fingerprint, verified: true });
});
