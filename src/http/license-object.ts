import { Type } from "@sinclair/typebox";
import { canBorrow, type ConsumptionTerms, type FeatureTerms } from "../domain/terms.ts";
import type { Instant } from "../domain/time.ts";
import type { FeatureView, LicenseView } from "../domain/views.ts";
import { rfc3339OrNull } from "./timestamps.ts";

/** What the caller holds of a license, where it is a caller's own answer. */
export interface Held {
  readonly borrowedUntil: Instant | null;
}

const NULL = Type.Null();
const text = (description: string) => Type.Union([Type.String(), NULL], { description });
const flag = (description: string) => Type.Boolean({ description });
const integer = (description: string) => Type.Integer({ description });
const count = (description: string) => Type.Union([Type.Integer(), NULL], { description });
const time = (description: string) =>
  Type.Union([Type.String({ format: "date-time" }), NULL], { description });

const CLOUD_ONLY = "Counted by licensing clouds; nothing here.";

export const consumptionShape = {
  total_consumptions: integer("Counted since the last reset."),
  max_overages: integer("How many more than the maximum are granted."),
  allow_overages: flag("Whether any more are."),
  allow_unlimited_consumptions: flag("Counts without a maximum."),
  allow_negative_consumptions: flag("Can be counted down."),
  reset_consumption: flag("Whether the total begins anew every period."),
  consumption_period: text("daily, weekly, monthly or annually, in UTC; null: it is never reset."),
};

export const FeatureObject = Type.Object(
  {
    id: integer("Of the feature within its license."),
    code: Type.String({ description: "What calls name it by." }),
    name: Type.String({ description: "What people call it." }),
    feature_type: Type.Union([Type.Literal("activation"), Type.Literal("consumption")], {
      description: "On or off, or counted.",
    }),
    expiry_date: time("Where it ends before its license; null: with it."),
    metadata: text("The vendor's own."),
    is_floating: flag("Has slots of its own, taken by featureRegister."),
    is_floating_cloud: flag("Never here."),
    floating_users: count("Slots of the feature; null: it is not floating."),
    floating_timeout: count("Minutes without contact after which its slot is free."),
    floating_in_use_devices: integer("Slots of the feature taken now."),
    max_consumption: count(
      "The most that can be counted; null: no maximum, or nothing is counted.",
    ),
    ...consumptionShape,
  },
  { title: "Feature" },
);

export const LicenseObject = Type.Object(
  {
    id: integer("The license_id of other calls."),
    license_key: text("The vendor's name for what was bought."),
    license_type: Type.String({
      description: "perpetual, time-limited, subscription or consumption.",
    }),
    product_details: Type.Object(
      {
        product_name: Type.String({ description: "What people call it." }),
        short_code: Type.String({ description: "The product of other calls." }),
      },
      { title: "ProductDetails" },
    ),
    customer: text("Who it was sold to."),
    metadata: text("The vendor's own."),
    custom_fields: Type.Array(Type.Unknown(), { description: "Empty; here for known clients." }),
    start_date: time("Not before; null: from the beginning."),
    validity_period: time("The end; null: none."),
    maintenance_period: time("Until when updates are included."),
    is_trial: flag("For trying."),
    allow_grace_period: flag("Goes on for a while after its end."),
    grace_period: count("For so many hours."),
    license_active: flag("Has begun."),
    license_enabled: flag("The vendor did not disable it."),
    is_expired: flag("Its end has passed, and its grace too."),
    is_floating: Type.Literal(true),
    is_floating_cloud: Type.Literal(false),
    floating_users: integer("Slots."),
    floating_timeout: integer("Minutes without contact after which a slot is free."),
    floating_in_use_devices: integer("Slots taken now."),
    can_borrow: flag("Slots can be borrowed."),
    max_borrow_time: count("For so many hours at most."),
    borrowed_until: time("The caller's own borrow; null: none, or the call has no user."),
    is_borrowed: flag("Whether there is one."),
    max_activations: count(CLOUD_ONLY),
    times_activated: count(CLOUD_ONLY),
    max_transfers: count(CLOUD_ONLY),
    transfer_count: count(CLOUD_ONLY),
    prevent_vm: flag("Never here."),
    max_consumptions: count(
      "The most that can be counted; null: no maximum, or nothing is counted.",
    ),
    ...consumptionShape,
    is_air_gapped: flag("Came by policy and confirmation code."),
    policy_id: text("Of the policy it came by."),
    product_features: Type.Array(FeatureObject),
  },
  { title: "License" },
);

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
