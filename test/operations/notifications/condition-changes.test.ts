import { describe, expect, test } from "bun:test";
import { DAY, HOUR, MINUTE } from "../../../src/domain/time.ts";
import { ConditionChanges } from "../../../src/operations/notifications/condition-changes.ts";
import type { Condition } from "../../../src/operations/notifications/condition.ts";

const condition = (differing: Partial<Condition> = {}): Condition => ({
  code: "disk_low",
  severity: "warning",
  summary: "The disk has 12 MiB free",
  remedy: "",
  command: null,
  subject: null,
  ...differing,
});

/** What an update reports, as short texts. */
const update = (changes: ConditionChanges, conditions: readonly Condition[], nowMs: number) =>
  changes
    .update(conditions, nowMs)
    .map(({ event, condition: { code, severity, subject }, suppressed }) =>
      [event, code, severity, subject ?? "-", suppressed].join(" "),
    );

describe("changes of conditions", () => {
  test("raise each condition of the first update once, and clear it when it ends", () => {
    const changes = new ConditionChanges();
    const both = [condition(), condition({ code: "license_expiring", subject: "CAD" })];
    expect(update(changes, both, 0)).toEqual([
      "raised disk_low warning - 0",
      "raised license_expiring warning CAD 0",
    ]);
    expect(update(changes, both, MINUTE)).toEqual([]);
    expect(update(changes, both, 3 * DAY)).toEqual([]);
    expect(update(changes, [condition()], 3 * DAY + 1)).toEqual([
      "cleared license_expiring warning CAD 0",
    ]);
    expect(update(changes, [], 3 * DAY + 2)).toEqual(["cleared disk_low warning - 0"]);
    expect(update(changes, [], 3 * DAY + 3)).toEqual([]);
  });

  test("ignore that a text changes", () => {
    const changes = new ConditionChanges();
    update(changes, [condition({ summary: "CAD expires in 9 days" })], 0);
    expect(update(changes, [condition({ summary: "CAD expires in 8 days" })], DAY)).toEqual([]);
  });

  test("clear and raise a condition whose severity changes, in this order", () => {
    const changes = new ConditionChanges();
    update(changes, [condition()], 0);
    expect(update(changes, [condition({ severity: "error" })], MINUTE)).toEqual([
      "cleared disk_low warning - 0",
      "raised disk_low error - 0",
    ]);
  });

  test("distinguish subjects, and count conditions that are alike", () => {
    const changes = new ConditionChanges();
    const licenses = ["CAD", "CAD", "CAM"].map((subject) => condition({ subject }));
    expect(update(changes, licenses, 0)).toHaveLength(3);
    expect(update(changes, licenses.slice(1), 1)).toEqual(["cleared disk_low warning CAD 0"]);
  });

  test("raise a condition that comes and goes at most once an hour, and say how often it came", () => {
    const changes = new ConditionChanges();
    const reported: string[] = [];
    // Present in every even minute of two hours.
    for (let minute = 0; minute < 120; minute += 1) {
      const present = minute % 2 === 0 ? [condition()] : [];
      reported.push(
        ...update(changes, present, minute * MINUTE).map((text) => `${minute}: ${text}`),
      );
    }
    expect(reported).toEqual([
      "0: raised disk_low warning - 0",
      "1: cleared disk_low warning - 0",
      "60: raised disk_low warning - 29",
      "61: cleared disk_low warning - 0",
    ]);
  });

  test("raise a condition that returned within the hour as soon as the hour is over", () => {
    const changes = new ConditionChanges();
    update(changes, [condition()], 0);
    update(changes, [], MINUTE);
    expect(update(changes, [condition()], 2 * MINUTE)).toEqual([]);
    expect(update(changes, [condition()], HOUR - 1)).toEqual([]);
    expect(update(changes, [condition()], HOUR)).toEqual(["raised disk_low warning - 1"]);
    expect(update(changes, [], HOUR + 1)).toEqual(["cleared disk_low warning - 0"]);
  });
});
