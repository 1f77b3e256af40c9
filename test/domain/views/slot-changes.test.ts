import { expect, test } from "bun:test";
import type { Event } from "../../../src/domain/model/event.ts";
import { evolve } from "../../../src/domain/evolve/evolve.ts";
import { findSlotChanges } from "../../../src/domain/views/slot-changes.ts";
import {
  hoursLater,
  licenseInstalled,
  minutesLater,
  MONDAY,
  replayEvents,
  slotTaken,
} from "../../support/scenario.ts";

const setBack: Event = {
  type: "ClockSetBack",
  at: MONDAY,
  from: hoursLater(2),
  to: MONDAY,
  peer: "",
};

test("a clock that is set back makes every reader read the list again", () => {
  const state = replayEvents([licenseInstalled(1), slotTaken("ada", { at: hoursLater(2) })]);
  const position = { change: state.slotChanges.position, at: MONDAY };
  expect(findSlotChanges(state, position, hoursLater(2))).not.toBeNull();
  evolve(state, setBack);
  expect(findSlotChanges(state, position, minutesLater(1))).toBeNull();
});

test("a list that was read later than now must be read again", () => {
  const state = replayEvents([licenseInstalled(1)]);
  const position = { change: state.slotChanges.position, at: minutesLater(2) };
  expect(findSlotChanges(state, position, minutesLater(1))).toBeNull();
});

test("a clock that is set back moves when a slot was last seen under the wrong clock", () => {
  const jump: Event = {
    type: "ClockJumped",
    at: hoursLater(2),
    from: MONDAY,
    to: hoursLater(2),
    reason: "step",
  };
  const state = replayEvents([licenseInstalled(1), jump, slotTaken("ada", { at: hoursLater(2) })]);
  evolve(state, setBack);
  expect(state.licenses.get(1)?.pool.get("ada")?.lastSeenAt).toBe(MONDAY);
});
