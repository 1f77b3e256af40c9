import { describe, expect, test } from "bun:test";
import type { LicenseUpload } from "../../../src/domain/requests/license-upload.ts";
import { limits } from "../../../src/domain/model/limits.ts";
import {
  answerTo,
  HARDWARE,
  HARDWARE_ID,
  makeRequestCommand,
  requestIdFor,
  VENDOR,
} from "../../support/new-site.ts";
import {
  given,
  hoursLater,
  install,
  licenseInstalled,
  MONDAY,
  renew,
  replayEvents,
} from "../../support/scenario.ts";

const OTHER = { ...VENDOR, vendor: "VENDOR0000000002", products: ["other"] };
const otherTrusted = given({ type: "VendorTrusted", at: MONDAY, vendor: OTHER, peer: "10.0.0.1" });

/** The same installation with other fields in its grant. */
const withGrant = (
  command: LicenseUpload,
  grant: Partial<LicenseUpload["grant"]>,
): LicenseUpload => ({
  ...command,
  grant: { ...command.grant, ...grant },
});

describe("installing a license", () => {
  test("uses up its request, and keeps the hardware of the request", () => {
    const history = given().at(MONDAY).execute(install(1));
    given()
      .at(MONDAY)
      .when(install(1))
      .records({ type: "LicenseInstalled", license: 1, request: requestIdFor(1), activation: null })
      .answers({ license: 1, changes: null });
    const state = replayEvents(history.events);
    expect(state.requests.has(requestIdFor(1))).toBe(false);
    expect(state.answeredRequests.get(requestIdFor(1))).toBe(1);
    expect(state.licenses.get(1)?.grant.hardware).toEqual(HARDWARE);
  });

  test("again from the same file changes nothing", () => {
    const history = given().at(MONDAY).execute(install(1));
    history.at(hoursLater(1)).when(install(1)).records().answers({ license: 1, changes: null });
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
  });

  test("that answers the request of the installed one again is a renewal", () => {
    const history = given().at(MONDAY).execute(install(1));
    const renewal = { ...renew(1, 3), answers: answerTo(requestIdFor(1)) };
    const older = { ...renew(1, 2), answers: answerTo(requestIdFor(1)) };
    const renewed = history.at(MONDAY).execute(renewal);
    renewed.at(MONDAY).when(older).refuses({ code: "stale_license", serial: 3 });
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
    const conflict = { over: "license", license: 1 } as const;
    history.at(MONDAY).when(clash).refuses({ code: "untrusted_vendor", conflict });
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

describe("a license of two hosts", () => {
  const OTHER_ID = "e5".repeat(32);
  const THIRD_ID = "f6".repeat(32);
  const host = (name: string, hardwareId: string) => ({ name, hardwareId, hardware: HARDWARE });
  const HOSTS = [host("alpha", HARDWARE_ID), host("beta", OTHER_ID)];

  /** A pair whose leader has requested a license for so many hosts. */
  const requestedFor = (hosts: 1 | 2) => {
    const admitted = HOSTS.map(
      ({ name, ...hardware }) =>
        ({
          type: "HostAdmitted",
          at: MONDAY,
          log: "log 1",
          host: name,
          ...hardware,
          peer: "10.0.0.1",
        }) as const,
    );
    const leader = { type: "LeaderChanged", at: MONDAY, epoch: 4, host: "alpha" } as const;
    return given(...admitted, { ...leader, hardwareId: HARDWARE_ID })
      .at(MONDAY)
      .execute({ ...makeRequestCommand("for the pair"), hosts });
  };

  const answer = (hostIds: readonly string[], hardwareId = HARDWARE_ID): LicenseUpload => ({
    ...withGrant(install(1), { hostIds, hardwareId }),
    answers: answerTo("for the pair"),
  });

  test("is installed with the hardware of both hosts, in either order", () => {
    for (const ids of [
      [HARDWARE_ID, OTHER_ID],
      [OTHER_ID, HARDWARE_ID],
    ]) {
      const installed = requestedFor(2).at(MONDAY).execute(answer(ids));
      const { grant } = replayEvents(installed.events).licenses.get(1) ?? {};
      expect(grant?.hosts?.map(({ hardwareId }) => hardwareId)).toEqual(ids);
      expect(grant).not.toHaveProperty("hostIds");
    }
  });

  test.each([
    ["a host that the request did not name", [HARDWARE_ID, THIRD_ID]],
    ["one host only", [HARDWARE_ID]],
    ["one host twice", [HARDWARE_ID, HARDWARE_ID]],
    ["three hosts", [HARDWARE_ID, OTHER_ID, THIRD_ID]],
    ["no host", []],
  ])("is refused if it names %s", (_name, ids) => {
    requestedFor(2).at(MONDAY).when(answer(ids)).refuses({ code: "hardware_mismatch" });
  });

  test("is refused if the request was for one host", () => {
    requestedFor(1)
      .at(MONDAY)
      .when(answer([HARDWARE_ID, OTHER_ID]))
      .refuses({ code: "hardware_mismatch" });
  });

  test("is refused as a renewal of a license of one host, or with other hosts", () => {
    const renewal = (hostIds: readonly string[]) => withGrant(renew(1, 3), { hostIds });
    const ids = [HARDWARE_ID, OTHER_ID];
    const one = given(licenseInstalled(1)).at(MONDAY);
    one.when(renewal(ids)).refuses({ code: "hardware_mismatch" });
    const two = requestedFor(2).at(MONDAY).execute(answer(ids)).at(MONDAY);
    two.when(renewal([HARDWARE_ID, THIRD_ID])).refuses({ code: "hardware_mismatch" });
    two.when(renewal(ids)).records({ type: "LicenseInstalled" });
  });

  test("says that its renewal is for one host", () => {
    requestedFor(2)
      .at(MONDAY)
      .execute(answer([HARDWARE_ID, OTHER_ID]))
      .at(MONDAY)
      .when(renew(1, 3))
      .records({ type: "LicenseInstalled", changes: ["hosts 2 → 1"] });
  });
});
