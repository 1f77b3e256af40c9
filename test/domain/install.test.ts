import { describe, expect, test } from "bun:test";
import type { InstallLicense } from "../../src/domain/command.ts";
import { limits } from "../../src/domain/limits.ts";
import { DAY, later } from "../../src/domain/time.ts";
import {
  answerTo,
  HARDWARE,
  HARDWARE_ID,
  AUDIT_HEAD,
  makeRequestCommand,
  requestIdFor,
  makeOpenRequest,
  VENDOR,
} from "../support/new-site.ts";
import {
  justBefore,
  borrow,
  consume,
  consumptionTerms,
  given,
  hoursLater,
  install,
  licenseInstalled,
  minutesLater,
  MONDAY,
  register,
  remove,
  renew,
  replayEvents,
} from "../support/scenario.ts";

const OTHER = { ...VENDOR, vendor: "VENDOR0000000002", products: ["other"] };
const otherTrusted = given({ type: "VendorTrusted", at: MONDAY, vendor: OTHER, peer: "10.0.0.1" });

/** An answer that is not quite the right one. */
const about = (
  command: InstallLicense,
  grant: Partial<InstallLicense["grant"]>,
): InstallLicense => ({
  ...command,
  grant: { ...command.grant, ...grant },
});

describe("a request", () => {
  const asked = given().at(MONDAY).execute(makeRequestCommand("r"));

  test("is open from when it was made, with where the record stood before it", () => {
    given()
      .at(MONDAY)
      .when(makeRequestCommand("r"))
      .records({ type: "RequestMade", at: MONDAY, request: makeOpenRequest("r"), head: AUDIT_HEAD })
      .answers(makeOpenRequest("r"));
    const { requests, requestHeads } = replayEvents(asked.events);
    expect(requests.get("r")).toEqual(makeOpenRequest("r"));
    expect(requestHeads).toEqual([{ request: "r", ...AUDIT_HEAD }]);
  });

  test("is one of 64 at most; the oldest is let go, and an answer to it comes too late", () => {
    const ids = Array.from({ length: limits.openRequests }, (_, place) => `r${place}`);
    const full = given()
      .at(MONDAY)
      .execute(...ids.map(makeRequestCommand));
    expect([...replayEvents(full.events).requests.keys()]).toEqual(ids);
    const over = full.at(MONDAY).execute(makeRequestCommand("one more"));
    expect([...replayEvents(over.events).requests.keys()]).toEqual([...ids.slice(1), "one more"]);
    const answering = (id: string) => ({ ...install(1), answers: answerTo(id) });
    full.at(MONDAY).when(answering("r0")).records({ type: "LicenseInstalled", request: "r0" });
    over.at(MONDAY).when(answering("r0")).refuses({ code: "request_unknown" });
    over.at(MONDAY).when(answering("r1")).records({ type: "LicenseInstalled", request: "r1" });
  });

  test("leaves where the record stood behind, for the last 64", () => {
    const ids = Array.from({ length: limits.requestHeads + 3 }, (_, place) => `r${place}`);
    const { requestHeads } = replayEvents(
      given()
        .at(MONDAY)
        .execute(...ids.map(makeRequestCommand)).events,
    );
    expect(requestHeads.map(({ request }) => request)).toEqual(ids.slice(3));
  });

  test("may be answered for 400 days, to the millisecond", () => {
    const end = later(MONDAY, limits.requestAge);
    expect(end - MONDAY).toBe(400 * DAY);
    const answer = { ...install(1), answers: answerTo("r") };
    asked.at(justBefore(end)).when(answer).records({ type: "LicenseInstalled", request: "r" });
    asked.at(end).when(answer).refuses({ code: "request_unknown" });
    const next = asked.at(end).execute(makeRequestCommand("next"));
    expect([...replayEvents(next.events).requests.keys()]).toEqual(["next"]);
  });
});

