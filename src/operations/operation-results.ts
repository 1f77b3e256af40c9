import { computeLeaseEnd } from "../domain/slots/leases.ts";
import type { Result } from "../domain/result.ts";
import type { RuleContext } from "../domain/rule-context.ts";
import { findHeldSlot, type SlotOutcome } from "../domain/slots/slots.ts";
import type { State } from "../domain/state.ts";
import type { Instant } from "../domain/time.ts";
import { viewFeature, viewLicense, type FeatureView, type LicenseView } from "../domain/views.ts";
import type { Lease } from "../license/lease.ts";
import { sha256 } from "../platform/hash.ts";
import type { StoreStatus } from "../store/store-options.ts";

export interface SlotResult extends SlotOutcome {
  readonly at: Instant;
  readonly view: LicenseView;
  /** False for a repeat whose slot was released since: another user may hold it now. */
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
  readonly storeStatus: StoreStatus;
  readonly auditGaps: State["auditGaps"];
  readonly licenses: readonly LicenseView[];
  readonly refusals: readonly {
    readonly product: string | null;
    readonly code: string;
    readonly count: number;
  }[];
}

/** The installed product of a request, if any; without a name, the only installed product. */
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
  context: RuleContext,
): O & { readonly view: LicenseView } => ({
  ...outcome,
  view: viewLicense(state, getInstalledLicense(state, outcome.license), context),
});

export const buildSlotResult = (
  state: State,
  outcome: SlotOutcome,
  context: RuleContext,
): SlotResult => {
  const { at } = context;
  const license = getInstalledLicense(state, outcome.license);
  const isHeld = findHeldSlot(license.pool, outcome.user, at)?.slot === outcome.slot;
  return { ...outcome, view: viewLicense(state, license, context), at, isHeld, lease: null };
};

/** The content of a lease, which an application can verify offline. */
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
  { at }: RuleContext,
): FeatureView {
  const view = viewFeature(getInstalledLicense(state, outcome.license), outcome.feature, at);
  if (view === null) throw new Error("a decision names a feature that does not exist");
  return view;
}

function getInstalledLicense(state: State, id: number) {
  const license = state.licenses.get(id);
  if (license === undefined) throw new Error("a decision names a license that does not exist");
  return license;
}

/** The stored form of a device's nonce: it can be recognized, but not used for a lease. */
export const hashNonce = (nonce: string | null): string | null =>
  nonce === null ? null : sha256(nonce);

/**
 * Product and user are not in the fingerprint, because stored keys are already separated by them.
 */
export const buildIdempotency = (key: string | null, command: readonly unknown[]) =>
  key === null ? null : { key, fingerprint: sha256(JSON.stringify(command)) };

export const flattenResult = <T, F, G>(outer: Result<Result<T, F>, G>): Result<T, F | G> =>
  outer.ok ? outer.value : outer;
