import type {
  AddConsumption,
  AddFeatureConsumption,
  Aim,
  Borrow,
  Command,
  InstallLicense,
  Register,
  RegisterFeature,
  ReleaseAllFeatures,
  ReleaseFeature,
  Unregister,
  UnregisterAll,
} from "../domain/command.ts";
import type { OutcomeOf } from "../domain/decide.ts";
import type { Fault } from "../domain/fault.ts";
import { licensesOf, missingFields, validOf } from "../domain/licenses.ts";
import { no, ok, type Result } from "../domain/result.ts";
import type { SlotOutcome } from "../domain/slots.ts";
import type { State } from "../domain/state.ts";
import { MINUTE, type Instant } from "../domain/time.ts";
import {
  viewFeature,
  viewLicense,
  viewRegistrations,
  type FeatureView,
  type LicenseView,
  type RegistrationView,
} from "../domain/views.ts";
import { sha256 } from "../platform/hash.ts";
import type { StorageFault } from "../store/group-commit.ts";
import type { Store, StoreHealth } from "../store/store.ts";
import { RefusalTally } from "./refusal-tally.ts";

export type { StorageFault };

export type Answer<T> = Promise<Result<T, Fault | StorageFault>>;

/** A command as a caller sends it: without its name, and with its own key for doing it once. */
type Asked<C extends Command> = Omit<C, "type" | "once"> & {
  readonly idempotencyKey?: string | null;
};

export interface SlotAnswer extends SlotOutcome {
  readonly view: LicenseView;
}

export interface ConsumptionAnswer {
  readonly total: number;
  readonly view: LicenseView;
}

export interface FeatureConsumptionAnswer {
  readonly license: number;
  readonly total: number;
  readonly view: FeatureView;
}

export interface Status {
  readonly kind: State["kind"];
  readonly now: Instant;
  readonly createdAt: Instant;
  readonly health: StoreHealth;
  readonly licenses: readonly LicenseView[];
  readonly refusals: readonly {
    readonly product: string | null;
    readonly code: string;
    readonly count: number;
  }[];
}

/**
 * Everything Berth can do, each once. HTTP and the command line talk to this and to nothing below
 * it. What comes in is already typed; what goes out is plain data, durable.
 */
export class Operations {
  readonly #store: Store;
  readonly #refusals = new RefusalTally();
  readonly #counting: Timer;

  constructor(store: Store) {
    this.#store = store;
    this.#counting = setInterval(() => void this.#countRefusals(), MINUTE);
    this.#counting.unref();
  }

  register(asked: Asked<Register>): Answer<SlotAnswer> {
    return this.#do({ type: "Register", ...asked }, asked, withLicense);
  }

  borrow({ idempotencyKey = null, ...asked }: Asked<Borrow>): Answer<SlotAnswer> {
    const { licenseId, until, contact } = asked;
    const { hostname, ip, info } = contact;
    const once = onceBy(idempotencyKey, [licenseId, until, hostname, ip, info]);
    return this.#do({ type: "Borrow", ...asked, once }, asked, withLicense);
  }

  unregister(asked: Asked<Unregister>): Answer<OutcomeOf<Unregister>> {
    return this.#do({ type: "Unregister", ...asked }, asked, asDecided);
  }

  unregisterAll(asked: Asked<UnregisterAll>): Answer<OutcomeOf<UnregisterAll>> {
    return this.#do({ type: "UnregisterAll", ...asked }, { ...asked, user: null }, asDecided);
  }

  registerFeature(asked: Asked<RegisterFeature>): Answer<FeatureView> {
    return this.#do({ type: "RegisterFeature", ...asked }, asked, featureIn);
  }

  releaseFeature(asked: Asked<ReleaseFeature>): Answer<OutcomeOf<ReleaseFeature>> {
    return this.#do({ type: "ReleaseFeature", ...asked }, asked, asDecided);
  }

  releaseAllFeatures(asked: Asked<ReleaseAllFeatures>): Answer<OutcomeOf<ReleaseAllFeatures>> {
    const nobody = { product: null, user: null };
    return this.#do({ type: "ReleaseAllFeatures", ...asked }, nobody, asDecided);
  }

  addConsumption({
    idempotencyKey = null,
    ...asked
  }: Asked<AddConsumption>): Answer<ConsumptionAnswer> {
    const { licenseId, count, allowOverages, maxOverages } = asked;
    const once = onceBy(idempotencyKey, [licenseId, count, allowOverages, maxOverages]);
    return this.#do({ type: "AddConsumption", ...asked, once }, asked, withLicense);
  }

