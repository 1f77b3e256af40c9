import { Type, type Static, type TSchema } from "@sinclair/typebox";
import { err, ok, type Result } from "../domain/result.ts";
import { findFieldFault, type FieldFault } from "./field-faults.ts";
import { parseEndTime, parseStartTime } from "./term-times.ts";
import type { FeatureChanges, TermsChanges } from "./terms-changes.ts";
import { ConsumptionSchema, FeatureSchema, TermsDocument } from "./terms.ts";

const closed = { additionalProperties: false };
const dayOrTime = Type.Union([
  Type.String({
    pattern: "^\\d{4}-\\d\\d-\\d\\d([Tt ].+)?$",
    description: "a day or an RFC 3339 time",
    examples: ["2027-12-31", "2027-12-31T18:00:00Z"],
  }),
  Type.Null(),
]);

const member = <T extends TSchema>(schema: T, title: string) => Type.Optional({ ...schema, title });

const { properties: terms } = TermsDocument;
const { properties: counted } = ConsumptionSchema;
const { properties: feature } = FeatureSchema;
const floating = feature.floating.anyOf[0].properties;

const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

const consumption = orNull(
  Type.Object(
    {
      max: member(counted.max, "maximum consumption; null: unlimited"),
      overages: member(counted.overages, "consumption allowed above the maximum; default 0"),
      negative: member(counted.negative, "whether negative consumption is allowed; default false"),
      period: member(counted.period, "how often the count resets to zero; null: never"),
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

/** Terms as a person writes them: only what is to be set, and days where a day is meant. */
const TermsFile = Type.Object(
  {
    $schema: Type.Optional(Type.String({ title: "for editors; ignored" })),
    product: member(terms.product, "the product's code"),
    product_name: member(terms.product_name, "default: the code"),
    license_key: member(
      terms.license_key,
      "the vendor's license key for the purchase; null: as before, or as in the request",
    ),
    license_type: member(terms.license_type, "default perpetual, or time-limited if it has an end"),
    customer: member(terms.customer, "the customer's name"),
    metadata: member(terms.metadata, "a text for the application"),
    trial: member(terms.trial, "default false"),
    enabled: member(terms.enabled, "false: the license grants nothing; default true"),
    start: member(dayOrTime, "the start; a day begins at 00:00 UTC; null: immediately"),
    valid_until: member(dayOrTime, "the end; a day is included to its end, in UTC; null: never"),
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

/** Reads what `berth vendor issue --terms` takes; the fault names the first field that is wrong. */
export function parseTermsFile(value: unknown): Result<TermsChanges, FieldFault> {
  const fault = findFieldFault(TermsFile, value);
  if (fault !== null) return err(fault);
  const written = value as Static<typeof TermsFile>;
  const { $schema: _, start, valid_until, maintenance_until, features, ...rest } = written;
  const faults: FieldFault[] = repeatedCodes(features ?? []);
  const read = <N extends string>(
    name: N,
    text: string | null | undefined,
    parse: (text: string) => string | null,
    path: string = name,
  ): { [M in N]?: string | null } => {
    if (text === undefined) return {};
    const time = text === null ? null : parse(text);
    if (text !== null && time === null) {
      faults.push({ wrong: "value", path, expected: "a day or an RFC 3339 time", value: text });
    }
    return { [name]: time } as { [M in N]?: string | null };
  };
  const changes: TermsChanges = {
    ...rest,
    ...read("start", start, parseStartTime),
    ...read("valid_until", valid_until, parseEndTime),
    ...read("maintenance_until", maintenance_until, parseEndTime),
    ...(features !== undefined && {
      features: features.map(({ expires, ...one }, place): FeatureChanges => ({
        ...one,
        ...read("expires", expires, parseEndTime, `features[${place}].expires`),
      })),
    }),
  };
  const [first] = faults;
  return first === undefined ? ok(changes) : err(first);
}

const repeatedCodes = (features: readonly { readonly code: string }[]): FieldFault[] =>
  features.flatMap(({ code }, place) => {
    if (features.findIndex((one) => one.code === code) === place) return [];
    const expected = "a code that is not used by another feature";
    return [{ wrong: "value", path: `features[${place}].code`, expected, value: code }];
  });

/** For people and their editors. */
export const termsFileSchema = (): unknown => ({
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "terms of a license; omitted fields stay unchanged or get their default",
  ...(JSON.parse(JSON.stringify(TermsFile, withEnum)) as object),
});

/** A choice of constants is easier to read, and for generators to understand, as one enum. */
function withEnum(_name: string, value: unknown): unknown {
  const { anyOf, ...rest } = (value ?? {}) as { anyOf?: readonly { const?: unknown }[] };
  if (anyOf === undefined || anyOf.some((one) => one.const === undefined)) return value;
  return { ...rest, type: "string", enum: anyOf.map((one) => one.const) };
}
