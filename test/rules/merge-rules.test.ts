import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { PoolRules } from "../../src/domain/model/rules/rule-set.ts";
import { parseRules } from "../../src/rules/parse-rules.ts";

const GROUPS = '[groups.a]\nusers = ["a"]\n[groups.b]\nusers = ["b"]\n[groups.c]\nusers = ["c"]\n';

/** The one pool of several rules of the product CAD; their bodies begin in line 9, 12, … */
const merge = (...bodies: readonly string[]): PoolRules => {
  const text = bodies.map((body) => `[[rule]]\nproduct = "CAD"\n${body}\n`).join("");
  const { rules, findings } = parseRules(GROUPS + text);
  expect(findings.filter(({ severity }) => severity === "error")).toEqual([]);
  expect(rules?.pools).toHaveLength(1);
  const [pool] = rules?.pools ?? [];
  if (pool === undefined) throw new Error("no pool");
  return pool;
};

describe("several rules of one product", () => {
  test("deny the groups of all of them, each with its first line", () => {
    expect(merge('deny = ["b"]', 'deny = ["a", "b"]').deny).toEqual([
      { group: "a", line: 12 },
      { group: "b", line: 9 },
    ]);
  });
  test("allow the groups of all of them", () => {
    const { allowOnly } = merge('allow_only = ["b"]', "limit = {}", 'allow_only = ["a"]');
    expect(allowOnly).toEqual([
      { group: "a", line: 15 },
      { group: "b", line: 9 },
    ]);
  });
  test("allow everyone if none of them has allow_only", () => {
    expect(merge('deny = ["a"]', 'deny = ["b"]').allowOnly).toBeNull();
  });
  test("have the smallest of their limits", () => {
    const pool = merge(
      "limit = { each_user = 3, each_host = 1, groups = { a = 2, b = 9 } }",
      "limit = { each_user = 2, each_host = 4, groups = { a = 5 } }",
    );
    expect([pool.eachUser, pool.eachHost]).toEqual([
      { slots: 2, line: 12 },
      { slots: 1, line: 9 },
    ]);
    expect(pool.groupLimits).toEqual([
      { group: "a", slots: 2, line: 9 },
      { group: "b", slots: 9, line: 9 },
    ]);
  });
  test("add the reservations of different groups", () => {
    const { reservations } = merge(
      'reserve = [{ group = "b", slots = 1 }]',
      'reserve = [{ group = "a", slots = 2, idle = "lend" }]',
    );
    expect(reservations).toEqual([
      { group: "a", slots: 2, idle: "lend", line: 12 },
      { group: "b", slots: 1, idle: "keep", line: 9 },
    ]);
  });
  test("have the smallest borrow limits, and the largest keep_home", () => {
    const { borrow } = merge(
      'borrow = { max_hours = 8, max_slots = 3, keep_home = 1, allow_only = ["b"], deny = ["c"] }',
      'borrow = { max_hours = 4, max_slots = 5, keep_home = 2, allow_only = ["a"] }',
    );
    expect(borrow).toEqual({
      deny: [{ group: "c", line: 9 }],
      allowOnly: [
        { group: "a", line: 12 },
        { group: "b", line: 9 },
      ],
      maxHours: { hours: 4, line: 12 },
      maxSlots: { slots: 3, line: 9 },
      keepHome: { slots: 2, line: 12 },
    });
  });
  test("do not mix with the rules of a feature of the product", () => {
    const { rules } = parseRules(
      `${GROUPS}[[rule]]\nproduct = "CAD"\nfeature = "R"\ndeny = ["a"]\n[[rule]]\nproduct = "CAD"\ndeny = ["b"]`,
    );
    expect(
      rules?.pools.map(({ feature, deny }) => [feature, deny.map(({ group }) => group)]),
    ).toEqual([
      [null, ["b"]],
      ["R", ["a"]],
    ]);
  });
});

const names = fc.constantFrom("a", "b", "c");
const groupList = fc.uniqueArray(names, { minLength: 1 }).map((list) => JSON.stringify(list));
const count = fc.integer({ min: 1, max: 5 });
const anyLine = fc.oneof(
  groupList.map((list) => `deny = ${list}`),
  groupList.map((list) => `allow_only = ${list}`),
  fc
    .tuple(names, count)
    .map(([group, slots]) => `reserve = [{ group = "${group}", slots = ${slots} }]`),
  fc
    .tuple(count, count, names)
    .map(
      ([user, slots, group]) => `limit = { each_user = ${user}, groups = { ${group} = ${slots} } }`,
    ),
  fc
    .tuple(count, count, groupList)
    .map(
      ([hours, home, list]) =>
        `borrow = { max_hours = ${hours}, keep_home = ${home}, deny = ${list} }`,
    ),
  groupList.map((list) => `queue = { priority = ${list} }`),
);
const anyRule = fc
  .tuple(fc.constantFrom("CAD", "CAM"), anyLine)
  .map(([product, line]) => `[[rule]]\nproduct = "${product}"\n${line}\n`);
const anyGroup = (name: string): fc.Arbitrary<string> =>
  fc
    .shuffledSubarray(["ada", "bo*", "cy"], { minLength: 1 })
    .map((users) => `[groups.${name}]\nusers = ${JSON.stringify(users)}\n`);
const anyBlocks = fc
  .tuple(anyGroup("a"), anyGroup("b"), anyGroup("c"), fc.array(anyRule, { maxLength: 8 }))
  .map(([a, b, c, rules]) => [a, b, c, ...rules]);

/** Replaces every line number: only messages depend on it. */
const withoutLines = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, member: unknown) => (key === "line" ? 0 : member)));

describe("the order of groups and rules", () => {
  test("does not change the rule set, but for its lines", () => {
    const shuffled = anyBlocks.chain((blocks) =>
      fc.tuple(
        fc.constant(blocks),
        fc.shuffledSubarray(blocks, { minLength: blocks.length, maxLength: blocks.length }),
      ),
    );
    let parsed = 0;
    fc.assert(
      fc.property(shuffled, ([blocks, others]) => {
        const first = parseRules(blocks.join(""));
        const second = parseRules(others.join(""));
        expect(withoutLines(second.rules)).toEqual(withoutLines(first.rules));
        expect(second.findings).toHaveLength(first.findings.length);
        if (first.rules !== null) parsed += 1;
      }),
      { numRuns: 1_000 },
    );
    expect(parsed).toBeGreaterThan(100);
  });
});
