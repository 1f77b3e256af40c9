import { describe, expect, test } from "bun:test";
import type { CappedFault, CappingRule } from "../../../../src/domain/model/fault.ts";
import {
  describeCapped,
  describeLimit,
  describeNoSlot,
} from "../../../../src/faults/sharing-texts.ts";

describe("the message of floating_not_available", () => {
  const describeWith = (differing: Partial<Parameters<typeof describeNoSlot>[0]>): string =>
    describeNoSlot({
      code: "floating_not_available",
      slots: 10,
      reserved: [],
      holds: 0,
      waiting: 0,
      ...differing,
    });
  const reservedFor = (...groups: readonly string[]) =>
    groups.map((group, index) => ({ slots: 2, groups: [{ group, line: index + 4 }] }));

  test("names reserved groups with their lines, and says what to do", () => {
    expect(describeWith({ reserved: reservedFor("lab", "sim"), waiting: 1 })).toBe(
      "all 10 slots are in use or reserved: 2 for lab (line 4), 2 for sim (line 5); " +
        "1 user waits; try again later, or ask the operator",
    );
  });

  test("names five reserved groups, and counts the slots of all others", () => {
    expect(describeWith({ reserved: reservedFor("a", "b", "c", "d", "e") })).toContain(
      "2 for e (line 8); try",
    );
    expect(describeWith({ reserved: reservedFor("a", "b", "c", "d", "e", "f", "g") })).toContain(
      "2 for e (line 8), 4 for other groups; try",
    );
  });

  test("names the groups as alternatives if they are entitled to more slots than are free", () => {
    const describeShared = (...names: readonly string[]): string =>
      describeWith({
        reserved: [{ slots: 3, groups: names.map((group, index) => ({ group, line: index + 4 })) }],
      });
    expect(describeShared("lab", "sim")).toContain("reserved: 3 for lab (line 4) or sim (line 5);");
    expect(describeShared("a", "b", "c", "d", "e")).toContain("d (line 7) or e (line 8);");
    expect(describeShared("a", "b", "c", "d", "e", "f")).toContain("e (line 8) or other groups;");
  });

  test("says that a freed slot is kept for the caller's group if others use its lent slots", () => {
    const advice =
      "others use slots that group sim lends: the next free one is kept for the group; " +
      "try again within 10 minutes";
    expect(describeWith({ recall: "sim" })).toBe(`all 10 slots are in use; ${advice}`);
    expect(describeWith({ recall: "sim", reserved: reservedFor("lab") })).toBe(
      `all 10 slots are in use or reserved: 2 for lab (line 4); ${advice}`,
    );
  });

  test("says only how the slots are used if no rule is the reason", () => {
    expect(describeWith({})).toBe("all 10 slots are in use");
    expect(describeWith({ slots: 1 })).toBe("the only slot is in use");
    expect(describeWith({ holds: 1, waiting: 2 })).toBe(
      "all 10 slots are in use or held: 1 for a user who waited; 2 users wait",
    );
  });
});

const cappedBy = (kind: CappingRule["kind"], slots: number): CappedFault => ({
  code: "slots_capped",
  rule: { kind, name: "sim", slots, line: 4 },
  product: "CAD",
  feature: null,
});

describe("the message of slots_capped by a rule", () => {
  const WAIT = "(line 4); try again later, or ask the operator";

  test.each([
    ["each_user", 2, `one user may have 2 slots of CAD at once, and this one has them ${WAIT}`],
    ["each_host", 1, `one host may have 1 slot of CAD at once, and this one has it ${WAIT}`],
    ["group", 1, `group sim may have 1 slot of CAD at once, and has it ${WAIT}`],
    ["group", 0, "group sim may have no slot of CAD (line 4); ask the operator"],
    ["borrow_max_slots", 2, `2 slots of CAD may be borrowed at once, and they are ${WAIT}`],
    ["borrow_max_slots", 0, "no slot of CAD may be borrowed (line 4); ask the operator"],
    ["borrow_keep_home", 1, `1 slot of CAD may not be borrowed, and all others are ${WAIT}`],
  ] as const)("is a sentence for %s = %d", (kind, slots, text) => {
    expect(describeCapped(cappedBy(kind, slots))).toBe(`by the site's rules ${text}`);
  });
});

describe("a limit in the queue of the operator", () => {
  test.each([
    ["each_user", 2, "one user may have 2 slots of CAD at once (line 4)"],
    ["each_host", 1, "one host may have 1 slot of CAD at once (line 4)"],
    ["group", 0, "group sim may have no slot of CAD (line 4)"],
  ] as const)("names the rule %s = %d and its line, without advice", (kind, slots, text) => {
    expect(describeLimit(cappedBy(kind, slots))).toBe(text);
  });

  test.each([
    ["user", "one user may hold 5 slots at once (max_slots_per_user)"],
    ["peer", "one address may hold 5 slots at once (max_slots_per_peer)"],
  ] as const)("names the setting of the maximum for each %s", (scope, text) => {
    expect(describeLimit({ code: "slots_capped", scope, slots: 5 })).toBe(text);
  });
});
