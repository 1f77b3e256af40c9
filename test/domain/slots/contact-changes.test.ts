import { describe, expect, test } from "bun:test";
import { isAudited } from "../../../src/domain/event-catalogue.ts";
import type { Event } from "../../../src/domain/model/event.ts";
import { machineOf, type Contact } from "../../../src/domain/model/slots/contact.ts";
import type { State } from "../../../src/domain/model/state.ts";
import { later, MINUTE, type Instant } from "../../../src/domain/time.ts";
import { transact } from "../../../src/domain/transact.ts";
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
} from "../../support/scenario.ts";
import { contextAt } from "../../support/rule-context.ts";
import { makeContact } from "../../support/contact.ts";

const LAPTOP = makeContact({
  hostname: "laptop",
  ip: "10.0.0.8",
  info: "docked",
  peer: "10.0.0.8",
});
const DESKTOP = CONTACT;

/** With a timeout of three days, so that the slot outlasts each test. */
const license = licenseInstalled(1, { timeoutMinutes: 3 * 24 * 60, borrowHours: 72 });
const withSlot = given(license, slotTaken("ada", { end: hoursLater(72) }));

/** The journal lines that a command writes: their events, and whether they are audited. */
function listJournalLines(state: State, command: Parameters<typeof transact>[1], at: Instant) {
  const result = transact(state, command, contextAt(at));
  if (!result.ok) throw new Error(`refused: ${result.fault.code}`);
  return result.value.journalLines.map((events) => ({ events, isAudited: events.some(isAudited) }));
}

const heartbeat = (state: State, contact: Contact, at: Instant) =>
  listJournalLines(state, register("ada", { contact }), at);

const findContact = (state: State): Contact | undefined =>
  state.licenses.get(1)?.pool.get("ada")?.contact;

describe("a heartbeat from another machine", () => {
  test("is audited on a line of its own, without user_info", () => {
    const state = replayEvents(withSlot.events);
    const fields = { at: minutesLater(1), license: 1, user: "ada" };
    expect(heartbeat(state, LAPTOP, minutesLater(1))).toEqual([
      {
        events: [{ type: "ContactChanged", ...fields, slot: 1, ...machineOf(LAPTOP) }],
        isAudited: true,
      },
      {
        events: [
          {
            type: "SlotRenewed",
            ...fields,
            end: later(minutesLater(1), 72 * 60 * MINUTE),
            contact: LAPTOP,
          },
        ],
        isAudited: false,
      },
    ]);
  });

  for (const field of ["hostname", "ip", "peer"] as const) {
    test(`is recognized by its ${field}`, () => {
      const lines = heartbeat(
        replayEvents(withSlot.events),
        { ...DESKTOP, [field]: "other" },
        minutesLater(1),
      );
      expect(lines.map((line) => line.isAudited)).toEqual([true, false]);
    });
  }

  test("is audited at most once a day when two machines take turns", () => {
    const state = replayEvents(withSlot.events);
    const audited: number[] = [];
    for (let minute = 1; minute <= 2 * 24 * 60; minute += 1) {
      const contact = { ...(minute % 2 === 0 ? DESKTOP : LAPTOP), info: `up ${minute} min` };
      const lines = heartbeat(state, contact, minutesLater(minute));
      expect(lines.at(-1)?.isAudited).toBe(false);
      expect(findContact(state)).toEqual(contact);
      if (lines.length > 1) audited.push(minute);
    }
    expect(audited).toEqual([1, 1 + 24 * 60]);
  });

  test("is audited again after exactly a day, and not a millisecond earlier", () => {
    const fromLaptop = withSlot.at(minutesLater(1)).execute(register("ada", { contact: LAPTOP }));
    const next = later(minutesLater(1), 24 * 60 * MINUTE);
    expect(heartbeat(replayEvents(fromLaptop.events), DESKTOP, justBefore(next))).toHaveLength(1);
    expect(heartbeat(replayEvents(fromLaptop.events), DESKTOP, next)).toHaveLength(2);
  });

  test("is audited when a day has passed, if it came too early before", () => {
    const returned = withSlot
      .at(minutesLater(1))
      .execute(register("ada", { contact: LAPTOP }))
      .at(minutesLater(2))
      .execute(register("ada"));
    const state = replayEvents(returned.events);
    expect(heartbeat(state, DESKTOP, minutesLater(3))).toHaveLength(1);
    const [line] = heartbeat(state, DESKTOP, later(minutesLater(1), 24 * 60 * MINUTE));
    expect(line?.events).toMatchObject([{ type: "ContactChanged", hostname: DESKTOP.hostname }]);
    expect(heartbeat(state, DESKTOP, later(minutesLater(1), 49 * 60 * MINUTE))).toHaveLength(1);
  });
});