  addFeatureConsumption({
    idempotencyKey = null,
    ...asked
  }: Asked<AddFeatureConsumption>): Answer<FeatureConsumptionAnswer> {
    const { licenseId, feature, count, allowOverages, maxOverages } = asked;
    const once = onceBy(idempotencyKey, [licenseId, feature, count, allowOverages, maxOverages]);
    return this.#do(
      { type: "AddFeatureConsumption", ...asked, once },
      asked,
      (state, outcome, at) => ({
        ...outcome,
        view: featureIn(state, outcome, at),
      }),
    );
  }

  installLicense(asked: Asked<InstallLicense>): Answer<LicenseView> {
    const about = { product: asked.terms.product, user: null };
    return this.#do({ type: "InstallLicense", ...asked }, about, (state, { license }, at) =>
      viewLicense(installed(state, license), at),
    );
  }

  /** The license a caller would be served by: a valid one before one that is not. */
  async license(aim: Aim): Answer<LicenseView> {
    return flat(
      await this.#store.read((state, at): Result<LicenseView, Fault> => {
        const missing = missingFields(state, aim, {});
        if (missing.length > 0) return no({ code: "missing_parameters", fields: missing });
        const licenses = licensesOf(state, aim);
        if (!licenses.ok) return licenses;
        const valid = validOf(licenses.value, at);
        const [license] = valid.ok ? valid.value : licenses.value;
        return license ? ok(viewLicense(license, at)) : no({ code: "license_not_found" });
      }),
    );
  }

  licenses(): Answer<LicenseView[]> {
    return this.#store.read(({ licenses }, at) =>
      [...licenses.values()].map((license) => viewLicense(license, at)),
    );
  }

  async registrations(product: string | null): Answer<RegistrationView[]> {
    return flat(
      await this.#store.read((state, at): Result<RegistrationView[], Fault> => {
        if (product !== null && !state.products.has(product))
          return no({ code: "unknown_product" });
        return ok(viewRegistrations(state, product, at));
      }),
    );
  }

  status(): Answer<Status> {
    return this.#store.read(({ kind, createdAt, licenses, refusals }, now) => ({
      kind,
      now,
      createdAt,
      health: this.#store.health(),
      licenses: [...licenses.values()].map((license) => viewLicense(license, now)),
      refusals: [...refusals.values()].toSorted((a, b) => b.count - a.count),
    }));
  }

  health(): StoreHealth {
    return this.#store.health();
  }

  async close(): Promise<void> {
    clearInterval(this.#counting);
    await this.#countRefusals();
    await this.#store.close();
  }

  async #do<C extends Command, T>(
    command: C,
    { product, user }: { readonly product: string | null; readonly user: string | null },
    view: (state: State, outcome: OutcomeOf<C>, at: Instant) => T,
  ): Answer<T> {
    const answer = await this.#store.transact(command, view);
    if (!answer.ok) this.#note(answer.fault.code, product, user);
    return answer;
  }

  #note(code: string, product: string | null, user: string | null): void {
    this.#refusals.note(this.#store.peek(installedProduct(product)), code, user);
  }

  async #countRefusals(): Promise<void> {
    const refusals = this.#refusals.take();
    if (refusals.length === 0) return;
    const counted = await this.#store.transact({ type: "CountRefusals", refusals }, () => null);
    if (!counted.ok) this.#refusals.putBack(refusals);
  }
}

/** The product a caller means, if there is such a one; leaving it out means the only one. */
const installedProduct =
  (product: string | null) =>
  ({ products }: State): string | null => {
    if (product !== null) return products.has(product) ? product : null;
    const [only, ...others] = products.keys();
    return only !== undefined && others.length === 0 ? only : null;
  };

const asDecided = <O>(_state: State, outcome: O): O => outcome;

const withLicense = <O extends { readonly license: number }>(
  state: State,
  outcome: O,
  at: Instant,
): O & { readonly view: LicenseView } => ({
  ...outcome,
  view: viewLicense(installed(state, outcome.license), at),
});

function featureIn(
  state: State,
  outcome: { readonly license: number; readonly feature: string },
  at: Instant,
): FeatureView {
  const view = viewFeature(installed(state, outcome.license), outcome.feature, at);
  if (view === null) throw new Error("a decision names a feature that is not there");
  return view;
}

function installed(state: State, id: number) {
  const license = state.licenses.get(id);
  if (license === undefined) throw new Error("a decision names a license that is not there");
  return license;
}

/** Product and user are part of where a key is kept, so they are not part of what it stands for. */
const onceBy = (key: string | null, command: readonly unknown[]) =>
  key === null ? null : { key, fingerprint: sha256(JSON.stringify(command)) };

const flat = <T, F, G>(outer: Result<Result<T, F>, G>): Result<T, F | G> =>
  outer.ok ? outer.value : outer;
