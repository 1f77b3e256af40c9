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
  const notes: string[] = [];
  for (const { name } of groups) {
    if (keyword === "INCLUDE") pool.allowOnly.add(name);
    else if (keyword === "EXCLUDE") pool.deny.add(name);
    else if (keyword === "INCLUDE_BORROW") pool.borrowAllowOnly.add(name);
    else if (keyword === "EXCLUDE_BORROW") pool.borrowDeny.add(name);
    else if (keyword === "MAX") notes.push(...addLimit(pool, name, slots));
    else notes.push(...addReservation(pool, name, source, slots));
  }
  return notes;
}

function addLimit(pool: ImportedPool, group: string, slots: number): readonly string[] {
  if (slots === 0) {
    pool.deny.add(group);
    return [`MAX 0 is written as \`deny\` for ${group}`];
  }
  const earlier = pool.groupLimits.get(group);
  pool.groupLimits.set(group, Math.min(earlier ?? slots, slots));
  return earlier === undefined ? [] : [`${group} has two limits; the lower one counts`];
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
