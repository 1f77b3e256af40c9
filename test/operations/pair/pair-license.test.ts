import { describe, expect, test } from "bun:test";
import type { Grant, License } from "../../../src/domain/model/state.ts";
import { checkLicenseHost } from "../../../src/domain/licenses/license-host.ts";
import { HOUR, later } from "../../../src/domain/time.ts";
import { findProofFault } from "../../../src/license/documents/proof.ts";
import { messageOf } from "../../../src/faults/catalog.ts";
import type { AnyFault } from "../../../src/faults/fault-types.ts";
import { METRICS } from "../../../src/operations/metrics/catalogue.ts";
import { Identity } from "../../../src/operations/appliance/identity.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { issueTestLicense } from "../../support/desk-and-site.ts";
import {
  machine,
  openHost,
  openPairOfTwo,
  register,
  requestFrom,
  takeOver,
  type OpenHost,
} from "../../support/licensed-pair.ts";
import { transactOrThrow, unwrap } from "../../support/licensed-store.ts";
import { MONDAY } from "../../support/scenario.ts";
import { copyFolder } from "../../support/temp-folder.ts";

const SLOTS = { slots: 2 };

/** Installs a license for so many hosts on alpha, which leads. */
async function openLicensedPair(hosts: 1 | 2) {
  const pair = await openPairOfTwo();
  const request = await requestFrom(pair.alpha, hosts);
  const issued = await issueTestLicense(pair.desk, request, { hosts, terms: SLOTS });
  unwrap(await pair.alpha.operations.licensing.installLicense(issued.document, "test"));
  return { ...pair, request, issued };
}

type Edit = (grant: Grant) => Grant;

const OTHER_HOST = { name: "gamma", hardwareId: "0".repeat(64), hardware: [] };
const editSecondHost: Edit = (grant) => ({
  ...grant,
  hosts: [...(grant.hosts?.slice(0, 1) ?? []), OTHER_HOST],
});
const addThirdHost: Edit = (grant) => ({ ...grant, hosts: [...(grant.hosts ?? []), OTHER_HOST] });
const removeHosts: Edit = ({ hosts: _hosts, ...grant }) => grant;

/** The metric that says whether the license is valid. */
const validityIn = ({ operations }: OpenHost): unknown =>
  operations.metrics.read().find(({ metric }) => metric === METRICS.licenseValid)?.samples[0]
    ?.value;

const messageFrom = async (host: OpenHost): Promise<string> => {
  const answer = await register(host, "eve");
  return answer.ok ? "granted" : `${answer.fault.code}: ${messageOf(answer.fault)}`;
};

