import { csvRecords } from "../../../domain/text/csv.ts";
import { listUsage, type UsageDay } from "../../../desk/statements/usage-list.ts";
import { Misuse } from "../../frame/options.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { formatList, type Text } from "../../frame/terminal.ts";
import { openDeskRecords } from "../../vendor/open-desk.ts";
import { applianceFilter, csvOption, textFilter } from "../../vendor/list-filters.ts";

export const usageCommand = defineCommand({
  name: "vendor usage",
  summary: "show what was used, from the statements that sites sent; needs no passphrase",
  options: {
    dir: option.deskFolder,
    product: textFilter("--product CODE", "only this product"),
    customer: textFilter("--customer TEXT", "only customers whose name contains this text"),
    appliance: applianceFilter("only this appliance"),
    csv: csvOption,
    json: option.json,
  },
  examples: [
    "berth vendor usage --dir desk",
    "berth vendor usage --dir desk --customer initech --csv > usage.csv",
  ],
  async run({ dir, csv, json, ...filter }) {
    if (csv && json) {
      throw new Misuse("--csv and --json cannot be combined", "use only one of them");
    }
    const { ledger } = await openDeskRecords(dir);
    const days = await listUsage(ledger, filter);
    const text = (): Text => {
      if (csv) return { csv: csvRecords(CSV_COLUMNS, days) };
      if (ledger.statementSenders().length === 0) return "no usage statements were received yet";
      return formatList(sumByMonth(days).map(rowOf), "no reported usage matches the flags");
    };
    return { json: days, text };
  },
});

const CSV_COLUMNS = [
  "customer",
  "appliance",
  "statement",
  "license_id",
  "product",
  "feature",
  "day",
  "peak",
  "slot_minutes",
  "people",
  "consumption",
  "overage",
  "denied_episodes",
] as const satisfies readonly (keyof UsageDay)[];

interface UsageMonth extends Omit<UsageDay, "day" | "statement"> {
  readonly month: string;
  readonly days: number;
}

/** Peaks and people take the maximum of the days; the others add. */
function sumByMonth(days: readonly UsageDay[]): UsageMonth[] {
  const months = new Map<string, UsageMonth>();
  for (const { day, statement: _, ...figures } of days) {
    const month = day.slice(0, "2026-10".length);
    const { appliance, license_id, product, feature } = figures;
    const key = JSON.stringify([appliance, license_id, product, feature, month]);
    const before = months.get(key);
    months.set(key, {
      ...figures,
      month,
      days: (before?.days ?? 0) + 1,
      peak: Math.max(before?.peak ?? 0, figures.peak),
      people: Math.max(before?.people ?? 0, figures.people),
      slot_minutes: (before?.slot_minutes ?? 0) + figures.slot_minutes,
      consumption: (before?.consumption ?? 0) + figures.consumption,
      overage: (before?.overage ?? 0) + figures.overage,
      denied_episodes: (before?.denied_episodes ?? 0) + figures.denied_episodes,
    });
  }
  return [...months.values()];
}

function rowOf({ license_id: license, ...month }: UsageMonth) {
  // Denied episodes have a row of their own, without a license.
  const ofLicense = <T>(figure: T): T | null => (license === null ? null : figure);
  return {
    customer: month.customer,
    appliance: month.appliance,
    product: month.product,
    license: license ?? "all",
    feature: month.feature,
    month: month.month,
    days: month.days,
    peak: ofLicense(month.peak),
    "slot hours": ofLicense((month.slot_minutes / 60).toFixed(1)),
    "most people a day": ofLicense(month.people),
    consumed: ofLicense(month.consumption),
    overage: ofLicense(month.overage),
    denied: license === null ? month.denied_episodes : null,
  };
}
