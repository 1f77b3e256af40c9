import type {
  AddConsumption,
  AddFeatureConsumption,
  LicenseSelector,
  Borrow,
  Command,
  Register,
  RegisterFeature,
  ReleaseAllFeatures,
  ReleaseFeature,
  Unregister,
  UnregisterAll,
} from "../domain/command.ts";
import type { OutcomeOf } from "../domain/decide.ts";
import type { Fault } from "../domain/fault.ts";
import { findLicenses, findMissingFields, filterValidLicenses } from "../domain/licenses.ts";
import { err, ok, type Result } from "../domain/result.ts";
import type { SlotOutcome } from "../domain/slots.ts";
import type { Retirement, State } from "../domain/state.ts";
import { MINUTE, type Instant } from "../domain/time.ts";
import type { UsageRange } from "../domain/usage.ts";
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
import type { StorageFault } from "../store/group-commit.ts";
import type { StoreHealth } from "../store/store-health.ts";
import type { StoreStatus } from "../store/store-options.ts";
import type { Store } from "../store/store.ts";
import {
  type ApplianceStatus,
  passOutcome,
  hashNonce,
  viewOutcomeFeature,
  flattenResult,
  findInstalledProduct,
  buildLease,
  buildIdempotency,
  addLicenseView,
  buildSlotResult,
  type ConsumptionResult,
  type FeatureConsumptionResult,
  type SlotResult,
} from "./operation-results.ts";
import { AuditBudget, findChargedPeer } from "./audit-budget.ts";
import { RefusalCounter } from "./refusal-counter.ts";
import { UsageTracker, type UsageResult } from "./usage-tracker.ts";

export type { StorageFault };

export type OperationResult<T> = Promise<Result<T, Fault | StorageFault>>;

/** A command as a caller sends it: without its name, and with its own key for doing it once. */
type OperationInput<C extends Command> = Omit<C, "type" | "once" | "nonceDigest"> & {
  readonly idempotencyKey?: string | null;
};

/** The application's own, to be found again in its lease; null: none was sent. */
interface WithNonce {
  readonly nonce: string | null;
}

export type LeaseSigner = (lease: Lease) => Promise<string>;

/**
 * Everything Berth can do, each once. HTTP and the command line talk to this and to nothing below
 * it. What comes in is already typed; what goes out is plain data, durable.
 */
export class Operations {
  readonly #store: Store;
  readonly #signer: LeaseSigner;
  readonly #budget: AuditBudget;
  readonly #refusals = new RefusalCounter();
  readonly #counting: Timer;
  readonly #usage: UsageTracker;

  constructor(store: Store, signer: LeaseSigner, budget = new AuditBudget(0)) {
    this.#store = store;
    this.#signer = signer;
    this.#budget = budget;
    this.#counting = setInterval(() => void this.#countRefusals(), MINUTE);
    this.#counting.unref();
    this.#usage = new UsageTracker(store);
  }

  /**
   * With a nonce, the answer carries a signed lease; signing every heartbeat would halve the
   * speed.
   */
  register(asked: OperationInput<Register> & WithNonce): OperationResult<SlotResult> {
    const { product, user, licenseId, contact, nonce } = asked;
    const nonceDigest = hashNonce(nonce);
    const command: Register = { type: "Register", product, user, licenseId, contact, nonceDigest };
    const answer = this.#do(command, asked, this.#slot);
    return nonce === null ? answer : this.#leased(answer, nonce);
  }

  /** A borrow always carries a lease: it is what the application has while it is away. */
  borrow(given: OperationInput<Borrow> & WithNonce): OperationResult<SlotResult> {
    const { idempotencyKey = null, nonce, ...asked } = given;
    const { licenseId, until, contact } = asked;
    const { hostname, ip, info } = contact;
    const nonceDigest = hashNonce(nonce);
    // Nothing in place of a nonce that was not sent: keys kept by earlier versions had none there.
    const device = nonceDigest === null ? [] : [nonceDigest];
    const once = buildIdempotency(idempotencyKey, [
      licenseId,
      until,
      hostname,
      ip,
      info,
      ...device,
    ]);
    const answer = this.#do({ type: "Borrow", ...asked, nonceDigest, once }, asked, this.#slot);
    return this.#leased(answer, nonce);
  }

  unregister(asked: OperationInput<Unregister>): OperationResult<OutcomeOf<Unregister>> {
    return this.#do({ type: "Unregister", ...asked }, asked, passOutcome);
  }

  unregisterAll(asked: OperationInput<UnregisterAll>): OperationResult<OutcomeOf<UnregisterAll>> {
    return this.#do({ type: "UnregisterAll", ...asked }, { ...asked, user: null }, passOutcome);
  }

  registerFeature(asked: OperationInput<RegisterFeature>): OperationResult<FeatureView> {
    return this.#do({ type: "RegisterFeature", ...asked }, asked, viewOutcomeFeature);
  }

  releaseFeature(
    asked: OperationInput<ReleaseFeature>,
  ): OperationResult<OutcomeOf<ReleaseFeature>> {
    return this.#do({ type: "ReleaseFeature", ...asked }, asked, passOutcome);
  }

