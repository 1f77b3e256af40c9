import type { UsageReply } from "../../http/routes/usage.ts";
import { unwrapReply, withAdminClient } from "../client/admin-client.ts";
import { defineCommand } from "../frame/define-command.ts";
import { option, siteOptions } from "../frame/flags.ts";
import { formatTable } from "../frame/terminal.ts";

export const usageCommand = defineCommand({
  name: "usage",
  isCommon: true,
  summary: "show slot usage over time and refused requests",
  options: { ...siteOptions, range: option.range, json: option.json },
  examples: ["berth usage", "berth usage --range month --json"],
  run: ({ range, ...site }, context) =>
    withAdminClient(site, context, async ({ admin }) => {
      // A single reply must be complete, so it waits until all usage is read.
      const reply = await unwrapReply(admin.usage.get({ query: { wait: "true", range } }));
      const { licenses } = await unwrapReply(admin.status.get());
      const inUseNow = new Map(
        licenses.map((license) => [license.license_id, license.floating_slots_in_use]),
      );
      return { json: reply, text: () => formatUsage(reply, inUseNow) };
    }),
});

type UsageSteps = readonly (number | null)[];

function formatUsage(
  { range, from, to, step_minutes, licenses, refusals }: UsageReply,
  inUseNow: ReadonlyMap<number, number>,
): string {
  const header = [
    "PRODUCT",
    "LICENSE",
    "SLOTS",
    "PEAK",
    "MEAN PEAK",
    "NOW",
    `THE ${range.toUpperCase()}`,
  ];
  const rows = licenses.map(({ product, license_id, floating_users, in_use }) => [
    product,
    String(license_id),
    String(floating_users),
    String(Math.max(0, ...knownCounts(in_use))),
    formatMeanPeak(in_use),
    String(inUseNow.get(license_id) ?? 0),
    `|${formatBars(in_use, floating_users)}|`,
  ]);
  const refusalRows = refusals.map(({ product, feature, code, counts }) => [
    product ?? "-",
    feature ?? "-",
    code,
    String(knownCounts(counts).reduce((sum, count) => sum + count, 0)),
  ]);
  const step = stepText(step_minutes);
  const legend = `MEAN PEAK: the mean of the peaks of all steps of ${step} with data`;
  return [
    `from ${from} to ${to}, in steps of ${step}`,
    rows.length === 0 ? "no licenses yet" : formatTable([header, ...rows]),
    ...(refusalRows.length === 0
      ? []
      : [formatTable([["PRODUCT", "FEATURE", "REFUSED", "TIMES"], ...refusalRows])]),
    ...(rows.length === 0 ? [] : [legend]),
  ].join("\n\n");
}

const stepText = (minutes: number): string =>
  minutes % 60 === 0 ? `${minutes / 60} hours` : `${minutes} minutes`;

const knownCounts = (steps: UsageSteps): number[] => steps.filter((count) => count !== null);

/** Only of the known steps: before the audit log begins, the usage is unknown, not zero. */
function formatMeanPeak(steps: UsageSteps): string {
  const counts = knownCounts(steps);
  const sum = counts.reduce((all, count) => all + count, 0);
  return counts.length === 0 ? "-" : (sum / counts.length).toFixed(1);
}

const COLUMNS = 48;
const LEVELS = "▁▂▃▄▅▆▇█";

/** The height shows how full the pool was; a dot: nothing in use, a space: unknown. */
function formatBars(steps: UsageSteps, slots: number): string {
  const width = Math.ceil(steps.length / COLUMNS);
  let line = "";
  for (let from = 0; from < steps.length; from += width) {
    const counts = knownCounts(steps.slice(from, from + width));
    const peak = Math.max(0, ...counts);
    const level = Math.ceil((Math.min(peak, slots) / Math.max(1, slots)) * LEVELS.length);
    line += counts.length === 0 ? " " : peak === 0 ? "·" : LEVELS.charAt(Math.max(0, level - 1));
  }
  return line;
}
