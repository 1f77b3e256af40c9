import { Type, type Static } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { join } from "node:path";
import type { Terms } from "../../domain/model/licenses/terms.ts";
import type { Instant } from "../../domain/time.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { USAGE_FOLDER } from "../../store/folder/files.ts";
import type { KnownBefore } from "../../usage/recorded-line.ts";
import { UsageTable } from "../../usage/usage-table.ts";

const At = Type.Unsafe<Instant>(Type.Integer());
const Text = Type.Union([Type.String(), Type.Null()]);

const UsageFile = Type.Object({
  name: Type.String({ pattern: "^\\d{4}-\\d{2}-\\d+\\.jsonl$" }),
  /** Bytes after it are left from an update that was interrupted. */
  length: Type.Integer({ minimum: 1 }),
  /** `steps`: as it was written; `merged`: one line per hour; `hours`: an hour is one step. */
  kind: Type.Union([Type.Literal("steps"), Type.Literal("merged"), Type.Literal("hours")]),
});

const LinesFile = Type.Object({
  name: Type.String({ pattern: "^lines-\\d{4}-\\d{2}-\\d+\\.jsonl$" }),
  /** The first line of the audit log in it. */
  from: Type.Integer({ minimum: 1 }),
  length: Type.Integer({ minimum: 1 }),
});

/** What the files of the folder contain, and what is needed to continue them. */
const UsagePosition = Type.Object({
  format: Type.Literal(1),
  /** The last line of the audit log that is counted, and its sum. */
  audit_seq: Type.Integer({ minimum: 0 }),
  audit_sum: Type.String(),
  until: At,
  /** The newest number in a file name. */
  newest_file: Type.Integer({ minimum: 0 }),
  files: Type.Array(UsageFile),
  /** The lines of the audit log as rows, up to the last one that is counted. */
  lines: Type.Array(LinesFile),
  observed: Type.Array(Type.Tuple([At, At])),
  limits: Type.Array(
    Type.Object({
      product: Type.String(),
      feature: Text,
      spans: Type.Array(Type.Tuple([At, At, Type.Integer()])),
    }),
  ),
  terms: Type.Array(
    Type.Tuple([
      Type.Integer(),
      Type.Object({
        vendor: Type.String(),
        terms: Type.Unsafe<Terms>(
          Type.Object({ product: Type.String(), features: Type.Array(Type.Object({})) }),
        ),
      }),
    ]),
  ),
  borrows: Type.Array(
    Type.Tuple([Type.Integer(), Type.Object({ license: Type.Integer(), until: At })]),
  ),
  places: Type.Array(Type.Integer()),
});

export type UsageFile = Static<typeof UsageFile>;
export type LinesFile = Static<typeof LinesFile>;
export type UsagePosition = Static<typeof UsagePosition>;

const CHECK = TypeCompiler.Compile(UsagePosition);

export const positionPath = (folder: string): string => join(folder, USAGE_FOLDER, "position.json");

/** Null: there is none, it is damaged, or another version wrote it. */
export function readPosition(disk: Disk, folder: string): UsagePosition | null {
  const bytes = disk.read(positionPath(folder));
  if (bytes === null) return null;
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return CHECK.Check(value) ? value : null;
  } catch {
    return null;
  }
}

export const knownBefore = ({ terms, borrows, places }: UsagePosition): KnownBefore => ({
  terms: new Map(terms),
  borrows: new Map(borrows),
  places: new Set(places),
});

export const knownFields = ({ terms, borrows, places }: KnownBefore) => ({
  terms: [...terms],
  borrows: [...borrows],
  places: [...places],
});

/** The spans of time that the position contains; the steps are in the files. */
export function readSpans({ observed, limits }: UsagePosition): UsageTable {
  const table = new UsageTable();
  for (const [from, to] of observed) table.observed.push({ from, to });
  for (const { product, feature, spans } of limits) {
    const pool = table.findOrAddPool({ product, feature });
    for (const [from, to, slots] of spans) pool.limits.push({ from, to, slots });
  }
  return table;
}

/** Without spans that ended before `oldest`. */
export const spanFields = (table: UsageTable, oldest: Instant) => ({
  observed: table.observed
    .filter(({ to }) => to > oldest)
    .map(({ from, to }): [Instant, Instant] => [from, to]),
  limits: [...table.pools].map(({ product, feature, limits }) => ({
    product,
    feature,
    spans: limits
      .filter(({ to }) => to > oldest)
      .map(({ from, to, slots }): [Instant, Instant, number] => [from, to, slots]),
  })),
});