  releaseAllFeatures(
    asked: OperationInput<ReleaseAllFeatures>,
  ): OperationResult<OutcomeOf<ReleaseAllFeatures>> {
    const nobody = { product: null, user: null };
    return this.#do({ type: "ReleaseAllFeatures", ...asked }, nobody, passOutcome);
  }

  addConsumption({
    idempotencyKey = null,
    ...asked
  }: OperationInput<AddConsumption>): OperationResult<ConsumptionResult> {
    const { licenseId, count, allowOverages, maxOverages } = asked;
    const once = buildIdempotency(idempotencyKey, [licenseId, count, allowOverages, maxOverages]);
    return this.#do({ type: "AddConsumption", ...asked, once }, asked, addLicenseView);
  }

  addFeatureConsumption({
    idempotencyKey = null,
    ...asked
  }: OperationInput<AddFeatureConsumption>): OperationResult<FeatureConsumptionResult> {
    const { licenseId, feature, count, allowOverages, maxOverages } = asked;
    const once = buildIdempotency(idempotencyKey, [
      licenseId,
      feature,
      count,
      allowOverages,
      maxOverages,
    ]);
    return this.#do(
      { type: "AddFeatureConsumption", ...asked, once },
      asked,
      (state, outcome, at) => ({
        ...outcome,
        view: viewOutcomeFeature(state, outcome, at),
      }),
    );
  }

  /** The license a caller would be served by: a valid one before one that is not. */
  async findLicense(aim: LicenseSelector): OperationResult<LicenseView> {
    return flattenResult(
      await this.#store.read((state, at): Result<LicenseView, Fault> => {
        const missing = findMissingFields(state, aim, {});
        if (missing.length > 0) return err({ code: "missing_parameters", fields: missing });
        const licenses = findLicenses(state, aim);
        if (!licenses.ok) return licenses;
        const valid = filterValidLicenses(state, licenses.value, at);
        const [license] = valid.ok ? valid.value : licenses.value;
        return license ? ok(viewLicense(state, license, at)) : err({ code: "license_not_found" });
      }),
    );
  }

  licenses(): OperationResult<LicenseView[]> {
    return this.#store.read((state, at) =>
      [...state.licenses.values()].map((license) => viewLicense(state, license, at)),
    );
  }

  async listRegistrations(
    product: string | null,
    stretch?: PageRange,
  ): OperationResult<RegistrationView[]> {
    return flattenResult(
      await this.#store.read((state, at): Result<RegistrationView[], Fault> => {
        if (product !== null && !state.products.has(product))
          return err({ code: "unknown_product" });
        return ok(viewRegistrations(state, product, at, stretch));
      }),
    );
  }

  status(): OperationResult<ApplianceStatus> {
    return this.#store.read((state, now) => ({
      kind: state.kind,
      now,
      createdAt: state.createdAt,
      health: this.#store.health(),
      auditGaps: state.auditGaps,
      licenses: [...state.licenses.values()].map((license) => viewLicense(state, license, now)),
      refusals: [...state.refusals.values()].toSorted((a, b) => b.count - a.count),
    }));
  }

  /** How much was in use; `wait`: not before all of the record is read that it takes. */
  readUsage(span: UsageRange, wait: boolean): OperationResult<UsageResult> {
    return this.#usage.view(span, wait);
  }

  /** Gives the appliance up on this host; whoever has its file goes on with it elsewhere. */
  moveAway(peer: string): OperationResult<Retirement> {
    return this.#store.transact(
      { type: "MoveAway", move: randomId(), peer },
      (_state, outcome) => outcome,
    );
  }

  /** Null: it was not given up here. */
  findRetirement(): Retirement | null {
    return this.#store.peek(({ retirement }) => retirement);
  }

  health(): StoreStatus {
    return this.#store.health();
  }

  condition(): StoreHealth {
    return this.#store.condition();
  }

  async close(): Promise<void> {
    this.#usage.stop();
    clearInterval(this.#counting);
    await this.#countRefusals();
    await this.#store.close();
  }

  readonly #slot = (state: State, outcome: SlotOutcome, at: Instant): SlotResult => {
    this.#usage.recordSlotTaken(state, outcome.license, at);
    return buildSlotResult(state, outcome, at);
  };

  async #leased(
    asked: OperationResult<SlotResult>,
    nonce: string | null,
  ): OperationResult<SlotResult> {
    const answer = await asked;
    if (!answer.ok || !answer.value.isHeld) return answer;
    const lease = await this.#signer(buildLease(answer.value, nonce));
    return ok({ ...answer.value, lease });
  }

  async #do<C extends Command, T>(
    command: C,
    { product, user }: { readonly product: string | null; readonly user: string | null },
    view: (state: State, outcome: OutcomeOf<C>, at: Instant) => T,
  ): OperationResult<T> {
    const meter = this.#budget.meterFor(findChargedPeer(command));
    const answer = await this.#store.transact(command, view, meter);
    if (!answer.ok) this.#note(answer.fault.code, product, user);
    return answer;
  }

  #note(code: string, product: string | null, user: string | null): void {
    this.#refusals.count(this.#store.peek(findInstalledProduct(product)), code, user);
  }

  async #countRefusals(): Promise<void> {
    const refusals = this.#refusals.drain();
    if (refusals.length === 0) return;
    const counted = await this.#store.transact({ type: "CountRefusals", refusals }, () => null);
    if (!counted.ok) this.#refusals.restore(refusals);
  }
}
