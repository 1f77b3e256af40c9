import { Type } from "@sinclair/typebox";
import { canBorrow, type ConsumptionTerms, type FeatureTerms } from "../domain/terms.ts";
import type { Instant } from "../domain/time.ts";
import type { FeatureView, LicenseView } from "../domain/views.ts";
import { rfc3339OrNull } from "./timestamps.ts";

/** What the caller holds of a license, where it is a caller's own answer. */
export interface Held {
  readonly borrowedUntil: Instant | null;
}

const text = Type.Union([Type.String(), Type.Null()]);
const count = Type.Union([Type.Integer(), Type.Null()]);
const time = Type.Union([Type.String({ format: "date-time" }), Type.Null()]);

const consumptionShape = {
  total_consumptions: Type.Integer(),
  max_overages: Type.Integer(),
  allow_overages: Type.Boolean(),
  allow_unlimited_consumptions: Type.Boolean(),
  allow_negative_consumptions: Type.Boolean(),
  reset_consumption: Type.Boolean(),
  consumption_period: text,
};

export const FeatureObject = Type.Object({
  id: Type.Integer(),
  code: Type.String(),
  name: Type.String(),
  feature_type: Type.Union([Type.Literal("activation"), Type.Literal("consumption")]),
  expiry_date: time,
  metadata: text,
  is_floating: Type.Boolean(),
  is_floating_cloud: Type.Boolean(),
  floating_users: count,
  floating_timeout: count,
  floating_in_use_devices: Type.Integer(),
  max_consumption: count,
  ...consumptionShape,
});

export const LicenseObject = Type.Object({
  id: Type.Integer(),
  license_key: text,
  license_type: Type.String(),
  product_details: Type.Object({ product_name: Type.String(), short_code: Type.String() }),
  customer: text,
  metadata: text,
  custom_fields: Type.Array(Type.Unknown()),
  start_date: time,
  validity_period: time,
  maintenance_period: time,
  is_trial: Type.Boolean(),
  allow_grace_period: Type.Boolean(),
  grace_period: count,
  license_active: Type.Boolean(),
  license_enabled: Type.Boolean(),
  is_expired: Type.Boolean(),
  is_floating: Type.Literal(true),
  is_floating_cloud: Type.Literal(false),
  floating_users: Type.Integer(),
  floating_timeout: Type.Integer(),
  floating_in_use_devices: Type.Integer(),
  can_borrow: Type.Boolean(),
  max_borrow_time: count,
  borrowed_until: time,
  is_borrowed: Type.Boolean(),
  max_activations: count,
  times_activated: count,
  max_transfers: count,
  transfer_count: count,
  prevent_vm: Type.Boolean(),
  max_consumptions: count,
  ...consumptionShape,
  is_air_gapped: Type.Boolean(),
  policy_id: text,
  product_features: Type.Array(FeatureObject),
});

/** The license as clients of this API know it: every field, always, null where there is nothing. */
export function licenseObject(view: LicenseView, held: Held | null): typeof LicenseObject.static {
  const { terms } = view;
  return {
    id: view.id,
    license_key: terms.licenseKey,
    license_type: terms.type,
    product_details: { product_name: terms.productName, short_code: terms.product },
    customer: terms.customer,
    metadata: terms.metadata,
    custom_fields: [],
    start_date: rfc3339OrNull(terms.start),
    validity_period: rfc3339OrNull(terms.validUntil),
    maintenance_period: rfc3339OrNull(terms.maintenanceUntil),
    is_trial: terms.trial,
    allow_grace_period: terms.graceHours !== null,
    grace_period: terms.graceHours,
    license_active: view.active,
    license_enabled: terms.enabled,
    is_expired: view.expired,
    is_floating: true,
    is_floating_cloud: false,
    floating_users: terms.slots,
    floating_timeout: terms.timeoutMinutes,
    floating_in_use_devices: view.slotsInUse,
    can_borrow: canBorrow(terms),
    max_borrow_time: terms.borrowHours,
    borrowed_until: rfc3339OrNull(held?.borrowedUntil ?? null),
    is_borrowed: held !== null && held.borrowedUntil !== null,
    max_activations: null,
    times_activated: null,
    max_transfers: null,
    transfer_count: null,
    prevent_vm: false,
    max_consumptions: terms.consumption?.max ?? null,
    ...consumption(terms.consumption, view.total),
    is_air_gapped: view.grant.policyId !== null,
    policy_id: view.grant.policyId,
    product_features: view.features.map(featureObject),
  };
}

export function featureObject(view: FeatureView): typeof FeatureObject.static {
  const { id, terms, slotsInUse, total } = view;
  const type: FeatureType = terms.consumption === null ? "activation" : "consumption";
  return {
    id,
    code: terms.code,
    name: terms.name,
    feature_type: type,
    expiry_date: rfc3339OrNull(terms.expires),
    metadata: terms.metadata,
    is_floating: terms.floating !== null,
    is_floating_cloud: false,
    floating_users: terms.floating?.slots ?? null,
    floating_timeout: terms.floating?.timeoutMinutes ?? null,
    floating_in_use_devices: slotsInUse,
    max_consumption: terms.consumption?.max ?? null,
    ...consumption(terms.consumption, total),
  };
}

type FeatureType = (typeof FeatureObject.static)["feature_type"];

/** The fields that licenses, features and the replies to counting share. */
export function consumption(terms: FeatureTerms["consumption"], total: number) {
  const { overages, negative, period }: ConsumptionTerms = terms ?? NOT_COUNTING;
  return {
    total_consumptions: total,
    max_overages: overages,
    allow_overages: overages > 0,
    allow_unlimited_consumptions: terms !== null && terms.max === null,
    allow_negative_consumptions: negative,
    reset_consumption: period !== null,
    consumption_period: period,
  };
}

const NOT_COUNTING: ConsumptionTerms = { max: 0, overages: 0, negative: false, period: null };
