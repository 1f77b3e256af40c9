import { describe, expect, test } from "bun:test";
import type { InstallLicense } from "../../src/domain/command.ts";
import { limits } from "../../src/domain/limits.ts";
import { DAY, later } from "../../src/domain/time.ts";
import {
  answerTo,
  HARDWARE,
  HARDWARE_ID,
  HEAD,
  makeRequest,
  requestFor,
  requestOf,
  VENDOR,
} from "../support/new-site.ts";
import {
  before,
  borrow,
  consume,
  counting,
  given,
  hours,
  install,
  installed,
  minutes,
  MONDAY,
  register,
  remove,
  renew,
  replayed,
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
  const asked = given().at(MONDAY).did(makeRequest("r"));

  test("is open from when it was made, with where the record stood before it", () => {
    given()
      .at(MONDAY)
      .when(makeRequest("r"))
      .records({ type: "RequestMade", at: MONDAY, request: requestOf("r"), head: HEAD })
      .answers(requestOf("r"));
    const { requests, requestHeads: heads } = replayed(asked.events);
    expect(requests.get("r")).toEqual(requestOf("r"));
    expect(heads).toEqual([{ request: "r", ...HEAD }]);
  });

  test("is one of 64 at most; the oldest is let go, and an answer to it comes too late", () => {
    const ids = Array.from({ length: limits.openRequests }, (_, place) => `r${place}`);
    const full = given()
      .at(MONDAY)
      .did(...ids.map(makeRequest));
    expect([...replayed(full.events).requests.keys()]).toEqual(ids);
    const over = full.at(MONDAY).did(makeRequest("one more"));
    expect([...replayed(over.events).requests.keys()]).toEqual([...ids.slice(1), "one more"]);
    const answering = (id: string) => ({ ...install(1), answers: answerTo(id) });
    full.at(MONDAY).when(answering("r0")).records({ type: "LicenseInstalled", request: "r0" });
    over.at(MONDAY).when(answering("r0")).refuses({ code: "request_unknown" });
    over.at(MONDAY).when(answering("r1")).records({ type: "LicenseInstalled", request: "r1" });
  });

  test("leaves where the record stood behind, for the last 64", () => {
    const ids = Array.from({ length: limits.requestHeads + 3 }, (_, place) => `r${place}`);
    const { requestHeads: heads } = replayed(
      given()
        .at(MONDAY)
        .did(...ids.map(makeRequest)).events,
    );
    expect(heads.map(({ request }) => request)).toEqual(ids.slice(3));
  });

  test("may be answered for 400 days, to the millisecond", () => {
    const end = later(MONDAY, limits.requestAge);
    expect(end - MONDAY).toBe(400 * DAY);
    const answer = { ...install(1), answers: answerTo("r") };
    asked.at(before(end)).when(answer).records({ type: "LicenseInstalled", request: "r" });
    asked.at(end).when(answer).refuses({ code: "request_unknown" });
    const next = asked.at(end).did(makeRequest("next"));
    expect([...replayed(next.events).requests.keys()]).toEqual(["next"]);
  });
});

describe("a license that comes in", () => {
  test("uses its request up, and keeps the hardware that the request had frozen", () => {
    const history = given().at(MONDAY).did(install(1));
    given()
      .at(MONDAY)
      .when(install(1))
      .records({ type: "LicenseInstalled", license: 1, request: requestFor(1), activation: null })
      .answers({ license: 1, replacedTerms: null });
    const state = replayed(history.events);
    expect(state.requests.has(requestFor(1))).toBe(false);
    expect(state.answeredRequests.get(requestFor(1))).toBe(1);
    expect(state.licenses.get(1)?.grant.hardware).toEqual(HARDWARE);
  });

  test("again, as the very same file, changes nothing", () => {
    const history = given().at(MONDAY).did(install(1));
    history.at(hours(1)).when(install(1)).records().answers({ license: 1, replacedTerms: null });
  });

  test("needs a request of ours, with the nonce that went out with it", () => {
    const wrong = [answerTo("never made"), { request: requestFor(1), nonce: "another" }];
    for (const answers of wrong) {
      given()
        .at(MONDAY)
        .when({ ...install(1), answers })
        .refuses({ code: "request_unknown" });
    }
    given().at(MONDAY).when(renew(1, 2)).refuses({ code: "request_unknown" });
  });

  test("cannot have a request that another license has used up", () => {
    const history = given().at(MONDAY).did(install(1));
    const second = { ...install(2), answers: answerTo(requestFor(1)) };
    history.at(MONDAY).when(second).refuses({ code: "request_used" });
    const renewal = { ...renew(1, 3), answers: answerTo(requestFor(1)) };
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
    const history = otherTrusted.at(MONDAY).did(install(1));
    const clash = about(renew(1, 9, { product: "other" }), { vendor: OTHER.vendor });
    history.at(MONDAY).when(clash).refuses({ code: "untrusted_vendor" });
  });
});