test("setting the clock back does not delay the next audited change of contact", () => {
  const fromLaptop = withSlot.at(hoursLater(48)).execute(register("ada", { contact: LAPTOP }));
  const setBack: Event = {
    type: "ClockSetBack",
    at: MONDAY,
    from: hoursLater(48),
    to: MONDAY,
    peer: "",
  };
  const state = replayEvents([...fromLaptop.events, setBack]);
  expect(state.licenses.get(1)?.pool.get("ada")?.contactAuditedAt).toBe(MONDAY);
  expect(heartbeat(state, DESKTOP, hoursLater(24))).toHaveLength(2);
});

describe("a heartbeat that changes user_info alone", () => {
  test("is never audited, and the state has the new text immediately", () => {
    const state = replayEvents(withSlot.events);
    for (let minute = 1; minute <= 500; minute += 1) {
      const info = `${minute}`.repeat(1_000);
      const lines = heartbeat(state, { ...DESKTOP, info }, minutesLater(minute));
      expect(lines.map((line) => line.isAudited)).toEqual([false]);
      expect(findContact(state)?.info).toBe(info);
    }
  });
});

describe("a slot that is taken again", () => {
  test("has its next change of contact audited immediately", () => {
    const takenAgain = withSlot
      .at(minutesLater(1))
      .execute(register("ada", { contact: LAPTOP }))
      .at(hoursLater(73))
      .execute(register("ada", { contact: LAPTOP }));
    const lines = heartbeat(
      replayEvents(takenAgain.events),
      DESKTOP,
      later(hoursLater(73), MINUTE),
    );
    expect(lines.map((line) => line.isAudited)).toEqual([true, false]);
  });
});

describe("borrowing", () => {
  const listAuditedEvents = (state: State, contact: Contact, at: Instant): Event[] =>
    listJournalLines(state, borrow("ada", hoursLater(60), { contact }), at).flatMap((line) =>
      line.isAudited ? line.events : [],
    );

  test("audits user_info only in the event that takes the slot", () => {
    const info = "x".repeat(4_096);
    const state = replayEvents([license]);
    const first = listAuditedEvents(state, { ...DESKTOP, info }, MONDAY);
    expect(first.map(({ type }) => type)).toEqual(["SlotTaken", "SlotBorrowed"]);
    expect(JSON.stringify(first).split(info)).toHaveLength(2);
    expect(findContact(state)?.info).toBe(info);
  });

  test("again audits the machine without user_info, and keeps user_info in the state", () => {
    const state = replayEvents(withSlot.events);
    for (let minute = 1; minute <= 100; minute += 1) {
      const info = `${minute}`.padEnd(4_096, "x");
      const contact = { ...LAPTOP, info };
      const events = listAuditedEvents(state, contact, minutesLater(minute));
      expect(events).toMatchObject([{ type: "SlotBorrowed", contact: machineOf(contact) }]);
      expect(JSON.stringify(events).length).toBeLessThan(400);
      expect(findContact(state)).toEqual(contact);
    }
  });

  test("from another machine leaves no change of contact for the next heartbeat to audit", () => {
    const state = replayEvents(withSlot.events);
    listAuditedEvents(state, LAPTOP, minutesLater(1));
    expect(heartbeat(state, LAPTOP, hoursLater(30))).toHaveLength(1);
  });
});
