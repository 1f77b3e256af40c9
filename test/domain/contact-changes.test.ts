import { describe, expect, test } from "bun:test";
import { isAudited } from "../../src/domain/audited-events.ts";
import type { Event } from "../../src/domain/event.ts";
import type { Contact } from "../../src/domain/registration.ts";
import type { State } from "../../src/domain/state.ts";
import { later, MINUTE, type Instant } from "../../src/domain/time.ts";
import { transact } from "../../src/domain/transact.ts";
import {
  justBefore,
  borrow,
  CONTACT,
  given,
  hoursLater,
  licenseInstalled,
  minutesLater,
  MONDAY,
  register,
  replayEvents,
  slotTaken,
} from "../support/scenario.ts";

const LAPTOP: Contact = { hostname: "laptop", ip: "10.0.0.8", info: "docked", peer: "10.0.0.8" };
const DESK = CONTACT;

/** A slot with a timeout of a day, so that it outlasts what is tested. */
const license = licenseInstalled(1, { timeoutMinutes: 3 * 24 * 60, borrowHours: 72 });
const slot = given(license, slotTaken("ada", { end: hoursLater(72) }));

/** The lines that a call writes: each with its events, and whether the audit log keeps it. */
function linesOf(state: State, command: Parameters<typeof transact>[1], at: Instant) {
  const done = transact(state, command, at);
  if (!done.ok) throw new Error(`refused: ${done.fault.code}`);
  return done.value.journalLines.map((events) => ({ events, isAudited: events.some(isAudited) }));
}

const heartbeat = (state: State, contact: Contact, at: Instant) =>
  linesOf(state, register("ada", { contact }), at);

const contactIn = (state: State): Contact | undefined =>
  state.licenses.get(1)?.pool.get("ada")?.contact;

describe("a heartbeat from another machine", () => {
  test("is audited on a line of its own, without user_info", () => {
    const state = replayEvents(slot.events);
    const named = { at: minutesLater(1), license: 1, user: "ada" };
    const { hostname, ip, peer } = LAPTOP;
    expect(heartbeat(state, LAPTOP, minutesLater(1))).toEqual([
      {
        events: [{ type: "ContactChanged", ...named, slot: 1, hostname, ip, peer }],
        isAudited: true,
      },
      {
        events: [
          {
            type: "SlotRenewed",
            ...named,
            end: later(minutesLater(1), 72 * 60 * MINUTE),
            contact: LAPTOP,
          },
        ],
        isAudited: false,
      },
    ]);
  });

  for (const field of ["hostname", "ip", "peer"] as const) {
    test(`is known by its ${field}`, () => {
      const lines = heartbeat(
        replayEvents(slot.events),
        { ...DESK, [field]: "other" },
        minutesLater(1),
      );
      expect(lines.map((line) => line.isAudited)).toEqual([true, false]);
    });
  }

  test("is audited at most once a day, whatever machines take turns", () => {
    const state = replayEvents(slot.events);
    const audited: number[] = [];
    for (let minute = 1; minute <= 2 * 24 * 60; minute += 1) {
      const contact = { ...(minute % 2 === 0 ? DESK : LAPTOP), info: `up ${minute} min` };
      const lines = heartbeat(state, contact, minutesLater(minute));
      expect(lines.at(-1)?.isAudited).toBe(false);
      expect(contactIn(state)).toEqual(contact);
      if (lines.length > 1) audited.push(minute);
    }
    expect(audited).toEqual([1, 1 + 24 * 60]);
  });

  test("is audited again after exactly a day, and not a millisecond earlier", () => {
    const moved = slot.at(minutesLater(1)).execute(register("ada", { contact: LAPTOP }));
    const next = later(minutesLater(1), 24 * 60 * MINUTE);
    expect(heartbeat(replayEvents(moved.events), DESK, justBefore(next))).toHaveLength(1);
    expect(heartbeat(replayEvents(moved.events), DESK, next)).toHaveLength(2);
  });

  test("that came too early to be audited is audited when a day has passed", () => {
    const back = slot
      .at(minutesLater(1))
      .execute(register("ada", { contact: LAPTOP }))
      .at(minutesLater(2))
      .execute(register("ada"));
    const state = replayEvents(back.events);
    expect(heartbeat(state, DESK, minutesLater(3))).toHaveLength(1);
    const [line] = heartbeat(state, DESK, later(minutesLater(1), 24 * 60 * MINUTE));
    expect(line?.events).toMatchObject([{ type: "ContactChanged", hostname: DESK.hostname }]);
    expect(heartbeat(state, DESK, later(minutesLater(1), 49 * 60 * MINUTE))).toHaveLength(1);
  });
});

