import type { AddConsumption } from "../domain/consumption/add-consumption.ts";
import type { AddFeatureConsumption } from "../domain/consumption/add-feature-consumption.ts";
import {
  findLicenses,
  findMissingFields,
  filterValidLicenses,
  type LicenseSelector,
} from "../domain/licenses/licenses.ts";
import type { Borrow } from "../domain/slots/borrow.ts";
import type { Command, OutcomeOf } from "../domain/decide.ts";
import type { Register } from "../domain/slots/register.ts";
import type { FeatureRegister } from "../domain/features/feature-register.ts";
import type { FeatureReleaseAll, FeatureRelease } from "../domain/features/feature-release.ts";
import type { Unregister, UnregisterAll } from "../domain/slots/unregister.ts";
import type { Fault } from "../domain/fault.ts";
import { err, ok, type Result } from "../domain/result.ts";
import type { RuleContext } from "../domain/rule-context.ts";
import type { SlotOutcome } from "../domain/slots/slots.ts";
import type { Retirement, State } from "../domain/state.ts";
import { MINUTE } from "../domain/time.ts";
import type { UsageRange } from "../usage/usage.ts";
import {
  viewLicense,
  viewRegistrations,
  type FeatureView,
  type LicenseView,
  type RegistrationView,
  type PageRange,
} from "../domain/views.ts";
import type { Lease } from "../license/lease.ts";
import { randomId } from "../platform/random.ts";
import type { StorageFault } from "../store/journal/group-commit.ts";
import type { StoreHealth } from "../store/store-health.ts";
import type { StoreStatus } from "../store/store-options.ts";
import type { Store } from "../store/store.ts";
import {
  passOutcome,
  hashNonce,
  viewOutcomeFeature,
  flattenResult,
  findInstalledProduct,
  buildLease,
  buildIdempotency,
  addLicenseView,
  buildSlotResult,
  type ApplianceStatus,
  type ConsumptionResult,
  type FeatureConsumptionResult,
  type SlotResult,
} from "./operation-results.ts";
import { AuditBudget, findChargedPeer } from "./audit-budget.ts";
import { RefusalCounter } from "./refusal-counter.ts";
import { UsageTracker, type UsageResult } from "../usage/usage-tracker.ts";

export type OperationResult<T> = Promise<Result<T, Fault | StorageFault>>;

/** A command as a caller sends it: without its type, and with an optional idempotency key. */
type OperationInput<C extends Command> = Omit<C, "type" | "once" | "nonceDigest"> & {
  readonly idempotencyKey?: string | null;
};

/** The application's nonce, which its lease repeats; null: none was sent. */
interface WithNonce {
  readonly nonce: string | null;
}

export type LeaseSigner = (lease: Lease) => Promise<string>;

/**
 * What applications call; src/README.md lists the operations of other classes. Input is already
 * parsed; results are plain data, and on disk before they are returned.
 */
export class Operations {
  readonly #store: Store;
  readonly #signer: LeaseSigner;
  readonly #budget: AuditBudget;
  readonly #refusals = new RefusalCounter();
  readonly #refusalTimer: Timer;
  readonly #usage: UsageTracker;

  constructor(store: Store, signer: LeaseSigner, budget = new AuditBudget(0)) {
    this.#store = store;
    this.#signer = signer;
    this.#budget = budget;
    this.#refusalTimer = setInterval(() => void this.#writeRefusalCounts(), MINUTE);
    this.#refusalTimer.unref();
    this.#usage = new UsageTracker(store);
  }

  /**
   * With a nonce, the result contains a signed lease. Without one it does not: signing every
   * heartbeat would halve the throughput.
   */
  register(input: OperationInput<Register> & WithNonce): OperationResult<SlotResult> {
    const { product, user, licenseId, contact, nonce } = input;
    const nonceDigest = hashNonce(nonce);
    const command: Register = { type: "Register", product, user, licenseId, contact, nonceDigest };
    const slot = this.#run(command, input, this.#viewSlot);
    return nonce === null ? slot : this.#withLease(slot, nonce);
  }

