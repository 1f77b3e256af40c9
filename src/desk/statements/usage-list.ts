import { compareTexts } from "../../domain/text/compare-texts.ts";
import { DAY, instant, dayOf, parseDay } from "../../domain/time.ts";
import {
  verifyUsageStatement,
  type UsageFigures,
} from "../../license/documents/usage-statement.ts";
import { DeskRefused } from "../desk-refused.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { IssuedEntry } from "../ledger/ledger-entries.ts";
import { findStatementChain } from "./statement-continuity.ts";

/** What was used on one day of a license or feature, or how often a product was denied. */
export interface UsageDay {
  readonly customer: string | null;
  readonly appliance: string;
  readonly statement: number;
  /** Null: a row of denied episodes, which concern every license of the product. */
  readonly license_id: number | null;
  readonly product: string;
  readonly feature: string | null;
  readonly day: string;
  readonly peak: number;
  readonly slot_minutes: number;
  readonly people: number;
  readonly consumption: number;
  readonly overage: number;
  readonly denied_episodes: number;
}

export interface UsageFilter {
  readonly product: string | null;
  /** A part of the customer's name; upper and lower case are equal. */
  readonly customer: string | null;
  readonly appliance: string | null;
}

/** The used days of all statements that count: by customer, appliance, license, feature and day. */
export async function listUsage(ledger: Ledger, filter: UsageFilter): Promise<UsageDay[]> {
  const days: UsageDay[] = [];
  for (const appliance of ledger.statementSenders()) {
    if (filter.appliance !== null && filter.appliance !== appliance) continue;
    const issued = ledger.issuedTo(appliance).toReversed();
    for (const entry of findStatementChain(ledger, appliance)) {
      const { n, from } = entry;
      const verified = await verifyUsageStatement(ledger.readStatement(entry).document);
      if (!verified.ok) {
        throw new DeskRefused(
          `statement ${n} of appliance ${appliance} in the ledger is damaged`,
          "berth vendor verify names the line",
        );
      }
      const first = parseDay(from) ?? instant(0);
      const dayAt = (index: number): string => dayOf(instant(first + index * DAY));
      const source = { appliance, statement: n };
      days.push(...listDays(verified.value.figures, verified.value.days, source, issued, dayAt));
    }
  }
  return days.filter((day) => matches(day, filter)).toSorted(compareDays);
}

interface StatementSource {
  readonly appliance: string;
  readonly statement: number;
}

const NOTHING = {
  peak: 0,
  slot_minutes: 0,
  people: 0,
  consumption: 0,
  overage: 0,
  denied_episodes: 0,
};

function listDays(
  { licenses, denied }: UsageFigures,
  count: number,
  source: StatementSource,
  issued: readonly IssuedEntry[],
  dayAt: (index: number) => string,
): UsageDay[] {
  const customerOf = (isWanted: (entry: IssuedEntry) => boolean): string | null =>
    issued.find((entry) => isWanted(entry) && entry.terms.customer !== null)?.terms.customer ??
    null;
  const indices = Array.from({ length: count }, (_, index) => index);
  const used = licenses.flatMap(({ license_id, product, pools }) => {
    const customer = customerOf((entry) => entry.license_id === license_id);
    return pools.flatMap(({ feature, ...columns }) =>
      indices.map((index) => ({
        ...NOTHING,
        customer,
        ...source,
        license_id,
        product,
        feature,
        day: dayAt(index),
        peak: columns.peak?.[index] ?? 0,
        slot_minutes: columns.slot_minutes?.[index] ?? 0,
        people: columns.people?.[index] ?? 0,
        consumption: columns.consumption?.[index] ?? 0,
        overage: columns.overage?.[index] ?? 0,
      })),
    );
  });
  const refused = denied.flatMap(({ product, feature, episodes }) => {
    const customer = customerOf((entry) => entry.terms.product === product);
    return indices.map((index) => ({
      ...NOTHING,
      customer,
      ...source,
      license_id: null,
      product,
      feature,
      day: dayAt(index),
      denied_episodes: episodes?.[index] ?? 0,
    }));
  });
  return [...used, ...refused].filter(isUsed);
}

const isUsed = (day: UsageDay): boolean =>
  day.peak !== 0 ||
  day.slot_minutes !== 0 ||
  day.people !== 0 ||
  day.consumption !== 0 ||
  day.overage !== 0 ||
  day.denied_episodes !== 0;

const matches = ({ product, customer }: UsageDay, filter: UsageFilter): boolean =>
  (filter.product === null || filter.product === product) &&
  (filter.customer === null ||
    (customer !== null &&
      customer.normalize("NFC").toLowerCase().includes(filter.customer.toLowerCase())));

const compareDays = (a: UsageDay, b: UsageDay): number =>
  compareTexts(a.customer ?? "", b.customer ?? "") ||
  compareTexts(a.appliance, b.appliance) ||
  compareTexts(a.product, b.product) ||
  (a.license_id ?? Infinity) - (b.license_id ?? Infinity) ||
  compareTexts(a.feature ?? "", b.feature ?? "") ||
  compareTexts(a.day, b.day);