test("a clock set back does not put off the next audited change of contact", () => {
  const moved = slot.at(hoursLater(48)).execute(register("ada", { contact: LAPTOP }));
  const back: Event = {
    type: "ClockSetBack",
    at: MONDAY,
    from: hoursLater(48),
    to: MONDAY,
    peer: "",
  };
  const state = replayEvents([...moved.events, back]);
  expect(state.licenses.get(1)?.pool.get("ada")?.contactAuditedAt).toBe(MONDAY);
  expect(heartbeat(state, DESK, hoursLater(24))).toHaveLength(2);
});

describe("a heartbeat that changes user_info alone", () => {
  test("is never audited, and the state has the new text at once", () => {
    const state = replayEvents(slot.events);
    for (let minute = 1; minute <= 500; minute += 1) {
      const info = `${minute}`.repeat(1_000);
      const lines = heartbeat(state, { ...DESK, info }, minutesLater(minute));
      expect(lines.map((line) => line.isAudited)).toEqual([false]);
      expect(contactIn(state)?.info).toBe(info);
    }
  });
});

describe("a slot taken again", () => {
  test("may have a contact change audited at once", () => {
    const again = slot
      .at(minutesLater(1))
      .execute(register("ada", { contact: LAPTOP }))
      .at(hoursLater(73))
      .execute(register("ada", { contact: LAPTOP }));
    const lines = heartbeat(replayEvents(again.events), DESK, later(hoursLater(73), MINUTE));
    expect(lines.map((line) => line.isAudited)).toEqual([true, false]);
  });
});

describe("borrowing", () => {
  const audited = (state: State, contact: Contact, at: Instant): Event[] =>
    linesOf(state, borrow("ada", hoursLater(60), { contact }), at).flatMap((line) =>
      line.isAudited ? line.events : [],
    );

  test("names user_info in what is audited only where the slot is taken", () => {
    const info = "x".repeat(4_096);
    const state = replayEvents([license]);
    const first = audited(state, { ...DESK, info }, MONDAY);
    expect(first.map(({ type }) => type)).toEqual(["SlotTaken", "SlotBorrowed"]);
    expect(JSON.stringify(first).split(info)).toHaveLength(2);
    expect(contactIn(state)?.info).toBe(info);
  });

  test("again tells the audit log the machine, and the state user_info as well", () => {
    const state = replayEvents(slot.events);
    for (let minute = 1; minute <= 100; minute += 1) {
      const info = `${minute}`.padEnd(4_096, "x");
      const contact = { ...LAPTOP, info };
      const events = audited(state, contact, minutesLater(minute));
      const { info: _info, ...named } = contact;
      expect(events).toMatchObject([{ type: "SlotBorrowed", contact: named }]);
      expect(JSON.stringify(events).length).toBeLessThan(400);
      expect(contactIn(state)).toEqual(contact);
    }
  });

  test("from another machine leaves no change of contact for the next heartbeat to tell", () => {
    const state = replayEvents(slot.events);
    audited(state, LAPTOP, minutesLater(1));
    expect(heartbeat(state, LAPTOP, hoursLater(30))).toHaveLength(1);
  });
});
