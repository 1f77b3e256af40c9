import { expect, test } from "bun:test";
import type { AddConsumption } from "../../src/domain/consumption/add-consumption.ts";
import type { Register } from "../../src/domain/slots/register.ts";
import type { SlotOutcome } from "../../src/domain/slots/slots.ts";
import type { Instant } from "../../src/domain/time.ts";
import { viewLicense } from "../../src/domain/views.ts";
import { dumpState, replayEvents } from "../support/scenario.ts";
import {
  countHeld,
  computeLimit,
  computeTotal,
  type LicenseModel,
  type EventModel,
} from "./event-model.ts";
import { runSequence, commandSequence, type SequenceStep } from "./command-sequences.ts";
import { contextAt } from "../support/rule-context.ts";
import * as fc from "fast-check";

/** Runs the check at every step of random sequences; the model also checks each event. */
function checkEveryStep(check: (step: SequenceStep) => void, numRuns = 150): void {
  fc.assert(
    fc.property(commandSequence, (sequence) => {
      for (const step of runSequence(sequence)) check(step);
    }),
    { numRuns },
  );
}

test("no event grants more slots, borrows or consumption than its license allows", () => {
  // The model checks slots, borrows, features and totals, event by event.
  checkEveryStep((step) => {
    step.run();
    for (const [id, license] of step.state.licenses) {
      const view = viewLicense(step.state, license, contextAt(step.at));
      const model = step.model.license(id);
      expect(view.slotsInUse).toBe(countHeld(model, step.at));
      const { consumption } = license.terms;
      if (consumption !== null)
        expect(view.total).toBe(computeTotal(model, consumption.period, step.at));
    }
  }, 400);
});

test("no feature slot is held longer than the license slot it belongs to", () => {
  checkEveryStep(({ state, at, run }) => {
    run();
    for (const { pool, features } of state.licenses.values()) {
      for (const feature of features.values()) {
        for (const { user, end } of feature.pool.inSlotOrder()) {
          if (at < end) expect(end).toBeLessThanOrEqual(pool.get(user)?.end ?? -1);
        }
      }
    }
  });
});

test("a license counts as borrowed the slots whose borrow has not ended", () => {
  let borrowedCount = 0;
  checkEveryStep(({ state, at, run }) => {
    run();
    for (const { pool } of state.licenses.values()) {
      const borrowed = [...pool.inSlotOrder()].filter(({ borrowedUntil }) => {
        return borrowedUntil !== null && at < borrowedUntil;
      });
      expect(pool.countBorrowed(at)).toBe(borrowed.length);
      borrowedCount += borrowed.length;
    }
  }, 300);
  expect(borrowedCount).toBeGreaterThan(0);
});

test("replaying all recorded events gives the same state", () => {
  fc.assert(
    fc.property(commandSequence, (sequence) => {
      const steps = [...runSequence(sequence)];
      for (const step of steps) step.run();
      const [last] = steps;
      expect(last && dumpState(replayEvents(last.writtenEvents))).toEqual(
        last && dumpState(last.state),
      );
    }),
  );
});

test("a refused command changes nothing in the state", () => {
  checkEveryStep(({ state, run }) => {
    const before = dumpState(state);
    if (!run().ok) expect(dumpState(state)).toEqual(before);
  }, 60);
});

test("installing a license takes no slot away", () => {
  checkEveryStep(({ command, model, at, run }) => {
    const before = [...model.licenses.values()].map((license) => countHeld(license, at));
    run();
    if (command.type !== "LicenseUpload") return;
    const after = [...model.licenses.values()].map((license) => countHeld(license, at));
    expect(after.slice(0, before.length)).toEqual(before);
  });
});