  /** A borrow always gets a lease, because the application needs it while it is offline. */
  borrow(input: OperationInput<Borrow> & WithNonce): OperationResult<SlotResult> {
    const { idempotencyKey = null, nonce, ...fields } = input;
    const { licenseId, until, contact } = fields;
    const { hostname, ip, info } = contact;
    const nonceDigest = hashNonce(nonce);
    // Without a nonce the list has no element for it, as in keys that earlier versions stored.
    const deviceParts = nonceDigest === null ? [] : [nonceDigest];
    const once = buildIdempotency(idempotencyKey, [
      licenseId,
      until,
      hostname,
      ip,
      info,
      ...deviceParts,
    ]);
    const slot = this.#run(
      { type: "Borrow", ...fields, nonceDigest, once },
      fields,
      this.#viewSlot,
    );
    return this.#withLease(slot, nonce);
  }

  unregister(input: OperationInput<Unregister>): OperationResult<OutcomeOf<Unregister>> {
    return this.#run({ type: "Unregister", ...input }, input, passOutcome);
  }

  unregisterAll(input: OperationInput<UnregisterAll>): OperationResult<OutcomeOf<UnregisterAll>> {
    return this.#run({ type: "UnregisterAll", ...input }, { ...input, user: null }, passOutcome);
  }

  registerFeature(input: OperationInput<FeatureRegister>): OperationResult<FeatureView> {
    return this.#run({ type: "FeatureRegister", ...input }, input, viewOutcomeFeature);
  }

  releaseFeature(
    input: OperationInput<FeatureRelease>,
  ): OperationResult<OutcomeOf<FeatureRelease>> {
    return this.#run({ type: "FeatureRelease", ...input }, input, passOutcome);
  }

  releaseAllFeatures(
    input: OperationInput<FeatureReleaseAll>,
  ): OperationResult<OutcomeOf<FeatureReleaseAll>> {
    const noSubject = { product: null, user: null };
    return this.#run({ type: "FeatureReleaseAll", ...input }, noSubject, passOutcome);
  }

  addConsumption({
    idempotencyKey = null,
    ...input
  }: OperationInput<AddConsumption>): OperationResult<ConsumptionResult> {
    const { licenseId, count, allowOverages, maxOverages } = input;
    const once = buildIdempotency(idempotencyKey, [licenseId, count, allowOverages, maxOverages]);
    return this.#run({ type: "AddConsumption", ...input, once }, input, addLicenseView);
  }

  addFeatureConsumption({
    idempotencyKey = null,
    ...input
  }: OperationInput<AddFeatureConsumption>): OperationResult<FeatureConsumptionResult> {
    const { licenseId, feature, count, allowOverages, maxOverages } = input;
    const once = buildIdempotency(idempotencyKey, [
      licenseId,
      feature,
      count,
      allowOverages,
      maxOverages,
    ]);
    return this.#run(
      { type: "AddFeatureConsumption", ...input, once },
      input,
      (state, outcome, context) => ({
        ...outcome,
        view: viewOutcomeFeature(state, outcome, context),
      }),
    );
  }

  /** The license that a new user would get a slot of; an invalid one if none is valid. */
  async findLicense(selector: LicenseSelector): OperationResult<LicenseView> {
    return flattenResult(
      await this.#store.read((state, context): Result<LicenseView, Fault> => {
        const missing = findMissingFields(state, selector, {});
        if (missing.length > 0) return err({ code: "missing_parameters", fields: missing });
        const licenses = findLicenses(state, selector);
        if (!licenses.ok) return licenses;
        const valid = filterValidLicenses(state, licenses.value, context);
        const [license] = valid.ok ? valid.value : licenses.value;
        return license
          ? ok(viewLicense(state, license, context))
          : err({ code: "license_not_found" });
      }),
    );
  }

  licenses(): OperationResult<LicenseView[]> {
    return this.#store.read((state, context) =>
      [...state.licenses.values()].map((license) => viewLicense(state, license, context)),
    );
  }

  async listRegistrations(
    product: string | null,
    page?: PageRange,
  ): OperationResult<RegistrationView[]> {
    return flattenResult(
      await this.#store.read((state, { at }): Result<RegistrationView[], Fault> => {
        if (product !== null && !state.products.has(product))
          return err({ code: "unknown_product" });
        return ok(viewRegistrations(state, product, at, page));
      }),
    );
  }

  status(): OperationResult<ApplianceStatus> {
    return this.#store.read((state, context) => ({
      kind: state.kind,
      now: context.at,
      createdAt: state.createdAt,
      storeStatus: this.#store.status(),
      auditGaps: state.auditGaps,
      licenses: [...state.licenses.values()].map((license) => viewLicense(state, license, context)),
      refusals: [...state.refusals.values()].toSorted((a, b) => b.count - a.count),
    }));
  }

  /** Slots in use over time. `wait`: only after all needed lines of the audit log are read. */
  readUsage(range: UsageRange, wait: boolean): OperationResult<UsageResult> {
    return this.#usage.view(range, wait);
  }

  /** Retires the appliance on this host; it continues on the host that gets its file. */
  moveAway(peer: string): OperationResult<Retirement> {
    return this.#store.transact({ type: "MoveAway", move: randomId(), peer }, passOutcome);
  }

  /** Null: the appliance was not moved away. */
  findRetirement(): Retirement | null {
    return this.#store.peek(({ retirement }) => retirement);
  }

  storeStatus(): StoreStatus {
    return this.#store.status();
  }

  storeHealth(): StoreHealth {
    return this.#store.health();
  }

  async close(): Promise<void> {
    this.#usage.stop();
    clearInterval(this.#refusalTimer);
    await this.#writeRefusalCounts();
    await this.#store.close();
  }

  readonly #viewSlot = (state: State, outcome: SlotOutcome, context: RuleContext): SlotResult => {
    this.#usage.recordSlotTaken(state, outcome.license, context.at);
    return buildSlotResult(state, outcome, context);
  };

  async #withLease(
    pendingSlot: OperationResult<SlotResult>,
    nonce: string | null,
  ): OperationResult<SlotResult> {
    const slot = await pendingSlot;
    if (!slot.ok || !slot.value.isHeld) return slot;
    const lease = await this.#signer(buildLease(slot.value, nonce));
    return ok({ ...slot.value, lease });
  }

  async #run<C extends Command, T>(
    command: C,
    { product, user }: { readonly product: string | null; readonly user: string | null },
    view: (state: State, outcome: OutcomeOf<C>, context: RuleContext) => T,
  ): OperationResult<T> {
    const meter = this.#budget.meterFor(findChargedPeer(command));
    const result = await this.#store.transact(command, view, meter);
    if (!result.ok) this.#countRefusal(result.fault.code, product, user);
    return result;
  }

  #countRefusal(code: string, product: string | null, user: string | null): void {
    this.#refusals.count(this.#store.peek(findInstalledProduct(product)), code, user);
  }

  async #writeRefusalCounts(): Promise<void> {
    const refusals = this.#refusals.drain();
    if (refusals.length === 0) return;
    const written = await this.#store.transact({ type: "CountRefusals", refusals }, () => null);
    if (!written.ok) this.#refusals.restore(refusals);
  }
}
