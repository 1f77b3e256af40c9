import { describe, expect, test } from "bun:test";
import { formatExplanation, formatPreview } from "../../../src/cli/client/rules-texts.ts";

type Explanation = Parameters<typeof formatExplanation>[0];
type Pool = NonNullable<Parameters<typeof formatPreview>[0]>[number];

const pool = (differing: Partial<Pool>): Pool => ({
  product: "CAD",
  feature: null,
  slots: 10,
  slots_in_use: 6,
  holds: 1,
  before: { reserved: 0, idle: 0, available: 3 },
  after: { reserved: 4, idle: 2, available: 1 },
  denied_total: 0,
  denied: [],
  over_limit_total: 0,
  over_limit: [],
  denied_waiting_total: 0,
  denied_waiting: [],
  ...differing,
});

describe("the preview of berth rules check", () => {
  test("has slots in use and held slots apart, and numbers before and after", () => {
    const [table = ""] = formatPreview([pool({})]);
    const [header = "", row = ""] = table.split("\n");
    expect(header.split(/ {2,}/)).toEqual([
      "PRODUCT",
      "FEATURE",
      "SLOTS",
      "IN USE",
      "HELD",
      "RESERVED",
      "IDLE",
      "FREE FOR OTHERS",
    ]);
    expect(row.split(/ {2,}/)).toEqual(["CAD", "-", "10", "6", "1", "0 -> 4", "0 -> 2", "3 -> 1"]);
  });

  test("names ten users who would be refused, and counts the others", () => {
    const denied = Array.from({ length: 12 }, (_, index) => ({
      user: `user-${index + 1}`,
      rule: "deny",
      group: "lab",
      line: 7,
    }));
    const lines = formatPreview([pool({ feature: "RENDER", denied, denied_total: 200 })]).slice(1);
    expect(lines[0]).toBe(
      "CAD, feature RENDER: hold a slot and would be refused now (they keep it): 200",
    );
    expect(lines[1]).toEndWith("user-9 (line 7), user-10 (line 7) and 190 more");
    expect(lines).toHaveLength(2);
  });

  test("is empty without rules for an installed product", () => {
    expect(formatPreview([])).toEqual([]);
    expect(formatPreview(null)).toEqual([]);
  });
});

describe("the explanation of berth rules explain", () => {
  const granted = { result: "granted", code: null, message: null, can_wait: false } as const;
  const explain = (feature: string | null, register: Explanation["register"] = granted): string =>
    formatExplanation({
      product: "CAD",
      feature,
      person: "ada",
      groups: [],
      facts_of_groups: [],
      home: null,
      steps: [],
      slots: { total: 10, in_use: 6, holds: 1, free: 3 },
      register,
      borrow: null,
    });

  test("says which slots it is about", () => {
    expect(explain(null)).toMatch(
      /^product +CAD\nfeature +none: the slots of the product itself\n/,
    );
    expect(explain("RENDER")).toMatch(/^product +CAD\nfeature +RENDER\n/);
    expect(explain(null)).toContain("10, 6 in use, 1 held, 3 free");
  });

  test("has the caller's message in one line, and whether the call can wait in the next", () => {
    const refused = {
      result: "refused",
      code: "floating_not_available",
      message: "all 10 slots are in use",
    } as const;
    expect(
      explain(null, { ...refused, can_wait: true })
        .split("\n")
        .slice(-2),
    ).toEqual([
      "register: refused, floating_not_available: all 10 slots are in use",
      "    with Prefer: wait, the call would wait in the queue",
    ]);
    expect(explain(null, { ...refused, can_wait: false })).toEndWith("all 10 slots are in use");
  });
});