test("register is refused as full only for a user without a slot and only when no slot is free", () => {
  checkEveryStep(({ command, model, at, run }) => {
    if (command.type !== "Register") return void run();
    const requested = findRequestedLicenses(command, model, at);
    const isHolder = requested.some((license) => findHoldEnd(license, command) > at);
    const hasFreeSlot = requested.some((license) => !license.isFull(at));
    const result = run();
    const refusalCode = result.ok ? null : result.fault.code;
    if (requested.length > 0)
      expect(refusalCode === "floating_not_available").toBe(!isHolder && !hasFreeSlot);
    if (isHolder || hasFreeSlot) expect([null, "leased_elsewhere"]).toContain(refusalCode);
    if (command.nonceDigest === null) expect(refusalCode).not.toBe("leased_elsewhere");
  });
});

test("a heartbeat neither shortens nor cancels a borrow", () => {
  checkEveryStep(({ command, state, model, at, run }) => {
    if (command.type !== "Register") return void run();
    const borrowedBefore = findRequestedLicenses(command, model, at)
      .map((license) => license.holders.get(command.user ?? "")?.borrowedUntil ?? 0)
      .filter((until) => until > at);
    run();
    const borrowedAfter = [...state.licenses.values()]
      .map(({ pool }) => pool.get(command.user ?? ""))
      .filter((holder) => holder !== undefined && holder.end >= (holder.borrowedUntil ?? 0))
      .map((holder) => holder?.borrowedUntil ?? 0);
    for (const until of borrowedBefore) expect<number[]>(borrowedAfter).toContain(until);
  });
});

test("no device gets a lease of a borrow while another device has it", () => {
  let refusalCount = 0;
  fc.assert(
    fc.property(commandSequence, (sequence) => {
      // By slot number: a user who releases a slot gets another number.
      const leases = new Map<number, { readonly device: string; readonly until: number }>();
      for (const { command, at, run } of runSequence(sequence)) {
        const result = run();
        if (command.type !== "Register" && command.type !== "Borrow") continue;
        if (!result.ok) refusalCount += result.fault.code === "leased_elsewhere" ? 1 : 0;
        if (!result.ok) continue;
        const { slot, borrowedUntil } = result.value.outcome as SlotOutcome;
        const lease = leases.get(slot);
        const device = command.nonceDigest;
        if (borrowedUntil === null) continue;
        const isLive = lease !== undefined && at < lease.until;
        if (isLive && device !== null) expect(device).toBe(lease.device);
        const leasedTo = isLive ? lease.device : device;
        // A borrow that was shortened on purpose is over sooner than the lease says.
        if (leasedTo !== null) leases.set(slot, { device: leasedTo, until: borrowedUntil });
      }
    }),
    { numRuns: 150 },
  );
  expect(refusalCount).toBeGreaterThan(0);
});

test("a consumption is counted exactly when one license can take all of it", () => {
  checkEveryStep(({ command, model, at, run }) => {
    if (command.type !== "AddConsumption" || command.user !== null || command.count <= 0) {
      return void run();
    }
    const canCountFully = findRequestedLicenses(command, model, at).some((license) =>
      canCount(license, command, at),
    );
    const result = run();
    expect(result.ok).toBe(canCountFully);
  });
});

/** The valid licenses of the named product, or the one that is named. */
function findRequestedLicenses(
  command: Register | AddConsumption,
  model: EventModel,
  at: Instant,
): LicenseModel[] {
  const { product, licenseId } = command;
  const valid = model.findValidLicenses(product ?? "", at);
  return valid.filter((license) => licenseId === null || license === model.licenses.get(licenseId));
}

const findHoldEnd = ({ holders }: LicenseModel, { user }: Register): number =>
  holders.get(user ?? "")?.end ?? 0;

function canCount(license: LicenseModel, command: AddConsumption, at: Instant): boolean {
  const { consumption } = license.terms;
  if (consumption === null) return false;
  const requestedOverages = command.allowOverages === false ? 0 : (command.maxOverages ?? Infinity);
  const limit = computeLimit({
    ...consumption,
    overages: Math.min(consumption.overages, requestedOverages),
  });
  return computeTotal(license, consumption.period, at) + command.count <= limit;
}