describe("a license of two hosts", () => {
  test("serves on both hosts of the pair, one after the other", async () => {
    const { log, alpha } = await openLicensedPair(2);
    expect((await register(alpha, "ada")).ok).toBe(true);
    expect(validityIn(alpha)).toBe(1);
    const beta = await takeOver(alpha, { log, host: "beta" });
    expect((await register(beta, "bob")).ok).toBe(true);
    // The slots are those of one license: both hosts together grant two.
    expect(await messageFrom(beta)).toStartWith("floating_not_available");
  });

  test("does not serve without the log, but for a while after its host left the pair", async () => {
    const { alpha } = await openLicensedPair(2);
    const alone = await takeOver(alpha, { host: "alpha" });
    expect((await register(alone, "ada")).ok).toBe(false);
    expect(validityIn(alone)).toBe(0);
    await transactOrThrow(alone.store, {
      type: "LeavePair",
      host: "alpha",
      hardware: [],
      isWithoutLog: true,
      peer: "test",
    });
    expect(await messageFrom(alone)).toBe("granted");
    alone.store.peek((state) => {
      const [license] = state.licenses.values();
      if (license === undefined || state.endedPair === null) throw new Error("no license");
      const checkAfter = (hours: number) =>
        checkLicenseHost(state, license, {
          at: later(state.endedPair?.at ?? MONDAY, hours * HOUR),
          isSignedForThisMachine: () => true,
        });
      const { moveGraceHours } = license.terms;
      expect(checkAfter(moveGraceHours - 1)).toBeNull();
      expect(checkAfter(moveGraceHours)).toEqual({ code: "needs_pair" });
    });
  });

  test("does not serve on a third machine, although it has the name of a host", async () => {
    const { log, alpha } = await openLicensedPair(2);
    const [license] = alpha.store.peek(({ licenses }) => [...licenses.values()]);
    if (license === undefined) throw new Error("no license is installed");
    const isFor = (name: string): boolean => {
      const identity = new Identity(realDisk, alpha.folder, machine(name));
      identity.open(alpha.operations.identity.id);
      return identity.matchHardware(license).isMatch;
    };
    expect([isFor("alpha"), isFor("beta"), isFor("gamma")]).toEqual([true, true, false]);
    // A host with other hardware than the pair has under its name does not even have to start.
    const served = takeOver(alpha, { log, host: "beta", machine: "gamma" }).then(messageFrom);
    expect(await served.catch(String)).toMatch(/hardware/);
  });

  test.each([
    ["the second host replaced by another machine", editSecondHost],
    ["a third host added", addThirdHost],
    ["the list removed", removeHosts],
  ])("is not what its vendor signed with %s", async (_name, edit) => {
    const { alpha } = await openLicensedPair(2);
    const { vendors, licenses, appliance } = alpha.store.peek((state) => state);
    const [license] = licenses.values();
    if (license === undefined) throw new Error("no license is installed");
    const check = (edited: License) => findProofFault(edited, appliance, [...vendors.values()]);
    expect(await check(license)).toBeNull();
    const edited = { ...license, grant: edit(license.grant) };
    expect(await check(edited)).toEqual({ wrong: "fields", fields: ["hosts"] });
  });

  test("does not serve on a machine whose hardware was written into the list of a host", async () => {
    const { alpha } = await openLicensedPair(2);
    const [license] = alpha.store.peek(({ licenses }) => [...licenses.values()]);
    const { identity } = alpha.operations;
    if (license === undefined) throw new Error("no license is installed");
    const [first, second] = license.grant.hosts ?? [];
    if (first === undefined || second === undefined) throw new Error("the license has no hosts");
    expect(identity.matchHardware(license).isMatch).toBe(true);
    // Only beta is left; then the list of alpha is put under the id of beta.
    const onlyBeta = { ...license.grant, hosts: [second] };
    expect(identity.matchHardware({ grant: onlyBeta }).isMatch).toBe(false);
    const edited = { ...second, hardware: first.hardware };
    const grant = { ...license.grant, hosts: [edited] };
    expect(identity.matchHardware({ grant }).isMatch).toBe(false);
  });

  test("is renewed from the ledger for the same two hosts", async () => {
    const { desk, alpha, issued } = await openLicensedPair(2);
    const renewal = { renewLicenseId: issued.license_id, terms: { slots: 5 } };
    const renewed = await issueTestLicense(desk, null, renewal);
    expect(renewed.hosts).toEqual(issued.hosts ?? []);
    const installed = await alpha.operations.licensing.installLicense(renewed.document, "test");
    expect(unwrap(installed).grant.hosts?.map(({ name }) => name)).toEqual(["alpha", "beta"]);
  });

  test("is requested again for two hosts without --hosts", async () => {
    const { alpha } = await openLicensedPair(2);
    expect((await requestFrom(alpha, null)).pair?.hosts).toHaveLength(2);
    expect((await requestFrom(alpha, null, "ray")).pair).toBeUndefined();
    expect((await requestFrom(alpha, 1)).pair).toBeUndefined();
  });
});

describe("a license of one host", () => {
  test("serves in a pair only while its host leads, and its refusal says so", async () => {
    const { log, alpha } = await openLicensedPair(1);
    expect((await register(alpha, "ada")).ok).toBe(true);
    const beta = await takeOver(alpha, { log, host: "beta" });
    expect(await messageFrom(beta)).toBe(
      "hardware_mismatch: the license is for host alpha and serves only while that host leads; " +
        "beta leads now",
    );
    const again = await takeOver(beta, { log, host: "alpha" });
    expect((await register(again, "bob")).ok).toBe(true);
  });

  test("is what a request for two hosts gets if the vendor grants one", async () => {
    const { desk, log, alpha } = await openPairOfTwo();
    const request = await requestFrom(alpha, 2);
    const { document } = await issueTestLicense(desk, request, { hosts: 1, terms: SLOTS });
    unwrap(await alpha.operations.licensing.installLicense(document, "test"));
    expect((await register(alpha, "ada")).ok).toBe(true);
    const beta = await takeOver(alpha, { log, host: "beta" });
    expect(await messageFrom(beta)).toStartWith("hardware_mismatch: ");
  });
});

