import { deflateRawSync, inflateRawSync } from "node:zlib";
import { Type, type Static, type TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { base64url } from "jose";
import { limits } from "../../domain/model/limits.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import { countDays, parseDay } from "../../domain/time.ts";
import {
  MAX_DOCUMENT,
  readDocumentHeader,
  readUnverifiedPayload,
  signDocument,
  verifyDocument,
} from "./document.ts";
import type { ContentFault, DocumentFault } from "./document-fault.ts";
import { keyIdOf, parsePublicKey, PublicKey, type PrivateKey } from "./keys.ts";

const closed = { additionalProperties: false };
const id = Type.String({ pattern: "^[0-9A-HJKMNP-TV-Z]{16}$" });
const hash = Type.String({ pattern: "^[0-9a-f]{64}$" });
const seq = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const day = Type.String({ pattern: "^\\d{4}-\\d\\d-\\d\\d$" });
const code = Type.String({ minLength: 1, maxLength: 256 });
const featureOrNull = Type.Union([code, Type.Null()]);

/** One number for each day; absent: 0 on all days. */
const column = <T extends TSchema>(item: T) =>
  Type.Optional(Type.Array(item, { minItems: 1, maxItems: limits.statementDays }));
const counts = column(seq);
const sums = column(
  Type.Integer({ minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
);

/** The use of the slots and counters of a license, or of one of its features. */
const PoolUsageDocument = Type.Object(
  {
    /** Null: the license itself. */
    feature: featureOrNull,
    /** The most slots in use at once. */
    peak: counts,
    /** Slots in use, added up over the time, in minutes. */
    slot_minutes: counts,
    /** Different people who held a slot. */
    people: counts,
    consumption: sums,
    /** The part of the consumption above the maximum. */
    overage: sums,
  },
  closed,
);

/** What was used. It has no text that a site can choose: only codes that the vendor signed. */
export const UsageFigures = Type.Object(
  {
    licenses: Type.Array(
      Type.Object(
        {
          license_id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
          serial: Type.Integer({ minimum: 1, maximum: 1_000_000_000 }),
          product: code,
          pools: Type.Array(PoolUsageDocument),
        },
        closed,
      ),
    ),
    /** Denied episodes that began. One may concern every license of its product. */
    denied: Type.Array(
      Type.Object({ product: code, feature: featureOrNull, episodes: counts }, closed),
    ),
  },
  closed,
);

export type UsageFigures = Static<typeof UsageFigures>;
export type LicenseUsageDocument = UsageFigures["licenses"][number];

/** What a site tells one vendor about the use of its licenses, in one chain for each vendor. */
export const UsageStatement = Type.Object(
  {
    /** The appliance. */
    iss: id,
    /** The vendor. */
    aud: id,
    iat: Type.Integer({ minimum: 0 }),
    /** The key that signs the statement; its id is the appliance's id. */
    jwk: PublicKey,
    n: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    /** SHA-256 of statement n - 1; null for the first. */
    previous: Type.Union([hash, Type.Null()]),
    /** The first day, and the day after the last, in UTC. */
    from: day,
    to: day,
    /** The lines of the audit log since statement n - 1, and the sum of the last one. */
    audit: Type.Object({ from: seq, to: seq, sum: hash }, closed),
    /** The last restores of backups and moves, as in a request. */
    restores: Type.Optional(
      Type.Array(
        Type.Object(
          {
            lineage: Type.String({ pattern: "^[0-9a-f]{32}$" }),
            at: Type.String({ maxLength: 30 }),
            seq,
            replaced: Type.Union([seq, Type.Null()]),
            moved: Type.Optional(Type.Literal(true)),
          },
          closed,
        ),
        { maxItems: 64 },
      ),
    ),
    /** The figures as JSON, deflated, in base64url. */
    usage: Type.String({ pattern: "^[A-Za-z0-9_-]+$" }),
  },
  closed,
);

export type UsageStatement = Static<typeof UsageStatement>;

export interface VerifiedStatement {
  readonly statement: UsageStatement;
  readonly figures: UsageFigures;
  /** The number of days. */
  readonly days: number;
}

/** More than any document can hold compressed; a hostile one must not fill the memory. */
const MAX_FIGURES_BYTES = 8 * 1024 * 1024;

export const encodeFigures = (figures: UsageFigures): string =>
  base64url.encode(deflateRawSync(JSON.stringify(figures), { level: 9 }));

/** Null: the document would be larger than a reader accepts. */
export async function signUsageStatement(
  statement: UsageStatement,
  key: PrivateKey,
): Promise<string | null> {
  const document = await signDocument("usage", statement, key);
  return document.length <= MAX_DOCUMENT ? document : null;
}

/** The key in a statement must have signed it: no appliance can report for another. */
export async function verifyUsageStatement(
  document: string,
): Promise<Result<VerifiedStatement, DocumentFault | ContentFault>> {
  const wrongContent = err({ wrong: "content", expected: "usage" } as const);
  const header = readDocumentHeader(document);
  if (!header.ok) return header;
  if (header.value.kind !== "usage") return err({ wrong: "kind", kind: header.value.kind });
  const claimed = readUnverifiedPayload(document) as { jwk?: unknown } | null;
  const key = parsePublicKey(claimed?.jwk);
  if (key === null) return wrongContent;
  const verified = await verifyDocument("usage", document, key);
  if (!verified.ok) return verified;
  const statement = verified.value;
  if (!Value.Check(UsageStatement, statement) || statement.iss !== keyIdOf(key))
    return wrongContent;
  const days = countStatementDays(statement);
  const figures = decodeFigures(statement.usage);
  if (days === null || figures === null || !hasColumnsOf(days, figures)) return wrongContent;
  return isConsistent(statement) ? ok({ statement, figures, days }) : wrongContent;
}

/** Null: the range is empty, too long, or has a day that does not exist. */
function countStatementDays({ from, to }: UsageStatement): number | null {
  const [first, end] = [parseDay(from), parseDay(to)];
  if (first === null || end === null) return null;
  const days = countDays(first, end);
  return days >= 1 && days <= limits.statementDays ? days : null;
}

const isConsistent = ({ n, previous, audit }: UsageStatement): boolean =>
  (n === 1) === (previous === null) && audit.from >= 1 && audit.to >= audit.from - 1;

function decodeFigures(text: string): UsageFigures | null {
  try {
    const bytes = base64url.decode(text);
    if (base64url.encode(bytes) !== text) return null;
    const json = inflateRawSync(bytes, { maxOutputLength: MAX_FIGURES_BYTES });
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(json));
    return Value.Check(UsageFigures, value) && isUnambiguous(value) ? value : null;
  } catch {
    return null;
  }
}

const areDifferent = (names: readonly unknown[]): boolean =>
  new Set(names.map((name) => JSON.stringify(name))).size === names.length;

/** Every license, feature and product appears once. */
function isUnambiguous({ licenses, denied }: UsageFigures): boolean {
  return (
    areDifferent(licenses.map(({ license_id }) => license_id)) &&
    licenses.every(({ pools }) => areDifferent(pools.map(({ feature }) => feature))) &&
    areDifferent(denied.map(({ product, feature }) => [product, feature]))
  );
}

function hasColumnsOf(days: number, { licenses, denied }: UsageFigures): boolean {
  const isComplete = (values: readonly number[] | undefined): boolean =>
    values === undefined || values.length === days;
  return (
    licenses.every(({ pools }) =>
      pools.every(({ peak, slot_minutes, people, consumption, overage }) =>
        [peak, slot_minutes, people, consumption, overage].every(isComplete),
      ),
    ) && denied.every(({ episodes }) => isComplete(episodes))
  );
}
