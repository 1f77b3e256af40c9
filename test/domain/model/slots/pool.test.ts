import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  MutableSlotPool,
  type MutableSlotHolder,
} from "../../../../src/domain/evolve/mutable-slot-pool.ts";
import { MutableRegistrationPool } from "../../../../src/domain/evolve/mutable-registration-pool.ts";
import { newRegistration } from "../../../../src/domain/evolve/mutable-state.ts";
import { makeContact } from "../../../support/contact.ts";
import { instant } from "../../../../src/domain/time.ts";

const makeHolder = (user: string, slot: number, end = slot): MutableSlotHolder => ({
  user,
  slot,
  end: instant(end),
});

test("MutableRegistrationPool counts the borrows of registrations that were added at once", () => {
  const contact = makeContact({});
  const registrations = [30, null, 10, 20].map((until, slot) => ({
    ...newRegistration(slot, `user-${slot}`, instant(0), instant(99), contact),
    borrowedUntil: until === null ? null : instant(until),
  }));
  const pool = new MutableRegistrationPool();
  pool.addAll(registrations);
  const countAt = (...times: readonly number[]) =>
    times.map((at) => pool.countBorrowed(instant(at)));
  expect(countAt(0, 10, 20, 30)).toEqual([3, 2, 1, 0]);
  for (const registration of registrations.slice(2)) pool.setBorrow(registration, null);
  expect(countAt(0, 29, 30)).toEqual([1, 1, 0]);
});

describe("MutableSlotPool", () => {
  test("finds its holders by user, by slot number and by end", () => {
    const pool = new MutableSlotPool<MutableSlotHolder>();
    const [ada, bob, eve] = [
      makeHolder("ada", 1, 30),
      makeHolder("bob", 2, 20),
      makeHolder("eve", 5, 10),
    ];
    for (const holder of [bob, eve, ada]) pool.add(holder);
    expect(pool.size).toBe(3);
    expect(pool.get("bob")).toBe(bob);
    expect([...pool.inSlotOrder()]).toEqual([ada, bob, eve]);
    expect([...pool.inSlotOrder(1)]).toEqual([bob, eve]);
    expect([...pool.inSlotOrder(2)]).toEqual([eve]);
    expect([...pool.inSlotOrder(5)]).toEqual([]);
    expect(pool.expiryIndex.ended(instant(20), 9)).toEqual([eve, bob]);
  });

  test("refuses a second slot for the same user", () => {
    const pool = new MutableSlotPool<MutableSlotHolder>();
    pool.add(makeHolder("ada", 1));
    expect(() => pool.add(makeHolder("ada", 2))).toThrow("twice");
    expect([pool.size, ...pool.inSlotOrder()]).toEqual([1, makeHolder("ada", 1)]);
  });

  test("has the same orders after adding many holders at once as after adding each", () => {
    const holders = Array.from({ length: 500 }, (_, slot) =>
      makeHolder(`user-${slot}`, slot, (slot * 7_919) % 301),
    );
    const atOnce = new MutableSlotPool<MutableSlotHolder>();
    const oneByOne = new MutableSlotPool<MutableSlotHolder>();
    atOnce.addAll(holders);
    for (const holder of holders) oneByOne.add(holder);
    for (const pool of [atOnce, oneByOne]) {
      expect([pool.size, pool.get("user-77")]).toEqual([500, holders[77]]);
      expect([...pool.inSlotOrder()]).toEqual(holders);
    }
    const now = instant(1_000);
    expect(atOnce.expiryIndex.ended(now, 500)).toEqual(oneByOne.expiryIndex.ended(now, 500));
    expect(() => atOnce.addAll([makeHolder("new", 500), makeHolder("user-0", 501)])).toThrow(
      "twice",
    );
  });

  test("refuses to remove a holder that is not in the pool", () => {
    const pool = new MutableSlotPool<MutableSlotHolder>();
    pool.add(makeHolder("ada", 1));
    expect(() => pool.remove(makeHolder("ada", 1))).toThrow("not in the list");
    expect(pool.size).toBe(1);
  });

  test("has the same holders as a map after any additions, removals and changes", () => {
    const step = fc.record({ firstUser: fc.nat(3_000), until: fc.nat(500), count: fc.nat(900) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const pool = new MutableSlotPool<MutableSlotHolder>();
        const model = new Map<string, MutableSlotHolder>();
        let slot = 0;
        for (const { firstUser, until, count } of steps) {
          for (let user = firstUser; user < firstUser + count; user += 1) {
            const name = `user-${user}`;
            const current = model.get(name);
            if (current === undefined) {
              const added = makeHolder(name, (slot += 1), until);
              pool.add(added);
              model.set(name, added);
            } else if ((user + until) % 3 === 0) {
              pool.remove(current);
              model.delete(name);
            } else pool.changeEnd(current, instant(until + user));
          }
        }
        const all = [...model.values()].toSorted((a, b) => a.slot - b.slot);
        expect(pool.size).toBe(all.length);
        expect([...pool.inSlotOrder()]).toEqual(all);
        expect([...pool.inSlotOrder(slot >> 1)]).toEqual(
          all.filter((holder) => holder.slot > slot >> 1),
        );
        expect(pool.expiryIndex.countEnded(instant(600))).toBe(
          all.filter(({ end }) => end <= 600).length,
        );
        for (const [name, holder] of model) expect(pool.get(name)).toBe(holder);
      }),
      { numRuns: 60 },
    );
  });
});
