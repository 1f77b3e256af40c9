import { describe, expect, test } from "bun:test";
import type { Instant } from "../../../src/domain/time.ts";
import { AuditBudget } from "../../../src/operations/audit/audit-budget.ts";
import { CommandRunner } from "../../../src/operations/command-runner.ts";
import { Consumption } from "../../../src/operations/consumption/consumption.ts";
import { Features } from "../../../src/operations/features/features.ts";
import { Slots } from "../../../src/operations/slots/slots.ts";
import { SOCKET_PEER } from "../../../src/platform/network/networks.ts";
import { openLicensedSite } from "../../support/licensed-store.ts";
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
  unregister,
  unregisterAll,
} from "../../support/scenario.ts";
import { makeSlotQueue } from "../../support/slot-queue.ts";

const MIB = 1024 * 1024;

/** One MiB an hour, unless given. */
const makeBudget = (mib = 1, peers?: number): AuditBudget => new AuditBudget(() => mib, peers);

const checkBudget = (auditBudget: AuditBudget, peer: string, at: Instant) =>
  auditBudget.meterFor(peer)?.checkBudget(at) ?? null;

const charge = (auditBudget: AuditBudget, peer: string, bytes: number, at: Instant): void =>
  auditBudget.meterFor(peer)?.charge(bytes, at);

describe("the audit log budget of a peer", () => {
  test("is used up by written bytes, and refuses from then on", () => {
    const budget = makeBudget();
    charge(budget, "10.0.0.1", MIB - 1, MONDAY);
    expect(checkBudget(budget, "10.0.0.1", MONDAY)).toBeNull();
    charge(budget, "10.0.0.1", 1, MONDAY);
    expect(checkBudget(budget, "10.0.0.1", MONDAY)).toEqual({
      code: "audit_budget_exhausted",
      mibPerHour: 1,
      retryAfterSeconds: 1,
    });
  });

  test("names the seconds until some budget is left again", () => {
    const budget = makeBudget();
    charge(budget, "10.0.0.1", 1.5 * MIB, MONDAY);
    const refusal = checkBudget(budget, "10.0.0.1", MONDAY);
    expect(refusal).toMatchObject({ retryAfterSeconds: 1_801 });
    expect(checkBudget(budget, "10.0.0.1", minutesLater(30))).not.toBeNull();
    expect(checkBudget(budget, "10.0.0.1", (minutesLater(30) + 1_000) as Instant)).toBeNull();
  });

  test("refills continuously, up to the budget of one hour", () => {
    const budget = makeBudget();
    charge(budget, "10.0.0.1", MIB, MONDAY);
    charge(budget, "10.0.0.1", MIB / 2 - 1, minutesLater(30));
    expect(checkBudget(budget, "10.0.0.1", minutesLater(30))).toBeNull();
    charge(budget, "10.0.0.1", MIB, hoursLater(100));
    expect(checkBudget(budget, "10.0.0.1", hoursLater(100))).not.toBeNull();
  });

  test("is shared by all addresses of an IPv6 subnet", () => {
    const budget = makeBudget();
    charge(budget, "fd00:1::1", MIB / 2, MONDAY);
    charge(budget, "fd00:1::2", MIB / 2, MONDAY);
    expect(checkBudget(budget, "fd00:1::3", MONDAY)).not.toBeNull();
    expect(checkBudget(budget, "fd00:1:0:1::1", MONDAY)).toBeNull();
  });

  test("is separate from another peer's budget", () => {
    const budget = makeBudget();
    charge(budget, "10.0.0.1", 2 * MIB, MONDAY);
    expect(checkBudget(budget, "10.0.0.2", MONDAY)).toBeNull();
  });

  test("refills after the clock is set back", () => {
    const budget = makeBudget();
    charge(budget, "10.0.0.1", MIB, hoursLater(48));
    expect(checkBudget(budget, "10.0.0.1", MONDAY)).not.toBeNull();
    expect(checkBudget(budget, "10.0.0.1", minutesLater(1))).toBeNull();
  });

  test("does not exist when the budget is 0, nor for calls through the socket", () => {
    expect(makeBudget(0).meterFor("10.0.0.1")).toBeNull();
    expect(makeBudget().meterFor(SOCKET_PEER)).toBeNull();
  });

  test("is charged for calls of applications, and not for administration", async () => {
    const payers: (string | null)[] = [];
    class RecordingBudget extends AuditBudget {
      override meterFor(peer: string) {
        payers.push(peer);
        return super.meterFor(peer);
      }
    }
    const { store } = await openLicensedSite();
    const commands = new CommandRunner(store, new RecordingBudget(() => 1));
    const slots = new Slots(commands, store, makeSlotQueue(store, commands), async () => "");
    const [features, consumption] = [new Features(commands), new Consumption(commands)];
    const { peer } = CONTACT;
    const charged = [
      () => slots.register({ ...register("ada"), nonce: null }),
      () => slots.borrow({ ...borrow("ada"), nonce: null }),
      () => slots.unregister(unregister("ada", { peer })),
      () => features.register(registerFeature("ada", "mesh")),
      () => features.release(releaseFeature("ada", "mesh")),
      () => consumption.add(consume(1, { peer })),
      () => consumption.addForFeature(consumeFeature("mesh", 1, { peer })),
    ];
    for (const call of charged) await call();
    expect(payers).toEqual(charged.map(() => peer));
    await slots.unregister(unregister("ada", { by: "admin" }));
    await slots.unregisterAll(unregisterAll());
    await features.releaseAll({ peer });
    await commands.close();
    expect(payers).toHaveLength(charged.length);
  });
});

describe("audit log budgets of more peers than are tracked", () => {
  test("share one budget, while tracked peers keep their own", () => {
    const budget = makeBudget(1, 2);
    charge(budget, "10.0.0.1", MIB, MONDAY);
    charge(budget, "10.0.0.2", 10, MONDAY);
    charge(budget, "10.0.0.3", MIB - 10, MONDAY);
    expect(checkBudget(budget, "10.0.0.4", MONDAY)).toBeNull();
    charge(budget, "10.0.0.4", 10, MONDAY);
    expect(checkBudget(budget, "10.0.0.3", MONDAY)).not.toBeNull();
    expect(checkBudget(budget, "10.0.0.5", MONDAY)).not.toBeNull();
    expect(checkBudget(budget, "10.0.0.1", MONDAY)).not.toBeNull();
    expect(checkBudget(budget, "10.0.0.2", MONDAY)).toBeNull();
  });

  test("become separate when the budget of a tracked peer has refilled", () => {
    const budget = makeBudget(1, 2);
    charge(budget, "10.0.0.1", MIB, MONDAY);
    charge(budget, "10.0.0.2", MIB, minutesLater(30));
    charge(budget, "10.0.0.3", MIB, hoursLater(1));
    expect(checkBudget(budget, "10.0.0.2", hoursLater(1))).toBeNull();
    expect(checkBudget(budget, "10.0.0.3", hoursLater(1))).not.toBeNull();
    expect(checkBudget(budget, "10.0.0.4", hoursLater(1))).toBeNull();
  });

  test("never take more memory than the limit", () => {
    const budget = makeBudget(1, 3);
    for (let peer = 0; peer < 1_000; peer += 1)
      charge(budget, `10.0.${peer >> 8}.${peer & 255}`, 1, MONDAY);
    expect(budget.trackedPeerCount).toBe(3);
  });
});
