import { describe, expect, test } from "bun:test";
import { limits } from "../../../src/domain/limits.ts";
import { DAY, later } from "../../../src/domain/time.ts";
import {
  answerTo,
  AUDIT_HEAD,
  makeRequestCommand,
  makeOpenRequest,
} from "../../support/new-site.ts";
import { justBefore, given, install, MONDAY, replayEvents } from "../../support/scenario.ts";

describe("a request", () => {
  const withRequest = given().at(MONDAY).execute(makeRequestCommand("r"));

  test("is open as soon as it is made, and keeps the head of the audit log before it", () => {
    given()
      .at(MONDAY)
      .when(makeRequestCommand("r"))
      .records({ type: "RequestMade", at: MONDAY, request: makeOpenRequest("r"), head: AUDIT_HEAD })
      .answers(makeOpenRequest("r"));
    const { requests, requestHeads } = replayEvents(withRequest.events);
    expect(requests.get("r")).toEqual(makeOpenRequest("r"));
    expect(requestHeads).toEqual([{ request: "r", ...AUDIT_HEAD }]);
  });

  test("is dropped as the oldest when more than 64 are open, and can no longer be answered", () => {
    const ids = Array.from({ length: limits.openRequests }, (_, index) => `r${index}`);
    const full = given()
      .at(MONDAY)
      .execute(...ids.map(makeRequestCommand));
    expect([...replayEvents(full.events).requests.keys()]).toEqual(ids);
    const overfull = full.at(MONDAY).execute(makeRequestCommand("one more"));
    expect([...replayEvents(overfull.events).requests.keys()]).toEqual([
      ...ids.slice(1),
      "one more",
    ]);
    const answering = (id: string) => ({ ...install(1), answers: answerTo(id) });
    full.at(MONDAY).when(answering("r0")).records({ type: "LicenseInstalled", request: "r0" });
    overfull.at(MONDAY).when(answering("r0")).refuses({ code: "request_unknown" });
    overfull.at(MONDAY).when(answering("r1")).records({ type: "LicenseInstalled", request: "r1" });
  });

  test("leaves its audit log head in the state, for the last 64 requests", () => {
    const ids = Array.from({ length: limits.requestHeads + 3 }, (_, index) => `r${index}`);
    const { requestHeads } = replayEvents(
      given()
        .at(MONDAY)
        .execute(...ids.map(makeRequestCommand)).events,
    );
    expect(requestHeads.map(({ request }) => request)).toEqual(ids.slice(3));
  });

  test("can be answered for 400 days, to the millisecond", () => {
    const end = later(MONDAY, limits.requestAge);
    expect(end - MONDAY).toBe(400 * DAY);
    const answer = { ...install(1), answers: answerTo("r") };
    withRequest
      .at(justBefore(end))
      .when(answer)
      .records({ type: "LicenseInstalled", request: "r" });
    withRequest.at(end).when(answer).refuses({ code: "request_unknown" });
    const next = withRequest.at(end).execute(makeRequestCommand("next"));
    expect([...replayEvents(next.events).requests.keys()]).toEqual(["next"]);
  });
});
