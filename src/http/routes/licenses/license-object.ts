import { Type } from "@sinclair/typebox";
import {
  canBorrow,
  type ConsumptionTerms,
  type FeatureTerms,
} from "../../../domain/model/licenses/terms.ts";
import type { Instant } from "../../../domain/time.ts";
import type { FeatureView, LicenseView } from "../../../domain/views/views.ts";
import { rfc3339OrNull } from "../../timestamps.ts";

/** The caller's slot of a license, in replies to register and borrow. */
export interface CallerSlot {
  readonly borrowedUntil: Instant | null;
}

const NULL = Type.Null();
const text = (description: string) => Type.Union([Type.String(), NULL], { description });
const flag = (description: string) => Type.Boolean({ description });
const integer = (description: string) => Type.Integer({ description });
const count = (description: string) => Type.Union([Type.Integer(), NULL], { description });
const time = (description: string) =>
  Type.Union([Type.String({ format: "date-time" }), NULL], { description });

const CLOUD_ONLY = "Used by licensing clouds only.";

export const consumptionShape = {
  total_consumptions: integer("Consumption since the last reset."),
  max_overages: integer("Number allowed above the maximum."),
  allow_overages: flag("Whether an overage is allowed."),
  allow_unlimited_consumptions: flag("Consumption has no maximum."),
  allow_negative_consumptions: flag("Negative counts are allowed."),
  reset_consumption: flag("Whether the total is reset every period."),
  consumption_period: text("daily, weekly, monthly or annually, in UTC; null: never reset."),
};

export const FeatureObject = Type.Object(
  {
    id: integer("Id of the feature within its license."),
    code: Type.String({ description: "Feature code for requests." }),
    name: Type.String({ description: "Display name." }),
    feature_type: Type.Union([Type.Literal("activation"), Type.Literal("consumption")], {
      description: "activation: on or off; consumption: counted.",
    }),
    expiry_date: time("Expiry, if earlier than that of the license; null: same as the license."),
    metadata: text("Data of the vendor."),
    is_floating: flag("The feature has its own slots; featureRegister takes one."),
    is_floating_cloud: flag("Always false."),
    floating_users: count("Slots of the feature; null: not floating."),
    floating_timeout: count("Minutes without contact after which a slot of the feature is free."),
    floating_in_use_devices: integer("Slots of the feature in use."),
    max_consumption: count("Maximum consumption; null: no maximum, or consumption is not counted."),
    ...consumptionShape,
  },
  { title: "Feature" },
);

export const LicenseObject = Type.Object(
  {
    id: integer("License id: license_id of other requests."),
    license_key: text("License key: the vendor's identifier of the purchase."),
    license_type: Type.String({
      description: "perpetual, time-limited, subscription or consumption.",
    }),
    product_details: Type.Object(
      {
        product_name: Type.String({ description: "Display name." }),
        short_code: Type.String({ description: "Product code: product of other requests." }),
      },
      { title: "ProductDetails" },
    ),
    customer: text("Customer that bought the license."),
    metadata: text("Data of the vendor."),
    custom_fields: Type.Array(Type.Unknown(), {
      description: "Always empty; some clients require the field.",
    }),
    start_date: time("Start of validity; null: no start date."),
    validity_period: time("End of validity; null: no expiry."),
    maintenance_period: time("End of included updates; null: no end."),
    is_trial: flag("Trial license."),
    allow_grace_period: flag("The license stays usable for a grace period after its end."),
    grace_period: count("Grace period in hours."),
    license_active: flag("The start date has passed."),
    license_enabled: flag("The vendor has not disabled the license."),
    is_expired: flag("The end and the grace period have passed."),
    is_floating: Type.Literal(true),
    is_floating_cloud: Type.Literal(false),
    floating_users: integer("Number of slots."),
    floating_timeout: integer("Minutes without contact after which a slot is free."),
    floating_in_use_devices: integer("Slots in use."),
    can_borrow: flag("Slots can be borrowed."),
    max_borrow_time: count("Longest borrow in hours."),
    borrowed_until: time("End of the user's borrow; null: none, or a request without a user."),
    is_borrowed: flag("Whether the user's slot is borrowed."),
    max_activations: count(CLOUD_ONLY),
    times_activated: count(CLOUD_ONLY),
    max_transfers: count(CLOUD_ONLY),
    transfer_count: count(CLOUD_ONLY),
    prevent_vm: flag("Always false."),
    max_consumptions: count(
      "Maximum consumption; null: no maximum, or consumption is not counted.",
    ),
    ...consumptionShape,
    report_every_days: count(
      "Days after which the vendor wants the next usage statement; null: it wants none.",
    ),
    hosts: Type.Optional(integer("2: for both hosts of a pair; absent: for one host.")),
    is_air_gapped: flag("Installed with a policy and a confirmation code."),
    policy_id: text("Id of the policy of an air-gapped license."),
    product_features: Type.Array(FeatureObject),
  },
  { title: "License" },
);

/** The license object of the API: every field is always present, null without a value. */
export function licenseObject(
  view: LicenseView,
  callerSlot: CallerSlot | null,
): typeof LicenseObject.static {
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
    borrowed_until: rfc3339OrNull(callerSlot?.borrowedUntil ?? null),
    is_borrowed: callerSlot !== null && callerSlot.borrowedUntil !== null,
    max_activations: null,
    times_activated: null,
    max_transfers: null,
    transfer_count: null,
    prevent_vm: false,
    max_consumptions: terms.consumption?.max ?? null,
    ...consumptionReplyFields(terms.consumption, view.total),
    report_every_days: terms.reportEveryDays ?? null,
    ...(view.grant.hosts !== undefined && { hosts: view.grant.hosts.length }),
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
    ...consumptionReplyFields(terms.consumption, total),
  };
}

type FeatureType = (typeof FeatureObject.static)["feature_type"];

/** Fields that licenses, features and the replies to consumption requests share. */
export function consumptionReplyFields(terms: FeatureTerms["consumption"], total: number) {
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
