import { Type, type Static, type TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { FeatureTerms, Terms } from "../../domain/model/licenses/terms.ts";
import { instant, type Instant } from "../../domain/time.ts";

const closed = { additionalProperties: false };
// A description completes the sentence "slots must be …" in error messages.
const text = (maxLength: number) =>
  Type.String({ minLength: 1, maxLength, description: `a text of 1 to ${maxLength} characters` });
const wholeNumber = (minimum: number, maximum: number, unit = "") =>
  Type.Integer({
    minimum,
    maximum,
    description: `a whole number${unit} from ${minimum} to ${maximum}`,
  });
const count = wholeNumber(0, 1_000_000_000_000);
const hours = wholeNumber(0, 876_000, " of hours");
const minutes = wholeNumber(1, 5_256_000, " of minutes");
const trueOrFalse = Type.Boolean({ description: "true or false" });
const time = Type.String({
  pattern: "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$",
  description: "a time such as 2027-12-31T00:00:00.000Z",
});
const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

export const ConsumptionSchema = Type.Object(
  {
    /** Null: unlimited. */
    max: orNull(count),
    overages: count,
    negative: trueOrFalse,
    period: orNull(
      Type.Union(
        [
          Type.Literal("daily"),
          Type.Literal("weekly"),
          Type.Literal("monthly"),
          Type.Literal("annually"),
        ],
        { description: "one of daily, weekly, monthly, annually" },
      ),
    ),
  },
  closed,
);

export const FeatureSchema = Type.Object(
  {
    code: text(256),
    name: text(256),
    metadata: orNull(text(4_096)),
    expires: orNull(time),
    floating: orNull(Type.Object({ slots: count, timeout_minutes: minutes }, closed)),
    consumption: orNull(ConsumptionSchema),
  },
  closed,
);

/** The vendor's terms as in a document: only the members that are marked so may be left out. */
export const TermsDocument = Type.Object(
  {
    product: text(256),
    product_name: text(256),
    license_key: orNull(text(256)),
    license_type: Type.Union(
      [
        Type.Literal("perpetual"),
        Type.Literal("time-limited"),
        Type.Literal("subscription"),
        Type.Literal("consumption"),
      ],
      { description: "one of perpetual, time-limited, subscription, consumption" },
    ),
    customer: orNull(text(256)),
    metadata: orNull(text(4_096)),
    trial: trueOrFalse,
    enabled: trueOrFalse,
    start: orNull(time),
    valid_until: orNull(time),
    maintenance_until: orNull(time),
    grace_hours: orNull(hours),
    slots: count,
    timeout_minutes: minutes,
    borrow_hours: orNull(hours),
    early_return: trueOrFalse,
    move_grace_hours: hours,
    /** Absent: none. */
    restore_grace_hours: Type.Optional(wholeNumber(1, 8_760, " of hours")),
    /** Absent: no statements are wanted. */
    report_every_days: Type.Optional(wholeNumber(1, 366, " of days")),
    consumption: orNull(ConsumptionSchema),
    features: Type.Array(FeatureSchema, {
      maxItems: 256,
      description: "a list of at most 256 features",
    }),
  },
  closed,
);

export type TermsDocument = Static<typeof TermsDocument>;

/** Null when the value has wrong members, a day that does not exist, or a feature twice. */
export function decodeTerms(value: unknown): Terms | null {
  if (!Value.Check(TermsDocument, value)) return null;
  const times = [value.start, value.valid_until, value.maintenance_until];
  const ends = [...times, ...value.features.map(({ expires }) => expires)];
  if (ends.some((end) => end !== null && !isExistingTime(end))) return null;
  const codes = new Set(value.features.map(({ code }) => code));
  if (codes.size !== value.features.length) return null;
  return {
    product: value.product,
    productName: value.product_name,
    licenseKey: value.license_key,
    type: value.license_type,
    customer: value.customer,
    metadata: value.metadata,
    trial: value.trial,
    enabled: value.enabled,
    start: toInstant(value.start),
    validUntil: toInstant(value.valid_until),
    maintenanceUntil: toInstant(value.maintenance_until),
    graceHours: value.grace_hours,
    slots: value.slots,
    timeoutMinutes: value.timeout_minutes,
    borrowHours: value.borrow_hours,
    earlyReturn: value.early_return,
    moveGraceHours: value.move_grace_hours,
    // Absent stays absent: every start compares the stored terms with the signed ones.
    ...(value.restore_grace_hours !== undefined && {
      restoreGraceHours: value.restore_grace_hours,
    }),
    ...(value.report_every_days !== undefined && { reportEveryDays: value.report_every_days }),
    consumption: value.consumption,
    features: value.features.map(decodeFeature),
  };
}

function decodeFeature(value: Static<typeof FeatureSchema>): FeatureTerms {
  const { floating, expires, ...rest } = value;
  return {
    ...rest,
    expires: toInstant(expires),
    floating: floating && { slots: floating.slots, timeoutMinutes: floating.timeout_minutes },
  };
}

const toInstant = (time: string | null): Instant | null =>
  time === null ? null : instant(Date.parse(time));

/** `Date` turns 30 February into 2 March; a document with such a day is refused. */
const isExistingTime = (time: string): boolean => {
  const parsed = new Date(time);
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString() === time;
};
