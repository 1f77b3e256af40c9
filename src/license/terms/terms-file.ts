import { Type, type Static, type TSchema } from "@sinclair/typebox";
import { err, ok, type Result } from "../../domain/result.ts";
import { findFieldFault, type FieldFault } from "../documents/field-faults.ts";
import { parseEndTime, parseStartTime } from "./term-times.ts";
import type { FeatureChanges, TermsChanges } from "./terms-changes.ts";
import { ConsumptionSchema, FeatureSchema, TermsDocument } from "./terms.ts";

const closed = { additionalProperties: false };

/** What a field with a time must be. */
export const DAY_OR_TIME = "a day or an RFC 3339 time";

const dayOrTime = Type.Union([
  Type.String({
    pattern: "^\\d{4}-\\d\\d-\\d\\d([Tt ].+)?$",
    description: DAY_OR_TIME,
    examples: ["2027-12-31", "2027-12-31T18:00:00Z"],
  }),
  Type.Null(),
]);

const member = <T extends TSchema>(schema: T, title: string) => Type.Optional({ ...schema, title });

const { properties: terms } = TermsDocument;
const { properties: consumptionTerms } = ConsumptionSchema;
const { properties: feature } = FeatureSchema;
const floating = feature.floating.anyOf[0].properties;

const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

const consumption = orNull(
  Type.Object(
    {
      max: member(consumptionTerms.max, "maximum consumption; null: unlimited"),
      overages: member(
        consumptionTerms.overages,
        "consumption allowed above the maximum; default 0",
      ),
      negative: member(
        consumptionTerms.negative,
        "whether negative consumption is allowed; default false",
      ),
      period: member(consumptionTerms.period, "how often the count resets to zero; null: never"),
    },
    closed,
  ),
);

const FeatureInFile = Type.Object(
  {
    code: { ...feature.code, title: "the feature code that applications use" },
    name: member(feature.name, "default: the code"),
    metadata: member(feature.metadata, "a text for the application"),
    expires: member(
      dayOrTime,
      "its own end; a day is included to its end; null: the license's end",
    ),
    floating: member(
      orNull(
        Type.Object(
          {
            slots: member(floating.slots, "maximum number of concurrent users"),
            timeout_minutes: member(floating.timeout_minutes, "default 15"),
          },
          closed,
        ),
      ),
      "null: the feature has no slots of its own",
    ),
    consumption: member(consumption, "null: its consumption is not counted"),
  },
  closed,
);

/** Terms as a person writes them: only the fields to set, and dates without a time. */
const TermsFile = Type.Object(
  {
    $schema: Type.Optional(Type.String({ title: "for editors; ignored" })),
    product: member(terms.product, "the product's code"),
    product_name: member(terms.product_name, "default: the code"),
    license_key: member(
      terms.license_key,
      "the vendor's license key for the purchase; null: as before, or as in the request",
    ),
    license_type: member(terms.license_type, "default time-limited, or perpetual if it has no end"),
    customer: member(terms.customer, "the customer's name"),
    metadata: member(terms.metadata, "a text for the application"),
    trial: member(terms.trial, "default false"),
    enabled: member(terms.enabled, "false: the license grants nothing; default true"),
    start: member(dayOrTime, "the start; a day begins at 00:00 UTC; null: immediately"),
    valid_until: member(
      dayOrTime,
      "the end; a day is included to its end, in UTC; null: never; required for a new license",
    ),
    maintenance_until: member(
      dayOrTime,
      "the end of maintenance; a day is included to its end; null: never",
    ),
    grace_hours: member(
      terms.grace_hours,
      "hours the license stays usable after its end; null: none",
    ),
    slots: member(terms.slots, "maximum number of concurrent users; default 1"),
    timeout_minutes: member(
      terms.timeout_minutes,
      "minutes until a slot without a heartbeat is released; default 15",
    ),
    borrow_hours: member(
      terms.borrow_hours,
      "maximum hours a slot can be borrowed; null: borrowing is not allowed",
    ),
    early_return: member(
      terms.early_return,
      "whether a borrowed slot can be returned early; default true",
    ),
    move_grace_hours: member(
      terms.move_grace_hours,
      "hours the license stays valid on other hardware after a move; default 72",
    ),
    restore_grace_hours: member(
      orNull(terms.restore_grace_hours),
      "hours the license stays valid on other hardware after a restore; null: none",
    ),
    report_every_days: member(
      orNull(terms.report_every_days),
      "the site is reminded to send a usage statement this often; null: never",
    ),
    consumption: member(consumption, "null: consumption is not counted"),
    features: member(
      Type.Array(FeatureInFile, {
        maxItems: 256,
        description: "a list of at most 256 features",
      }),
      "features that are not listed stay unchanged",
    ),
  },
  closed,
);

/** Parses the file for `berth vendor issue --terms`; the fault names the first wrong field. */
export function parseTermsFile(value: unknown): Result<TermsChanges, FieldFault> {
  const fault = findFieldFault(TermsFile, value);
  if (fault !== null) return err(fault);
  const file = value as Static<typeof TermsFile>;
  const { $schema: _, start, valid_until, maintenance_until, features, ...rest } = file;
  const faults: FieldFault[] = repeatedCodes(features ?? []);
  const parseTime = <N extends string>(
    name: N,
    text: string | null | undefined,
    parse: (text: string) => string | null,
    path: string = name,
  ): { [M in N]?: string | null } => {
    if (text === undefined) return {};
    const time = text === null ? null : parse(text);
    if (text !== null && time === null) {
      faults.push({ wrong: "value", path, expected: DAY_OR_TIME, value: text });
    }
    return { [name]: time } as { [M in N]?: string | null };
  };
  const changes: TermsChanges = {
    ...rest,
    ...parseTime("start", start, parseStartTime),
    ...parseTime("valid_until", valid_until, parseEndTime),
    ...parseTime("maintenance_until", maintenance_until, parseEndTime),
    ...(features !== undefined && {
      features: features.map(({ expires, ...terms }, index): FeatureChanges => ({
        ...terms,
        ...parseTime("expires", expires, parseEndTime, `features[${index}].expires`),
      })),
    }),
  };
  const [first] = faults;
  return first === undefined ? ok(changes) : err(first);
}

const repeatedCodes = (features: readonly { readonly code: string }[]): FieldFault[] =>
  features.flatMap(({ code }, index) => {
    if (features.findIndex((other) => other.code === code) === index) return [];
    const expected = "a code that is not used by another feature";
    return [{ wrong: "value", path: `features[${index}].code`, expected, value: code }];
  });

/** The JSON Schema, for people and editors. */
export const termsFileSchema = (): unknown => ({
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "terms of a license; omitted fields stay unchanged or get their default",
  ...(JSON.parse(JSON.stringify(TermsFile, withEnum)) as object),
});

/** Writes a choice of constants as one enum, which is easier for people and generators. */
function withEnum(_name: string, value: unknown): unknown {
  const { anyOf, ...rest } = (value ?? {}) as { anyOf?: readonly { const?: unknown }[] };
  if (anyOf === undefined || anyOf.some((option) => option.const === undefined)) return value;
  return { ...rest, type: "string", enum: anyOf.map((option) => option.const) };
}
