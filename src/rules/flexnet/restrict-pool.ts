import { formatFirstNames } from "../../domain/text/first-names.ts";
import type { ImportedGroup, ImportedPool } from "./imported-rules.ts";
import { NoEquivalent } from "./option-forms.ts";

/** What a line with a feature, a type and a name says. */
export interface Restriction {
  readonly keyword: string;
  /** The feature of the options file. */
  readonly source: string;
  /** Of MAX and RESERVE; 0 for the others. */
  readonly slots: number;
  readonly groups: readonly ImportedGroup[];
}

/** Adds a line to the rules of a product; returns what to note about it. */
export function restrictPool(pool: ImportedPool, restriction: Restriction): readonly string[] {
  const { keyword, source, slots, groups } = restriction;
  if (keyword === "MAX") return addLimits(pool, groups, slots);
  const notes: string[] = [];
  for (const { name } of groups) {
    if (keyword === "INCLUDE") pool.allowOnly.add(name);
    else if (keyword === "EXCLUDE") pool.deny.add(name);
    else if (keyword === "INCLUDE_BORROW") pool.borrowAllowOnly.add(name);
    else if (keyword === "EXCLUDE_BORROW") pool.borrowDeny.add(name);
    else notes.push(...addReservation(pool, name, source, slots));
  }
  return notes;
}

function addLimits(
  pool: ImportedPool,
  groups: readonly ImportedGroup[],
  slots: number,
): readonly string[] {
  const names = groups.map(({ name }) => name);
  if (slots === 0) {
    for (const name of names) pool.deny.add(name);
    return [`MAX 0 is written as \`deny\` for ${formatFirstNames(names)}`];
  }
  const repeated = names.filter((name) => pool.groupLimits.has(name));
  for (const name of names) {
    pool.groupLimits.set(name, Math.min(pool.groupLimits.get(name) ?? slots, slots));
  }
  if (repeated.length === 0) return [];
  const verb = repeated.length === 1 ? "has" : "have";
  return [`${formatFirstNames(repeated)} ${verb} two limits; the lower one counts`];
}

function addReservation(
  pool: ImportedPool,
  group: string,
  source: string,
  slots: number,
): readonly string[] {
  const bySource = pool.reserve.get(group) ?? new Map<string, number>();
  const earlier = bySource.get(source);
  const sum = (earlier ?? 0) + slots;
  bySource.set(source, sum);
  pool.reserve.set(group, bySource);
  return earlier === undefined
    ? []
    : [`the RESERVE lines of ${group} for ${source} add up to ${sum}, as in FlexNet`];
}

/** Only whole products can be borrowed. */
export function requireProduct({ product, feature }: ImportedPool, keyword: string): void {
  if (feature === null) return;
  throw new NoEquivalent(
    `${product}:${feature} is a floating feature, which is borrowed with its product; ${keyword} needs a product`,
  );
}
