import { describe, expect, test } from "bun:test";
import type { Event } from "../../../src/domain/model/event.ts";
import type { State } from "../../../src/domain/model/state.ts";
import { DAY, HOUR, later, MINUTE, type Instant } from "../../../src/domain/time.ts";
import { SessionLengths } from "../../../src/operations/queue/session-lengths.ts";
import {
  hoursLater,
  licenseInstalled,
  minutesLater,
  MONDAY,
  replayEvents,
  slotBorrowed,
  slotTaken,
} from "../../support/scenario.ts";

const STATE: State = replayEvents([licenseInstalled(1), licenseInstalled(2, { product: "plm" })]);

const released = (slot: number, at: Instant, license = 1): Event => ({
  type: "SlotReleased",
  at,
  license,
  user: "ada",
  slot,
  by: "user",
  peer: "10.0.0.7",
  early: false,
});

const expired = (slot: number, at: Instant): Event => ({
  type: "SlotExpired",
  at,
  license: 1,
  user: "ada",
  slot,
});

const observe = (lengths: SessionLengths, ...events: readonly Event[]): void =>
  lengths.applied(events, STATE);

describe("session lengths", () => {
  test("are measured from taking a slot to its release or expiry, per product", () => {
    const lengths = new SessionLengths();
    observe(
      lengths,
      slotTaken("ada", { slot: 1 }),
      slotTaken("eve", { slot: 2, at: hoursLater(1) }),
    );
    observe(lengths, slotTaken("ida", { slot: 3, license: 2 }));
    observe(lengths, expired(2, minutesLater(90)), released(1, hoursLater(2)));
    observe(lengths, released(3, hoursLater(5), 2));
    expect(lengths.read("cad", hoursLater(9))).toEqual({
      lengths: [30 * MINUTE, 2 * HOUR],
      count: 2,
    });
    expect(lengths.read("plm", hoursLater(9)).lengths).toEqual([5 * HOUR]);
    expect(lengths.read("xyz", hoursLater(9))).toEqual({ lengths: [], count: 0 });
  });

  test("leave out sessions that were borrowed", () => {
    const lengths = new SessionLengths();
    observe(lengths, slotTaken("ada"), slotBorrowed("ada", hoursLater(20)));
    observe(lengths, released(1, hoursLater(3)));
    expect(lengths.read("cad", hoursLater(9)).count).toBe(0);
  });

  test("leave out a session that became a restored borrow", () => {
    const lengths = new SessionLengths();
    const restored = { until: hoursLater(20), isHeld: true };
    const slot = { at: MONDAY, license: 1, user: "ada", slot: 1 };
    observe(lengths, slotTaken("ada"), { type: "SlotRestored", ...slot, ...restored });
    observe(lengths, released(1, hoursLater(3)));
    expect(lengths.read("cad", hoursLater(9)).count).toBe(0);
  });

  test("leave out sessions in which the clock was set back", () => {
    const lengths = new SessionLengths();
    const setBack = { type: "ClockSetBack", at: MONDAY, from: hoursLater(1), to: MONDAY } as const;
    observe(lengths, slotTaken("ada"), { ...setBack, peer: "" }, released(1, hoursLater(3)));
    expect(lengths.read("cad", hoursLater(9)).count).toBe(0);
  });

  test("leave out sessions that ended more than 30 days ago", () => {
    const lengths = new SessionLengths();
    observe(lengths, slotTaken("ada"), released(1, hoursLater(1)));
    expect(lengths.read("cad", later(hoursLater(1), 30 * DAY)).count).toBe(1);
    expect(lengths.read("cad", later(hoursLater(1), 30 * DAY + 1)).count).toBe(0);
  });

  test("of a busy product are an even sample, and count all", () => {
    const lengths = new SessionLengths();
    for (let slot = 1; slot <= 50_000; slot += 1) {
      const at = later(MONDAY, slot);
      observe(lengths, slotTaken("ada", { slot, at }), released(slot, later(at, slot)));
    }
    const { lengths: kept, count } = lengths.read("cad", hoursLater(1));
    expect(kept.length).toBeWithin(1_900, 4_001);
    expect(Math.abs(count / 50_000 - 1)).toBeLessThan(0.01);
    expect(Math.abs((kept[Math.floor(kept.length / 2)] ?? 0) / 25_000 - 1)).toBeLessThan(0.01);
  });

  test("do not keep more open sessions than a sample", () => {
    const lengths = new SessionLengths();
    for (let slot = 1; slot <= 20_000; slot += 1) observe(lengths, slotTaken("ada", { slot }));
    for (let slot = 1; slot <= 20_000; slot += 1) observe(lengths, released(slot, hoursLater(1)));
    const { lengths: kept, count } = lengths.read("cad", hoursLater(1));
    expect(kept.length).toBeWithin(1_900, 4_001);
    expect(Math.abs(count / 20_000 - 1)).toBeLessThan(0.01);
  });

  test("contain a session that ended before its begin was read from the audit log", () => {
    const lengths = new SessionLengths();
    observe(lengths, released(1, hoursLater(2)));
    lengths.addRecorded(slotTaken("ada"), STATE);
    lengths.endRecorded();
    expect(lengths.read("cad", hoursLater(9)).lengths).toEqual([2 * HOUR]);
  });
});