describe("a license that comes in", () => {
  test("uses its request up, and keeps the hardware that the request had frozen", () => {
    const history = given().at(MONDAY).execute(install(1));
    given()
      .at(MONDAY)
      .when(install(1))
      .records({ type: "LicenseInstalled", license: 1, request: requestIdFor(1), activation: null })
      .answers({ license: 1, replacedTerms: null });
    const state = replayEvents(history.events);
    expect(state.requests.has(requestIdFor(1))).toBe(false);
    expect(state.answeredRequests.get(requestIdFor(1))).toBe(1);
    expect(state.licenses.get(1)?.grant.hardware).toEqual(HARDWARE);
  });

  test("again, as the very same file, changes nothing", () => {
    const history = given().at(MONDAY).execute(install(1));
    history
      .at(hoursLater(1))
      .when(install(1))
      .records()
      .answers({ license: 1, replacedTerms: null });
  });

  test("needs a request of ours, with the nonce that went out with it", () => {
    const wrong = [answerTo("never made"), { request: requestIdFor(1), nonce: "another" }];
    for (const answers of wrong) {
      given()
        .at(MONDAY)
        .when({ ...install(1), answers })
        .refuses({ code: "request_unknown" });
    }
    given().at(MONDAY).when(renew(1, 2)).refuses({ code: "request_unknown" });
  });

  test("cannot have a request that another license has used up", () => {
    const history = given().at(MONDAY).execute(install(1));
    const second = { ...install(2), answers: answerTo(requestIdFor(1)) };
    history.at(MONDAY).when(second).refuses({ code: "request_used" });
    const renewal = { ...renew(1, 3), answers: answerTo(requestIdFor(1)) };
    history.at(MONDAY).when(renewal).refuses({ code: "request_used" });
  });

  test("is for the hardware of its request and no other", () => {
    const elsewhere = about(install(1), { hardwareId: "00".repeat(32) });
    given().at(MONDAY).when(elsewhere).refuses({ code: "hardware_mismatch" });
    expect(install(1).grant.hardwareId).toBe(HARDWARE_ID);
  });

  test("is only what a trusted vendor may license", () => {
    const unknown = about(install(1), { vendor: "VENDOR0000000009" });
    given().at(MONDAY).when(unknown).refuses({ code: "untrusted_vendor" });
    const others = about(install(1, { product: "cad" }), { vendor: OTHER.vendor });
    otherTrusted.at(MONDAY).when(others).refuses({ code: "untrusted_vendor" });
    otherTrusted
      .at(MONDAY)
      .when(about(install(1, { product: "other" }), { vendor: OTHER.vendor }))
      .records({ type: "LicenseInstalled" });
    given()
      .at(MONDAY)
      .when(install(1, { product: "nobody's" }))
      .refuses({ code: "untrusted_vendor" });
  });

  test("cannot take an id that is another vendor's", () => {
    const history = otherTrusted.at(MONDAY).execute(install(1));
    const clash = about(renew(1, 9, { product: "other" }), { vendor: OTHER.vendor });
    history.at(MONDAY).when(clash).refuses({ code: "untrusted_vendor" });
  });
});

describe("a renewal", () => {
  const history = given(licenseInstalled(1)).at(MONDAY).execute(renew(1, 5));

  test("that nobody asked for is taken for a newer serial, and keeps what the license hangs on", () => {
    history
      .at(hoursLater(1))
      .when(renew(1, 6, { slots: 9 }))
      .records({ type: "LicenseInstalled", license: 1, request: null });
    const state = replayEvents(history.at(hoursLater(1)).execute(renew(1, 6, { slots: 9 })).events);
    expect(state.licenses.get(1)?.grant).toMatchObject({ serial: 6, hardware: HARDWARE });
    expect(state.licenses.get(1)?.terms.slots).toBe(9);
    expect(state.requests.has(requestIdFor(1))).toBe(true);
  });

  test("of an older serial, or the same with other content, is stale", () => {
    const stale = { code: "stale_license", serial: 5 } as const;
    history.at(hoursLater(1)).when(renew(1, 4)).refuses(stale);
    history
      .at(hoursLater(1))
      .when(renew(1, 5, { slots: 9 }))
      .refuses(stale);
    history.at(hoursLater(1)).when(renew(1, 5)).records();
    history
      .at(hoursLater(1))
      .when({ ...renew(1, 4), answers: answerTo(requestIdFor(1)) })
      .refuses(stale);
  });

  test("is for the same hardware, unless a request brought other", () => {
    const moved = { hardwareId: "11".repeat(32), hardware: HARDWARE.slice(0, 1) };
    const elsewhere = about(renew(1, 6), { hardwareId: moved.hardwareId });
    history.at(MONDAY).when(elsewhere).refuses({ code: "hardware_mismatch" });
    const { request, ...made } = makeRequestCommand("moved");
    const asked = history.at(MONDAY).execute({ ...made, request: { ...request, ...moved } });
    const answer = { ...elsewhere, answers: answerTo("moved") };
    asked.at(MONDAY).when(answer).records({ type: "LicenseInstalled", request: "moved" });
    const { licenses } = replayEvents(asked.at(MONDAY).execute(answer).events);
    expect(licenses.get(1)?.grant.hardware).toEqual(moved.hardware);
  });
});

