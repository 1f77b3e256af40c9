import { describe, expect, test } from "bun:test";
import { SlotChangeLog } from "../../../../src/domain/model/slots/slot-change-log.ts";

const usersSince = (log: SlotChangeLog, position: number) =>
  log.since(position)?.map(({ user }) => user) ?? null;

function logOf(count: number): SlotChangeLog {
  const log = new SlotChangeLog();
  for (let index = 0; index < count; index += 1) log.add(1, `u${index}`);
  return log;
}

describe("SlotChangeLog", () => {
  test("returns the changes after a position in their order", () => {
    const log = logOf(3);
    expect(usersSince(log, 0)).toEqual(["u0", "u1", "u2"]);
    expect(usersSince(log, 2)).toEqual(["u2"]);
    expect(usersSince(log, log.position)).toEqual([]);
  });

  test("does not know a position that it has not reached", () => {
    expect(usersSince(logOf(3), 4)).toBeNull();
  });

  test.each([4_096, 4_097, 8_191, 8_192, 10_000])(
    "keeps the last 4,096 of %i changes and no earlier ones",
    (count) => {
      const log = logOf(count);
      const users = usersSince(log, count - 4_096);
      expect(users?.length).toBe(4_096);
      expect([users?.[0], users?.at(-1)]).toEqual([`u${count - 4_096}`, `u${count - 1}`]);
      expect(usersSince(log, count - 4_097)).toBeNull();
      expect(usersSince(log, count - 2)).toEqual([`u${count - 2}`, `u${count - 1}`]);
    },
  );

  test("knows only what follows after all was forgotten", () => {
    const log = logOf(3);
    const before = log.position;
    log.forgetAll();
    const after = log.position;
    log.add(1, "ada");
    expect(usersSince(log, before)).toBeNull();
    expect(usersSince(log, after)).toEqual(["ada"]);
  });
});
