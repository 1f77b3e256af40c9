import type { TermsDocument } from "../../license/terms/terms.ts";
import type { IssuedEntry, OrderEntry } from "../ledger/ledger-entries.ts";
import { listHolders, type OrderState } from "./order-state.ts";

/** Whether the terms sell an amount once, which no period gives again. */
export const countsForGood = ({ consumption, features }: TermsDocument): boolean =>
  [consumption, ...features.map((feature) => feature.consumption)].some(
    (part) => part !== null && part.period === null && part.max !== null,
  );

/**
 * What earlier holders of a place used of the amount that was sold, overages included: all that was
 * sold, less what the licenses that ended consumed, less what the others may consume, is left.
 */
export function usedBefore(
  { terms, appliances }: Pick<OrderEntry, "terms" | "appliances">,
  state: OrderState,
  lost: IssuedEntry | null,
): number {
  const { consumption } = terms;
  if (consumption === null || consumption.max === null || consumption.period !== null) return 0;
  const all = consumption.max + consumption.overages;
  const others = listHolders(state).filter(({ newest }) => newest !== lost);
  const ended = state.licenses.filter((license) => !others.includes(license));
  const used = ended.reduce((sum, { lastTotal }) => sum + Math.max(0, lastTotal ?? 0), 0);
  const reserved = others.reduce((sum, { newest }) => sum + all - (newest.used_before ?? 0), 0);
  // More than one place used up is not taken off this one.
  return all - Math.max(0, Math.min(all, appliances * all - used - reserved));
}

/** The terms without what earlier holders used: of an amount that no period gives again. */
export function withoutUsed(terms: TermsDocument, usedBefore: number): TermsDocument {
  const { consumption } = terms;
  if (usedBefore === 0 || consumption === null || consumption.max === null) return terms;
  if (consumption.period !== null) return terms;
  const max = Math.max(0, consumption.max - usedBefore);
  const overages = Math.max(0, consumption.overages - Math.max(0, usedBefore - consumption.max));
  return { ...terms, consumption: { ...consumption, max, overages } };
}
