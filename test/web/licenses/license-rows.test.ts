import { describe, expect, test } from "bun:test";
import {
  daysLeftText,
  filterByEnd,
  makeLicenseRows,
  parseDays,
  sortLicenseRows,
  type LicenseRow,
} from "../../../src/web/licenses/license-rows.ts";
import { ageTextOf, nameOf, wantedTextOf } from "../../../src/web/requests/request-row.ts";
import type { OpenRequestReply } from "../../../src/http/routes/requests/requests.ts";

const NOW = "2026-11-17T09:00:00.000Z";

const row = (id: number, differing: Partial<LicenseRow> = {}): LicenseRow => ({
  id,
  product: `P${id}`,
  name: `P${id}`,
  customer: "",
  vendor: "Acme",
  slots: 5,
  used: 1,
  consumed: 0,
  maxConsumed: null,
  end: null,
  refusal: null,
  ...differing,
});

const idsOf = (rows: readonly LicenseRow[]): number[] => rows.map(({ id }) => id);

describe("sortLicenseRows", () => {
  const rows = [
    row(1, { slots: 10, end: null, name: "beta" }),
    row(2, { slots: 9, end: "2027-01-01T00:00:00.000Z", name: "Alpha" }),
    row(3, { slots: 100, end: "2026-12-01T00:00:00.000Z", name: "gamma" }),
  ];

  test.each([
    ["slots", false, [2, 1, 3]],
    ["slots", true, [3, 1, 2]],
    ["product", false, [2, 1, 3]],
    ["end", false, [3, 2, 1]],
    ["end", true, [1, 2, 3]],
  ] as const)("sorts by %s, descending: %p", (column, isDescending, ids) => {
    expect(idsOf(sortLicenseRows(rows, { column, isDescending }))).toEqual([...ids]);
  });

  test("sorts equal rows by name and id in both directions", () => {
    const equal = [row(2, { name: "b" }), row(3, { name: "a" }), row(1, { name: "b" })];
    for (const isDescending of [false, true])
      expect(idsOf(sortLicenseRows(equal, { column: "used", isDescending }))).toEqual([3, 1, 2]);
  });
});

describe("filterByEnd", () => {
  const rows = [
    row(1, { end: null }),
    row(2, { end: "2026-11-01T00:00:00.000Z" }),
    row(3, { end: "2026-12-17T00:00:00.000Z" }),
    row(4, { end: "2026-12-18T00:00:00.000Z" }),
  ];

  test("keeps what expires within the days and what has expired, and no other", () => {
    expect(idsOf(filterByEnd(rows, 30, NOW))).toEqual([2, 3]);
    expect(idsOf(filterByEnd(rows, 31, NOW))).toEqual([2, 3, 4]);
  });

  test("keeps everything without a number of days", () => {
    expect(idsOf(filterByEnd(rows, null, NOW))).toEqual([1, 2, 3, 4]);
  });

  test("counts days as the text beside them does", () => {
    const texts = filterByEnd(rows, 30, NOW).map((kept) => daysLeftText(kept, NOW));
    expect(texts).toEqual(["expired", "30 days"]);
  });
});

test.each([
  ["30", 30],
  [" 7 ", 7],
  ["0", 0],
  ["", null],
  ["-1", null],
  ["1.5", null],
  ["many", null],
])("parseDays reads %p as %p", (text, days) => expect(parseDays(text)).toBe(days));

test("makeLicenseRows names the vendor by its id where it is no longer trusted", () => {
  const status = {
    license_id: 7,
    product: "CAD",
    vendor: "V",
    floating_users: 4,
    floating_slots_in_use: 2,
    total_consumptions: 3,
    max_consumptions: 9,
    validity_period: null,
    refusal: null,
  };
  expect(makeLicenseRows([status as never], [], new Map())).toEqual([
    row(7, {
      product: "CAD",
      name: "CAD",
      vendor: "V",
      slots: 4,
      used: 2,
      consumed: 3,
      maxConsumed: 9,
    }),
  ]);
});

describe("an open request", () => {
  const request: OpenRequestReply = {
    id: "a",
    kind: "file",
    product: null,
    license_key: null,
    wanted_slots: null,
    wanted_until: null,
    note: null,
    hosts: [],
    created_at: "2026-11-14T10:00:00.000Z",
    expires_at: "2027-12-19T10:00:00.000Z",
    activation_code: null,
  };

  test("is named by its product, else by its license key", () => {
    expect(nameOf({ ...request, product: "CAD", license_key: "K" })).toBe("CAD");
    expect(nameOf({ ...request, license_key: "K" })).toBe("key K");
    expect(nameOf(request)).toBe("chosen by the vendor");
  });

  test("says what it asks for", () => {
    const wanted = { ...request, wanted_slots: 1, wanted_until: "2027-12-31", note: "<b>" };
    expect(wantedTextOf(wanted)).toMatch(/^1 slot, until .*2027.*, “<b>”$/);
    expect(wantedTextOf(request)).toBe("no wishes");
  });

  test("has its age in whole days", () => {
    expect(ageTextOf(request, NOW)).toBe("2 days");
    expect(ageTextOf({ ...request, created_at: NOW }, NOW)).toBe("today");
  });
});
