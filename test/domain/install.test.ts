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

/** The same installation with other fields in its grant. */
const withGrant = (
  command: InstallLicense,
  grant: Partial<InstallLicense["grant"]>,
): InstallLicense => ({
  ...command,
  grant: { ...command.grant, ...grant },
});

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

describe("installing a license", () => {
  test("uses up its request, and keeps the hardware of the request", () => {
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

  test("again from the same file changes nothing", () => {
    const history = given().at(MONDAY).execute(install(1));
    history
      .at(hoursLater(1))
      .when(install(1))
      .records()
      .answers({ license: 1, replacedTerms: null });
  });

  test("is refused without a request of this appliance with the same nonce", () => {
    const wrongAnswers = [answerTo("never made"), { request: requestIdFor(1), nonce: "another" }];
    for (const answers of wrongAnswers) {
      given()
        .at(MONDAY)
        .when({ ...install(1), answers })
        .refuses({ code: "request_unknown" });
    }
    given().at(MONDAY).when(renew(1, 2)).refuses({ code: "request_unknown" });
  });

  test("is refused when another license has used up its request", () => {
    const history = given().at(MONDAY).execute(install(1));
    const second = { ...install(2), answers: answerTo(requestIdFor(1)) };
    history.at(MONDAY).when(second).refuses({ code: "request_used" });
    const renewal = { ...renew(1, 3), answers: answerTo(requestIdFor(1)) };
    history.at(MONDAY).when(renewal).refuses({ code: "request_used" });
  });

  test("is refused for other hardware than that of its request", () => {
    const otherHardware = withGrant(install(1), { hardwareId: "00".repeat(32) });
    given().at(MONDAY).when(otherHardware).refuses({ code: "hardware_mismatch" });
    expect(install(1).grant.hardwareId).toBe(HARDWARE_ID);
  });

  test("is refused unless a trusted vendor may license the product", () => {
    const unknown = withGrant(install(1), { vendor: "VENDOR0000000009" });
    given().at(MONDAY).when(unknown).refuses({ code: "untrusted_vendor" });
    const otherVendorsLicense = withGrant(install(1, { product: "cad" }), { vendor: OTHER.vendor });
    otherTrusted.at(MONDAY).when(otherVendorsLicense).refuses({ code: "untrusted_vendor" });
    otherTrusted
      .at(MONDAY)
      .when(withGrant(install(1, { product: "other" }), { vendor: OTHER.vendor }))
      .records({ type: "LicenseInstalled" });
    given()
      .at(MONDAY)
      .when(install(1, { product: "unlicensed" }))
      .refuses({ code: "untrusted_vendor" });
  });

  test("is refused when another vendor's license has the same id", () => {
    const history = otherTrusted.at(MONDAY).execute(install(1));
    const clash = withGrant(renew(1, 9, { product: "other" }), { vendor: OTHER.vendor });
    history.at(MONDAY).when(clash).refuses({ code: "untrusted_vendor" });
  });
});

describe("renewing a license", () => {
  const history = given(licenseInstalled(1)).at(MONDAY).execute(renew(1, 5));

  test("without a request works for a newer serial, and keeps hardware and open requests", () => {
    history
      .at(hoursLater(1))
      .when(renew(1, 6, { slots: 9 }))
      .records({ type: "LicenseInstalled", license: 1, request: null });
    const state = replayEvents(history.at(hoursLater(1)).execute(renew(1, 6, { slots: 9 })).events);
    expect(state.licenses.get(1)?.grant).toMatchObject({ serial: 6, hardware: HARDWARE });
    expect(state.licenses.get(1)?.terms.slots).toBe(9);
    expect(state.requests.has(requestIdFor(1))).toBe(true);
  });

  test("is refused as stale for an older serial, or the same with other content", () => {
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

  test("is refused for other hardware, unless it answers a request from that hardware", () => {
    const moved = { hardwareId: "11".repeat(32), hardware: HARDWARE.slice(0, 1) };
    const otherHardware = withGrant(renew(1, 6), { hardwareId: moved.hardwareId });
    history.at(MONDAY).when(otherHardware).refuses({ code: "hardware_mismatch" });
    const { request, ...made } = makeRequestCommand("moved");
    const withRequest = history.at(MONDAY).execute({ ...made, request: { ...request, ...moved } });
    const answer = { ...otherHardware, answers: answerTo("moved") };
    withRequest.at(MONDAY).when(answer).records({ type: "LicenseInstalled", request: "moved" });
    const { licenses } = replayEvents(withRequest.at(MONDAY).execute(answer).events);
    expect(licenses.get(1)?.grant.hardware).toEqual(moved.hardware);
  });
});

describe("answered requests", () => {
  test("are remembered up to 1,000, so that a file used twice is recognized", () => {
    const all = Array.from({ length: limits.answeredRequests + 1 }, (_, index) => ({
      ...licenseInstalled(1),
      request: `r${index}`,
    }));
    const { answeredRequests } = replayEvents(all);
    expect(answeredRequests.size).toBe(limits.answeredRequests);
    expect([answeredRequests.has("r0"), answeredRequests.has("r1")]).toEqual([false, true]);
  });
});

describe("returning a license", () => {
  const inUse = given(
    licenseInstalled(1, { consumption: consumptionTerms(), slots: 3 }),
    licenseInstalled(2),
  )
    .at(MONDAY)
    .execute(consume(4, { licenseId: 1 }), borrow("ada", hoursLater(8), { licenseId: 1 }));
  const tombstone = { license: 1, serial: 1, vendor: VENDOR.vendor, product: "cad", total: 4 };

  test("removes it and keeps its total in a tombstone", () => {
    const afterBorrow = inUse.at(hoursLater(8));
    afterBorrow
      .when(remove(1))
      .records({ type: "LicenseRemoved", license: 1 })
      .answers({ ...tombstone, at: hoursLater(8), borrows: [] });
    const state = replayEvents(afterBorrow.execute(remove(1)).events);
    expect([...state.licenses.keys()]).toEqual([2]);
    expect(state.products.get("cad")?.map(({ id }) => id)).toEqual([2]);
  });

  test("is refused while its slots are borrowed, unless the borrows are included", () => {
    inUse.at(minutesLater(1)).when(remove(1)).refuses({ code: "slots_borrowed", slots: 1 });
    inUse
      .at(justBefore(hoursLater(8)))
      .when(remove(1))
      .refuses({ code: "slots_borrowed", slots: 1 });
    inUse
      .at(minutesLater(1))
      .when(remove(1, true))
      .answers({ ...tombstone, borrows: ["ada"] });
  });

  test("is not blocked by registrations without a borrow", () => {
    given(licenseInstalled(1))
      .at(MONDAY)
      .execute(register("ada"))
      .at(MONDAY)
      .when(remove(1))
      .answers({
        borrows: [],
      });
  });

  test("again answers with the same tombstone and writes nothing", () => {
    const removed = inUse.at(minutesLater(1)).execute(remove(1, true));
    const tombstoneBefore = replayEvents(removed.events).tombstones.get(1);
    expect(tombstoneBefore).toMatchObject({ at: minutesLater(1), borrows: ["ada"] });
    removed
      .at(hoursLater(9))
      .when(remove(1))
      .records()
      .answers({ ...tombstoneBefore });
  });

  test("is refused for a license that was never installed", () => {
    inUse.at(MONDAY).when(remove(3)).refuses({ code: "license_not_found" });
  });

  test("prevents its installation with an old serial, and allows a newer one", () => {
    const removed = given(licenseInstalled(1)).at(MONDAY).execute(renew(1, 5), remove(1));
    const withRequest = removed.at(MONDAY).execute(makeRequestCommand("anew"));
    const answerWithSerial = (serial: number) => ({
      ...renew(1, serial),
      answers: answerTo("anew"),
    });
    const lateAnswer = { ...renew(1, 6), answers: answerTo(requestIdFor(1)) };
    removed.at(MONDAY).when(lateAnswer).refuses({ code: "request_unknown" });
    const returned = { license: 1, at: MONDAY };
    removed
      .at(MONDAY)
      .when(answerWithSerial(5))
      .refuses({ code: "stale_license", serial: 5, returned });
    removed
      .at(MONDAY)
      .when(answerWithSerial(4))
      .refuses({ code: "stale_license", serial: 5, returned });
    removed.at(MONDAY).when(renew(1, 6)).refuses({ code: "request_unknown", returned });
    removed.at(MONDAY).when(renew(2, 6)).refuses({ code: "request_unknown" });
    withRequest
      .at(MONDAY)
      .when(answerWithSerial(6))
      .records({ type: "LicenseInstalled", license: 1 });
    const { licenses } = replayEvents(withRequest.at(MONDAY).execute(answerWithSerial(6)).events);
    expect(licenses.get(1)?.counter.total).toBe(0);
  });

  test("removes its product when it was the last license of that product", () => {
    const removed = given(licenseInstalled(1)).at(MONDAY).execute(remove(1));
    removed.at(MONDAY).when(register("ada")).refuses({ code: "license_not_found" });
  });
});
