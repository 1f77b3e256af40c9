import { expect, test } from "bun:test";
import { dumpState, given, MONDAY, replayEvents } from "../../support/scenario.ts";

test("setKeys records which cloud keys were replaced and by whom, and no value", () => {
  given()
    .at(MONDAY)
    .when({ type: "SetKeys", changed: ["apiKey", "sharedKey"], peer: "10.0.0.7" })
    .records({ type: "KeysSet", at: MONDAY, changed: ["apiKey", "sharedKey"], peer: "10.0.0.7" })
    .answers(null);
});

test("setKeys of one cloud key records that key alone", () => {
  given()
    .at(MONDAY)
    .when({ type: "SetKeys", changed: ["sharedKey"], peer: "ops@socket" })
    .records({ type: "KeysSet", changed: ["sharedKey"], peer: "ops@socket" });
});

test("setKeys changes nothing in the state but the time of the latest event", () => {
  const keysSet = { type: "KeysSet", at: MONDAY, changed: ["apiKey"], peer: "10.0.0.7" } as const;
  expect(dumpState(replayEvents([keysSet]))).toEqual({
    ...dumpState(replayEvents([])),
    latestEventAt: MONDAY,
  });
});