describe("a renewal", () => {
  const history = given(installed(1)).at(MONDAY).did(renew(1, 5));

  test("that nobody asked for is taken for a newer serial, and keeps what the license hangs on", () => {
    history
      .at(hours(1))
      .when(renew(1, 6, { slots: 9 }))
      .records({ type: "LicenseInstalled", license: 1, request: null });
    const state = replayed(history.at(hours(1)).did(renew(1, 6, { slots: 9 })).events);
    expect(state.licenses.get(1)?.grant).toMatchObject({ serial: 6, hardware: HARDWARE });
    expect(state.licenses.get(1)?.terms.slots).toBe(9);
    expect(state.requests.has(requestFor(1))).toBe(true);
  });

  test("of an older serial, or the same with other content, is stale", () => {
    const stale = { code: "stale_license", serial: 5 } as const;
    history.at(hours(1)).when(renew(1, 4)).refuses(stale);
    history
      .at(hours(1))
      .when(renew(1, 5, { slots: 9 }))
      .refuses(stale);
    history.at(hours(1)).when(renew(1, 5)).records();
    history
      .at(hours(1))
      .when({ ...renew(1, 4), answers: answerTo(requestFor(1)) })
      .refuses(stale);
  });

  test("is for the same hardware, unless a request brought other", () => {
    const moved = { hardwareId: "11".repeat(32), hardware: HARDWARE.slice(0, 1) };
    const elsewhere = about(renew(1, 6), { hardwareId: moved.hardwareId });
    history.at(MONDAY).when(elsewhere).refuses({ code: "hardware_mismatch" });
    const { request, ...made } = makeRequest("moved");
    const asked = history.at(MONDAY).did({ ...made, request: { ...request, ...moved } });
    const answer = { ...elsewhere, answers: answerTo("moved") };
    asked.at(MONDAY).when(answer).records({ type: "LicenseInstalled", request: "moved" });
    const { licenses } = replayed(asked.at(MONDAY).did(answer).events);
    expect(licenses.get(1)?.grant.hardware).toEqual(moved.hardware);
  });
});

describe("answered requests", () => {
  test("are remembered up to a thousand, so that a file used twice is told as such", () => {
    const all = Array.from({ length: limits.answeredRequests + 1 }, (_, place) => ({
      ...installed(1),
      request: `r${place}`,
    }));
    const { answeredRequests: answered } = replayed(all);
    expect(answered.size).toBe(limits.answeredRequests);
    expect([answered.has("r0"), answered.has("r1")]).toEqual([false, true]);
  });
});

describe("a license given back", () => {
  const used = given(installed(1, { consumption: counting(), slots: 3 }), installed(2))
    .at(MONDAY)
    .did(consume(4, { licenseId: 1 }), borrow("ada", hours(8), { licenseId: 1 }));
  const tombstone = { license: 1, serial: 1, vendor: VENDOR.vendor, product: "cad", total: 4 };

  test("is gone, with what it had counted on record", () => {
    const late = used.at(hours(8));
    late
      .when(remove(1))
      .records({ type: "LicenseRemoved", license: 1 })
      .answers({ ...tombstone, at: hours(8), borrows: [] });
    const state = replayed(late.did(remove(1)).events);
    expect([...state.licenses.keys()]).toEqual([2]);
    expect(state.products.get("cad")?.map(({ id }) => id)).toEqual([2]);
  });

  test("stays while slots of it are borrowed, unless those go with it by name", () => {
    used.at(minutes(1)).when(remove(1)).refuses({ code: "slots_borrowed", slots: 1 });
    used
      .at(before(hours(8)))
      .when(remove(1))
      .refuses({ code: "slots_borrowed", slots: 1 });
    used
      .at(minutes(1))
      .when(remove(1, true))
      .answers({ ...tombstone, borrows: ["ada"] });
  });

  test("does not wait for those who are registered only", () => {
    given(installed(1)).at(MONDAY).did(register("ada")).at(MONDAY).when(remove(1)).answers({
      borrows: [],
    });
  });

  test("is the same tombstone when asked again, and writes nothing", () => {
    const gone = used.at(minutes(1)).did(remove(1, true));
    const first = replayed(gone.events).tombstones.get(1);
    expect(first).toMatchObject({ at: minutes(1), borrows: ["ada"] });
    gone
      .at(hours(9))
      .when(remove(1))
      .records()
      .answers({ ...first });
  });

  test("that was never here is not found", () => {
    used.at(MONDAY).when(remove(3)).refuses({ code: "license_not_found" });
  });

  test("never comes back with a serial that was here, only with a newer one", () => {
    const gone = given(installed(1)).at(MONDAY).did(renew(1, 5), remove(1));
    const asked = gone.at(MONDAY).did(makeRequest("anew"));
    const again = (serial: number) => ({ ...renew(1, serial), answers: answerTo("anew") });
    const late = { ...renew(1, 6), answers: answerTo(requestFor(1)) };
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
    const { licenses } = replayed(asked.at(MONDAY).did(again(6)).events);
    expect(licenses.get(1)?.counter.total).toBe(0);
  });

  test("the last of its product takes the product with it", () => {
    const gone = given(installed(1)).at(MONDAY).did(remove(1));
    gone.at(MONDAY).when(register("ada")).refuses({ code: "license_not_found" });
  });
});
