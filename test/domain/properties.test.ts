import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { AddConsumption, Register } from "../../src/domain/command.ts";
import type { SlotOutcome } from "../../src/domain/slots.ts";
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

/** In every story, at every step; the model judges each event besides. */
function always(check: (step: SequenceStep) => void, numRuns = 150): void {
  fc.assert(
    fc.property(commandSequence, (told) => {
      for (const step of runSequence(told)) check(step);
    }),
    { numRuns },
  );
}

test("no event ever grants more than its license has, or takes what nobody gave back", () => {
  // Slots, borrows, features and totals: all of it is the model's to judge, event by event.
  always((step) => {
    step.run();
    for (const [id, license] of step.state.licenses) {
      const view = viewLicense(step.state, license, step.at);
      const model = step.model.license(id);
      expect(view.slotsInUse).toBe(countHeld(model, step.at));
      const { consumption } = license.terms;
      if (consumption !== null)
        expect(view.total).toBe(computeTotal(model, consumption.period, step.at));
    }
  }, 400);
});

test("no feature's slot is ever held longer than the license's slot it was taken through", () => {
  always(({ state, at, run }) => {
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

test("replaying all that was written gives the state that served", () => {
  fc.assert(
    fc.property(commandSequence, (told) => {
      const steps = [...runSequence(told)];
      for (const step of steps) step.run();
      const [last] = steps;
      expect(last && dumpState(replayEvents(last.writtenEvents))).toEqual(
        last && dumpState(last.state),
      );
    }),
  );
});

test("a refusal changes nothing", () => {
  always(({ state, run }) => {
    const was = dumpState(state);
    if (!run().ok) expect(dumpState(state)).toEqual(was);
  }, 60);
});

test("installing takes nothing from anybody", () => {
  always(({ command, model, at, run }) => {
    const before = [...model.licenses.values()].map((license) => countHeld(license, at));
    run();
    if (command.type !== "InstallLicense") return;
    const after = [...model.licenses.values()].map((license) => countHeld(license, at));
    expect(after.slice(0, before.length)).toEqual(before);
  });
});

test("a holder's heartbeat is never refused for a full pool, nor anybody's while one is free", () => {
  always(({ command, model, at, run }) => {
    if (command.type !== "Register") return void run();
    const meant = meantBy(command, model, at);
    const holds = meant.some((license) => endFor(license, command) > at);
    const free = meant.some((license) => !license.isFull(at));
    const result = run();
    const refused = result.ok ? null : result.fault.code;
    if (meant.length > 0) expect(refused === "floating_not_available").toBe(!holds && !free);
    if (holds || free) expect([null, "leased_elsewhere"]).toContain(refused);
    if (command.nonceDigest === null) expect(refused).not.toBe("leased_elsewhere");
  });
});

test("a heartbeat neither shortens nor cancels a borrow", () => {
  always(({ command, state, model, at, run }) => {
    if (command.type !== "Register") return void run();
    const lent = meantBy(command, model, at)
      .map((license) => license.holders.get(command.user ?? "")?.borrowedUntil ?? 0)
      .filter((until) => until > at);
    run();
    const kept = [...state.licenses.values()]
      .map(({ pool }) => pool.get(command.user ?? ""))
      .filter((holder) => holder !== undefined && holder.end >= (holder.borrowedUntil ?? 0))
      .map((holder) => holder?.borrowedUntil ?? 0);
    for (const until of lent) expect<number[]>(kept).toContain(until);
  });
});

test("no device is given a lease of a borrow while another device has one", () => {
  let refused = 0;
  fc.assert(
    fc.property(commandSequence, (told) => {
      // By slot: whoever gives a slot back gets another one.
      const leases = new Map<number, { readonly device: string; readonly until: number }>();
      for (const { command, at, run } of runSequence(told)) {
        const result = run();
        if (command.type !== "Register" && command.type !== "Borrow") continue;
        if (!result.ok) refused += result.fault.code === "leased_elsewhere" ? 1 : 0;
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
  expect(refused).toBeGreaterThan(0);
});

test("what fits a license in full is counted, and nothing else is", () => {
  always(({ command, model, at, run }) => {
    if (command.type !== "AddConsumption" || command.user !== null || command.count <= 0) {
      return void run();
    }
    const fits = meantBy(command, model, at).some((license) => takes(license, command, at));
    const result = run();
    expect(result.ok).toBe(fits);
  });
});

/** The valid licenses of the product a caller named, or the one license. */
function meantBy(
  command: Register | AddConsumption,
  model: EventModel,
  at: Instant,
): LicenseModel[] {
  const { product, licenseId } = command;
  const valid = model.findValidLicenses(product ?? "", at);
  return valid.filter((license) => licenseId === null || license === model.licenses.get(licenseId));
}

const endFor = ({ holders }: LicenseModel, { user }: Register): number =>
  holders.get(user ?? "")?.end ?? 0;

function takes(license: LicenseModel, command: AddConsumption, at: Instant): boolean {
  const { consumption } = license.terms;
  if (consumption === null) return false;
  const asked = command.allowOverages === false ? 0 : (command.maxOverages ?? Infinity);
  const most = computeLimit({ ...consumption, overages: Math.min(consumption.overages, asked) });
  return computeTotal(license, consumption.period, at) + command.count <= most;
}
