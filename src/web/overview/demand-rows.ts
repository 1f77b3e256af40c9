import type { UsageReply } from "../../http/routes/usage/usage.ts";
import type { StatusReply } from "../../http/routes/health/status-schema.ts";

type PoolUsage = UsageReply["pools"][number];

/** A product, or a floating feature that was denied to users. */
export interface DemandRow {
  readonly key: string;
  readonly product: string;
  readonly feature: string | null;
  /** Slots in use and all slots now; null for a feature, whose use the status does not have. */
  readonly now: { readonly used: number; readonly limit: number } | null;
  readonly peaks: readonly (number | null)[];
  readonly limits: readonly (number | null)[];
  /** Denied episodes of the last 24 hours, and of all steps. */
  readonly deniedToday: number;
  readonly denied: number;
}

type LicenseStatus = StatusReply["licenses"][number];

const DAY_MINUTES = 24 * 60;

/** Most denied episodes first. Every product has a row, a feature only if it was denied. */
export function makeDemandRows(
  { pools, step_minutes }: Pick<UsageReply, "pools" | "step_minutes">,
  licenses: readonly LicenseStatus[],
): DemandRow[] {
  const stepsPerDay = Math.max(1, Math.round(DAY_MINUTES / step_minutes));
  const licensed = new Set(licenses.map(({ product }) => product));
  const missing = [...licensed].filter(
    (name) => !pools.some(({ product, feature }) => product === name && feature === null),
  );
  return [
    ...pools.map((pool) => makeRow(pool, stepsPerDay, licenses)),
    ...missing.map((product) => makeRow({ ...NO_USAGE, product }, stepsPerDay, licenses)),
  ]
    .filter(({ feature, denied, product }) =>
      feature === null ? licensed.has(product) || denied > 0 : denied > 0,
    )
    .toSorted((a, b) => b.denied - a.denied || (a.key < b.key ? -1 : Number(a.key > b.key)));
}

type Pool = Pick<PoolUsage, "product" | "feature" | "peak" | "limit" | "episodes">;

const NO_USAGE = { feature: null, peak: [], limit: [], episodes: [] };

function makeRow(
  { product, feature, peak, limit, episodes }: Pool,
  stepsPerDay: number,
  licenses: readonly LicenseStatus[],
): DemandRow {
  const installed = licenses.filter((license) => license.product === product);
  return {
    key: JSON.stringify([product, feature]),
    product,
    feature,
    now:
      feature !== null || installed.length === 0
        ? null
        : {
            used: sumOf(installed.map(({ floating_slots_in_use }) => floating_slots_in_use)),
            limit: sumOf(installed.map(({ floating_users }) => floating_users)),
          },
    peaks: peak,
    limits: limit,
    deniedToday: sumOf(episodes.slice(-stepsPerDay)),
    denied: sumOf(episodes),
  };
}

const sumOf = (values: readonly (number | null)[]): number =>
  values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