describe("a hand-over", () => {
  const handOver = ({ operations }: OpenHost) => operations.pairMembership.handOver();

  test("is refused while the other host could not serve a product, which it names", async () => {
    const { desk, alpha } = await openLicensedPair(1);
    const refused = await handOver(alpha);
    expect(refused).toEqual({
      ok: false,
      fault: { code: "hand_over_refused", reason: "unlicensed", host: "beta", products: ["sim"] },
    });
    expect(messageOf({ ...(!refused.ok && refused.fault) } as AnyFault)).toStartWith(
      "host beta cannot serve sim: no license names it",
    );
    expect((await register(alpha, "ada")).ok).toBe(true);
    const request = await requestFrom(alpha, 2);
    const { document } = await issueTestLicense(desk, request, { hosts: 2, terms: SLOTS });
    unwrap(await alpha.operations.licensing.installLicense(document, "test"));
    expect(await handOver(alpha)).toMatchObject({ fault: { reason: "silent" } });
  });

  test("is not refused for a license of both hosts, or for one that serves on neither", async () => {
    const both = await openLicensedPair(2);
    expect(await handOver(both.alpha)).toMatchObject({ fault: { reason: "silent" } });
    const { log, alpha } = await openLicensedPair(1);
    const beta = await takeOver(alpha, { log, host: "beta" });
    expect(await handOver(beta)).toMatchObject({ fault: { reason: "silent" } });
  });
});

describe("a request of a pair", () => {
  test("names both hosts and the epoch, and where the journal of the leader ends", async () => {
    const { alpha } = await openPairOfTwo();
    const request = await requestFrom(alpha);
    const { seq } = alpha.store.status();
    expect(request.pair).toMatchObject({
      log: "simulated log",
      epoch: 1,
      leader: "alpha",
      hosts: [
        { name: "alpha", hardware_id: request.hardware_id, head: { seq: seq - 1 } },
        { name: "beta", head: null },
      ],
    });
  });

  test("is the same document when it is shown again", async () => {
    const { alpha } = await openPairOfTwo();
    const { licensing } = alpha.operations;
    const made = unwrap(await licensing.request("sim", null, "test", {}, 2));
    expect(unwrap(await licensing.showRequest(made.request)).document).toBe(made.document);
    expect(made.hosts).toEqual(["alpha", "beta"]);
  });

  test("is refused for two hosts while the appliance is served by one", async () => {
    const alone = await openHost({ host: "alpha" });
    const result = await alone.operations.licensing.request("sim", null, "test", {}, 2);
    expect(result).toEqual({ ok: false, fault: { code: "not_a_pair" } });
  });
});

describe("a lease", () => {
  const claimsOf = (lease: string | null): Record<string, unknown> =>
    JSON.parse(Buffer.from(lease?.split(".")[1] ?? "", "base64url").toString()) as never;

  test("carries the epoch of the leader that signed it", async () => {
    const { log, alpha } = await openLicensedPair(2);
    const first = unwrap(await register(alpha, "ada", "0123456789abcdef"));
    expect(claimsOf(first.lease)).toMatchObject({ sub: "ada", epoch: 1 });
    const beta = await takeOver(alpha, { log, host: "beta" });
    const second = unwrap(await register(beta, "ada", "0123456789abcdef"));
    expect(claimsOf(second.lease)).toMatchObject({ sub: "ada", epoch: 2 });
  });
});

describe("activation by codes", () => {
  test("is refused in a pair", async () => {
    const { alpha } = await openPairOfTwo();
    const made = await alpha.operations.airgap.createActivationCode("K-1", "", "test");
    expect(made).toEqual({ ok: false, fault: { code: "codes_not_for_pairs" } });
  });
});

describe("an answer to a request for two hosts", () => {
  test("serves on no other machine, although its open request was copied too", async () => {
    const { desk, log, alpha } = await openPairOfTwo();
    const request = await requestFrom(alpha, 2);
    const { document } = await issueTestLicense(desk, request, { hosts: 2, terms: SLOTS });
    await alpha.stop();
    const folder = copyFolder(alpha.folder);
    const copy = await openHost({ log, host: "alpha", machine: "gamma", folder }).catch(() => null);
    if (copy === null) return;
    await copy.operations.leadership?.step();
    await copy.operations.licensing.installLicense(document, "test");
    expect((await register(copy, "eve")).ok).toBe(false);
  });
});
