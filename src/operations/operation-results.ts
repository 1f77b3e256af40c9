import { computeLeaseEnd } from "../domain/leases.ts";
import type { Result } from "../domain/result.ts";
import { findHeldSlot, type SlotOutcome } from "../domain/slots.ts";
import type { State } from "../domain/state.ts";
import type { Instant } from "../domain/time.ts";
import { viewFeature, viewLicense, type FeatureView, type LicenseView } from "../domain/views.ts";
import type { Lease } from "../license/lease.ts";
import { sha256 } from "../platform/hash.ts";
import type { StoreStatus } from "../store/store-options.ts";

export interface SlotResult extends SlotOutcome {
  readonly at: Instant;
  readonly view: LicenseView;
  /** False for a repeat whose slot was given back since: then somebody else may have it. */
  readonly isHeld: boolean;
  readonly lease: string | null;
}

export interface ConsumptionResult {
  readonly total: number;
  readonly view: LicenseView;
}

export interface FeatureConsumptionResult {
  readonly license: number;
  readonly total: number;
  readonly view: FeatureView;
}

export interface ApplianceStatus {
  readonly kind: State["kind"];
  readonly now: Instant;
  readonly createdAt: Instant;
  readonly health: StoreStatus;
  readonly auditGaps: State["auditGaps"];
  readonly licenses: readonly LicenseView[];
  readonly refusals: readonly {
    readonly product: string | null;
    readonly code: string;
    readonly count: number;
  }[];
}

/** The product a caller means, if there is such a one; leaving it out means the only one. */
export const findInstalledProduct =
  (product: string | null) =>
  ({ products }: State): string | null => {
    if (product !== null) return products.has(product) ? product : null;
    const [only, ...others] = products.keys();
    return only !== undefined && others.length === 0 ? only : null;
  };

export const passOutcome = <O>(_state: State, outcome: O): O => outcome;

export const addLicenseView = <O extends { readonly license: number }>(
  state: State,
  outcome: O,
  at: Instant,
): O & { readonly view: LicenseView } => ({
  ...outcome,
  view: viewLicense(state, installed(state, outcome.license), at),
});

export const buildSlotResult = (state: State, outcome: SlotOutcome, at: Instant): SlotResult => {
  const license = installed(state, outcome.license);
  const held = findHeldSlot(license.pool, outcome.user, at)?.slot === outcome.slot;
  return { ...outcome, view: viewLicense(state, license, at), at, isHeld: held, lease: null };
};

/** What is signed of a slot, for an application to check by itself. */
export function buildLease(slot: SlotResult, nonce: string | null): Lease {
  const { user, product, license, slot: number, end, contact, borrowedUntil, view, at } = slot;
  return {
    user,
    product,
    licenseId: license,
    licenseHash: view.grant.lic,
    serial: view.grant.serial,
    slot: number,
    issuedAt: at,
    expiresAt: computeLeaseEnd(view.terms, end, at),
    hostname: contact.hostname,
    isBorrowed: borrowedUntil !== null,
    nonce,
  };
}

export function viewOutcomeFeature(
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

/** What is kept of a device's nonce: enough to know it again, not to lease in its name. */
export const hashNonce = (nonce: string | null): string | null =>
  nonce === null ? null : sha256(nonce);

/** Product and user are part of where a key is kept, so they are not part of what it stands for. */
export const buildIdempotency = (key: string | null, command: readonly unknown[]) =>
  key === null ? null : { key, fingerprint: sha256(JSON.stringify(command)) };

export const flattenResult = <T, F, G>(outer: Result<Result<T, F>, G>): Result<T, F | G> =>
  outer.ok ? outer.value : outer;