describe("answered requests", () => {
  test("are remembered up to a thousand, so that a file used twice is told as such", () => {
    const all = Array.from({ length: limits.answeredRequests + 1 }, (_, place) => ({
      ...licenseInstalled(1),
      request: `r${place}`,
    }));
    const { answeredRequests } = replayEvents(all);
    expect(answeredRequests.size).toBe(limits.answeredRequests);
    expect([answeredRequests.has("r0"), answeredRequests.has("r1")]).toEqual([false, true]);
  });
});

describe("a license given back", () => {
  const used = given(
    licenseInstalled(1, { consumption: consumptionTerms(), slots: 3 }),
    licenseInstalled(2),
  )
    .at(MONDAY)
    .execute(consume(4, { licenseId: 1 }), borrow("ada", hoursLater(8), { licenseId: 1 }));
  const tombstone = { license: 1, serial: 1, vendor: VENDOR.vendor, product: "cad", total: 4 };

  test("is gone, with what it had counted on record", () => {
    const late = used.at(hoursLater(8));
    late
      .when(remove(1))
      .records({ type: "LicenseRemoved", license: 1 })
      .answers({ ...tombstone, at: hoursLater(8), borrows: [] });
    const state = replayEvents(late.execute(remove(1)).events);
    expect([...state.licenses.keys()]).toEqual([2]);
    expect(state.products.get("cad")?.map(({ id }) => id)).toEqual([2]);
  });

  test("stays while slots of it are borrowed, unless those go with it by name", () => {
    used.at(minutesLater(1)).when(remove(1)).refuses({ code: "slots_borrowed", slots: 1 });
    used
      .at(justBefore(hoursLater(8)))
      .when(remove(1))
      .refuses({ code: "slots_borrowed", slots: 1 });
    used
      .at(minutesLater(1))
      .when(remove(1, true))
      .answers({ ...tombstone, borrows: ["ada"] });
  });

  test("does not wait for those who are registered only", () => {
    given(licenseInstalled(1))
      .at(MONDAY)
      .execute(register("ada"))
      .at(MONDAY)
      .when(remove(1))
      .answers({
        borrows: [],
      });
  });

  test("is the same tombstone when asked again, and writes nothing", () => {
    const gone = used.at(minutesLater(1)).execute(remove(1, true));
    const first = replayEvents(gone.events).tombstones.get(1);
    expect(first).toMatchObject({ at: minutesLater(1), borrows: ["ada"] });
    gone
      .at(hoursLater(9))
      .when(remove(1))
      .records()
      .answers({ ...first });
  });

  test("that was never here is not found", () => {
    used.at(MONDAY).when(remove(3)).refuses({ code: "license_not_found" });
  });

  test("never comes back with a serial that was here, only with a newer one", () => {
    const gone = given(licenseInstalled(1)).at(MONDAY).execute(renew(1, 5), remove(1));
    const asked = gone.at(MONDAY).execute(makeRequestCommand("anew"));
    const again = (serial: number) => ({ ...renew(1, serial), answers: answerTo("anew") });
    const late = { ...renew(1, 6), answers: answerTo(requestIdFor(1)) };
    gone.at(MONDAY).when(late).refuses({ code: "request_unknown" });
    const givenBack = { license: 1, at: MONDAY };
    gone
      .at(MONDAY)
      .when(again(5))
      .refuses({ code: "stale_license", serial: 5, returned: givenBack });
    gone
      .at(MONDAY)
      .when(again(4))
      .refuses({ code: "stale_license", serial: 5, returned: givenBack });
    gone.at(MONDAY).when(renew(1, 6)).refuses({ code: "request_unknown", returned: givenBack });
    gone.at(MONDAY).when(renew(2, 6)).refuses({ code: "request_unknown" });
    asked.at(MONDAY).when(again(6)).records({ type: "LicenseInstalled", license: 1 });
    const { licenses } = replayEvents(asked.at(MONDAY).execute(again(6)).events);
    expect(licenses.get(1)?.counter.total).toBe(0);
  });

  test("the last of its product takes the product with it", () => {
    const gone = given(licenseInstalled(1)).at(MONDAY).execute(remove(1));
    gone.at(MONDAY).when(register("ada")).refuses({ code: "license_not_found" });
  });
});
