import { describe, expect, test } from "bun:test";
import type { Instant } from "../../src/domain/time.ts";
import { AuditBudget, findChargedPeer } from "../../src/operations/audit-budget.ts";
import { SOCKET_PEER } from "../../src/platform/networks.ts";
import {
  borrow,
  CONTACT,
  consume,
  consumeFeature,
  hoursLater,
  minutesLater,
  MONDAY,
  register,
  registerFeature,
  releaseFeature,
  remove,
  unregister,
  unregisterAll,
} from "../support/scenario.ts";

const MIB = 1024 * 1024;

/** One MiB an hour. */
const budget = (mib = 1, peers?: number): AuditBudget => new AuditBudget(mib, peers);

const refusalOf = (of: AuditBudget, peer: string, at: Instant) =>
  of.meterFor(peer)?.checkBudget(at) ?? null;

const charge = (of: AuditBudget, peer: string, bytes: number, at: Instant): void =>
  of.meterFor(peer)?.charge(bytes, at);

describe("a peer's budget for the audit log", () => {
  test("is spent by what was written, and refuses from then on", () => {
    const one = budget();
    charge(one, "10.0.0.1", MIB - 1, MONDAY);
    expect(refusalOf(one, "10.0.0.1", MONDAY)).toBeNull();
    charge(one, "10.0.0.1", 1, MONDAY);
    expect(refusalOf(one, "10.0.0.1", MONDAY)).toEqual({
      code: "audit_budget_exhausted",
      mibPerHour: 1,
      retryAfterSeconds: 1,
    });
  });

  test("says in how many seconds something is left again", () => {
    const one = budget();
    charge(one, "10.0.0.1", 1.5 * MIB, MONDAY);
    const refusal = refusalOf(one, "10.0.0.1", MONDAY);
    expect(refusal).toMatchObject({ retryAfter: 1_801 });
    expect(refusalOf(one, "10.0.0.1", minutesLater(30))).not.toBeNull();
    expect(refusalOf(one, "10.0.0.1", (minutesLater(30) + 1_000) as Instant)).toBeNull();
  });

  test("is refilled continuously, up to an hour's worth", () => {
    const one = budget();
    charge(one, "10.0.0.1", MIB, MONDAY);
    charge(one, "10.0.0.1", MIB / 2 - 1, minutesLater(30));
    expect(refusalOf(one, "10.0.0.1", minutesLater(30))).toBeNull();
    charge(one, "10.0.0.1", MIB, hoursLater(100));
    expect(refusalOf(one, "10.0.0.1", hoursLater(100))).not.toBeNull();
  });

  test("is no other peer's", () => {
    const one = budget();
    charge(one, "10.0.0.1", 2 * MIB, MONDAY);
    expect(refusalOf(one, "10.0.0.2", MONDAY)).toBeNull();
  });

  test("survives a clock that is set back", () => {
    const one = budget();
    charge(one, "10.0.0.1", MIB, hoursLater(48));
    expect(refusalOf(one, "10.0.0.1", MONDAY)).not.toBeNull();
    expect(refusalOf(one, "10.0.0.1", minutesLater(1))).toBeNull();
  });

  test("is not there where it is switched off, nor where nobody pays", () => {
    expect(budget(0).meterFor("10.0.0.1")).toBeNull();
    expect(budget().meterFor(null)).toBeNull();
  });

  test("pays for the calls of applications, and not for administration", () => {
    const { peer } = CONTACT;
    const paid = [
      register("ada"),
      borrow("ada"),
      unregister("ada", { peer }),
      registerFeature("ada", "mesh"),
      releaseFeature("ada", "mesh"),
      consume(1, { peer }),
      consumeFeature("mesh", 1, { peer }),
    ];
    expect(paid.map(findChargedPeer)).toEqual(paid.map(() => peer));
    const unpaid = [
      register("ada", { contact: { ...CONTACT, peer: SOCKET_PEER } }),
      unregister("ada", { by: "admin" }),
      unregisterAll(),
      remove(1),
    ];
    expect(unpaid.map(findChargedPeer)).toEqual(unpaid.map(() => null));
  });
});

describe("more peers than are told apart", () => {
  test("share one budget, while those known keep theirs", () => {
    const two = budget(1, 2);
    charge(two, "10.0.0.1", MIB, MONDAY);
    charge(two, "10.0.0.2", 10, MONDAY);
    charge(two, "10.0.0.3", MIB - 10, MONDAY);
    expect(refusalOf(two, "10.0.0.4", MONDAY)).toBeNull();
    charge(two, "10.0.0.4", 10, MONDAY);
    expect(refusalOf(two, "10.0.0.3", MONDAY)).not.toBeNull();
    expect(refusalOf(two, "10.0.0.5", MONDAY)).not.toBeNull();
    expect(refusalOf(two, "10.0.0.1", MONDAY)).not.toBeNull();
    expect(refusalOf(two, "10.0.0.2", MONDAY)).toBeNull();
  });

  test("are told apart again when an older one has its whole budget back", () => {
    const two = budget(1, 2);
    charge(two, "10.0.0.1", MIB, MONDAY);
    charge(two, "10.0.0.2", MIB, minutesLater(30));
    charge(two, "10.0.0.3", MIB, hoursLater(1));
    expect(refusalOf(two, "10.0.0.2", hoursLater(1))).toBeNull();
    expect(refusalOf(two, "10.0.0.3", hoursLater(1))).not.toBeNull();
    expect(refusalOf(two, "10.0.0.4", hoursLater(1))).toBeNull();
  });

  test("never take more memory", () => {
    const few = budget(1, 3);
    for (let peer = 0; peer < 1_000; peer += 1)
      charge(few, `10.0.${peer >> 8}.${peer & 255}`, 1, MONDAY);
    expect(few.trackedPeerCount).toBe(3);
  });
});
