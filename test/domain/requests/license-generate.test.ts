import { describe, expect, test } from "bun:test";
import { limits } from "../../../src/domain/model/limits.ts";
import { findReportedHeads } from "../../../src/domain/requests/open-requests.ts";
import type { State } from "../../../src/domain/model/state.ts";
import { DAY, later } from "../../../src/domain/time.ts";
import {
  answerTo,
  AUDIT_HEAD,
  makeRequestCommand,
  makeOpenRequest,
  VENDOR,
} from "../../support/new-site.ts";
import {
  consume,
  consumptionTerms,
  given,
  install,
  justBefore,
  licenseInstalled,
  MONDAY,
  remove,
  replayEvents,
} from "../../support/scenario.ts";

describe("a request", () => {
  const { vendor, version, sum } = VENDOR;
  const trust = [{ vendor, version, sum }];
  const report = { createdAt: MONDAY, licenses: [], trust, restores: [] };
  const openRequest = { ...makeOpenRequest("r"), report };
  const withRequest = given().at(MONDAY).execute(makeRequestCommand("r"));

  test("is open as soon as it is made, and keeps the head of the audit log before it", () => {
    given()
      .at(MONDAY)
      .when(makeRequestCommand("r"))
      .records({ type: "RequestMade", at: MONDAY, request: openRequest, head: AUDIT_HEAD })
      .answers(openRequest);
    const { requests, requestHeads } = replayEvents(withRequest.events);
    expect(requests.get("r")).toEqual(openRequest);
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

  test("reports licenses sorted by id, in whatever order they were installed", () => {
    const reported = (...ids: number[]): number[] | undefined =>
      replayEvents(
        given()
          .at(MONDAY)
          .execute(...ids.map((id) => install(id)), makeRequestCommand("r")).events,
      )
        .requests.get("r")
        ?.report?.licenses.map(({ license }) => license);
    expect(reported(3, 1, 2)).toEqual([1, 2, 3]);
  });

  test("leaves its audit log head in the state, for the last 128 requests", () => {
    const ids = Array.from({ length: limits.keptRequestHeads + 3 }, (_, index) => `r${index}`);
    const { requestHeads } = replayEvents(
      given()
        .at(MONDAY)
        .execute(...ids.map(makeRequestCommand)).events,
    );
    expect(requestHeads.map(({ request }) => request)).toEqual(ids.slice(3));
  });

  test("keeps what the site asks for, and what it reports of the installed licenses", () => {
    const wants = { slots: 10, until: "2027-12-31", note: "two more people" };
    const command = makeRequestCommand("r");
    const history = given(licenseInstalled(1, { consumption: consumptionTerms() }))
      .at(MONDAY)
      .execute(consume(4), { ...command, request: { ...command.request, wants } });
    const afterReturn = history.at(later(MONDAY, DAY)).execute(remove(1));
    expect(replayEvents(history.events).requests.get("r")).toMatchObject({
      wants,
      report: { licenses: [{ license: 1, product: "cad", serial: 1, total: 4 }] },
    });
    // Returning the license closes the requests that name no product.
    expect(replayEvents(afterReturn.events).requests.has("r")).toBe(false);
  });

  test("reports 64 heads that end with its own, whatever was requested since", () => {
    const ids = Array.from({ length: 130 }, (_, index) => `r${index}`);
    const state = replayEvents(
      given()
        .at(MONDAY)
        .execute(...ids.map(makeRequestCommand)).events,
    );
    const [oldest = ""] = state.requests.keys();
    expect(oldest).toBe("r66");
    const heads = findReportedHeads(state, oldest)?.map(({ request }) => request);
    expect(heads).toEqual(ids.slice(3, 67));
  });

  test("cannot be shown again after its heads were dropped, but can until then", () => {
    const created = (count: number) =>
      replayEvents(
        given()
          .at(MONDAY)
          .execute(...Array.from({ length: count }, (_, index) => makeRequestCommand(`r${index}`)))
          .events,
      );
    const headsOf = (state: State, request: string) => findReportedHeads(state, request)?.length;
    expect(headsOf(created(127), "r0")).toBe(1);
    expect(headsOf(created(128), "r62")).toBeUndefined();
    expect(headsOf(created(128), "r63")).toBe(64);
    expect(headsOf(created(129), "r0")).toBeUndefined();
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
