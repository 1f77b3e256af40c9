import type { Restore } from "../../domain/model/state.ts";
import { type Instant, dayOf } from "../../domain/time.ts";
import { publicPart } from "../../license/documents/keys.ts";
import {
  encodeFigures,
  type UsageFigures,
  type UsageStatement,
} from "../../license/documents/usage-statement.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import type { DayRange, StatementFigures } from "../../usage/statement/statement-figures.ts";
import type { Identity } from "../appliance/identity.ts";

/** What a statement says besides the figures. */
export interface StatementBasis {
  readonly vendor: string;
  readonly now: Instant;
  readonly n: number;
  readonly previous: string | null;
  readonly auditFrom: number;
  readonly auditTo: number;
  readonly auditSum: string;
  readonly restores: readonly Restore[];
  /** By license. */
  readonly serials: ReadonlyMap<number, number>;
}

/** The content of a statement. It names no user, host or address, and no other vendor's license. */
export const buildUsageStatement = (
  { id, key }: Identity,
  basis: StatementBasis,
  { from, to }: DayRange,
  figures: StatementFigures,
): UsageStatement => ({
  iss: id,
  aud: basis.vendor,
  iat: Math.floor(basis.now / 1_000),
  jwk: publicPart(key),
  n: basis.n,
  previous: basis.previous,
  from: dayOf(from),
  to: dayOf(to),
  audit: { from: basis.auditFrom, to: basis.auditTo, sum: basis.auditSum },
  ...(basis.restores.length > 0 && {
    restores: basis.restores.map(({ lineage, at, seq, replaced, moved }) => ({
      lineage,
      seq,
      replaced,
      ...(moved !== undefined && { moved }),
      at: rfc3339(at),
    })),
  }),
  usage: encodeFigures(documentFigures(figures, basis.serials)),
});

const documentFigures = (
  { licenses, denied }: StatementFigures,
  serials: ReadonlyMap<number, number>,
): UsageFigures => ({
  licenses: licenses.map(({ license, product, pools }) => ({
    license_id: license,
    serial: serials.get(license) ?? 1,
    product,
    pools: pools
      .map(({ feature, peak, slotMinutes, people, consumption, overage }) => ({
        feature,
        ...columnOf("peak", peak),
        ...columnOf("slot_minutes", slotMinutes),
        ...columnOf("people", people),
        ...columnOf("consumption", consumption),
        ...columnOf("overage", overage),
      }))
      .filter((pool) => Object.keys(pool).length > 1),
  })),
  denied: denied.map(({ product, feature, episodes }) => ({
    product,
    feature,
    ...columnOf("episodes", episodes),
  })),
});

/** A column of zeros is left out. */
const columnOf = <N extends string>(name: N, values: readonly number[]): { [K in N]?: number[] } =>
  (values.every((value) => value === 0) ? {} : { [name]: [...values] }) as { [K in N]?: number[] };
