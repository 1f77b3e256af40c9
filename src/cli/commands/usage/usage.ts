import type { UsageReply } from "../../../http/routes/usage/usage.ts";
import { unwrapReply, withAdminClient } from "../../client/admin-client.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { formatCount, formatList, withProgress } from "../../frame/terminal.ts";

const show = defineCommand({
  name: "usage",
  isCommon: true,
  summary: "show slots in use and denied episodes over time",
  options: { ...siteOptions, range: option.range, json: option.json },
  examples: ["berth usage", "berth usage --range year --json"],
  run: ({ range, ...site }, context) =>
    withAdminClient(site, context, async ({ admin }) => {
      const reply = await unwrapReply(admin.usage.get({ query: { range } }));
      return { json: reply, text: () => formatUsage(reply, range) };
    }),
});

const rebuild = defineCommand({
  name: "usage rebuild",
  summary: "compute the usage over time again, from the audit log",
  options: { ...siteOptions, json: option.json },
  examples: ["berth usage rebuild"],
  run: (site, context) =>
    withAdminClient(site, context, async ({ admin }) => {
      const reply = await withProgress("reading the audit log", () =>
        unwrapReply(admin.usage.rebuild.post({})),
      );
      const { audit_seq, from, until, files, bytes } = reply;
      const size = `${formatCount(files, "file")}, ${(bytes / 1_048_576).toFixed(1)} MiB`;
      const text = `usage from ${from ?? until} until ${until} is computed again, up to line ${audit_seq} of the audit log (${size})`;
      return { json: reply, text: [text] };
    }),
});

export const usageCommands = [show, rebuild];

type UsageSteps = readonly (number | null)[];

function formatUsage({ from, to, step_minutes, pools }: UsageReply, range: string): string {
  const rows = pools.map(
    ({ product, feature, limit, peak, mean, full_seconds, waiting, episodes }) => ({
      product,
      feature,
      slots: limit.findLast((slots) => slots !== null) ?? null,
      peak: Math.max(0, ...knownValues(peak)),
      mean: formatMean(mean),
      "hours full": (sumOf(full_seconds) / 3_600).toFixed(1),
      waiting: feature === null ? Math.max(0, ...knownValues(waiting)) : null,
      denied: sumOf(episodes),
      [range === "18months" ? "the 18 months" : `the ${range}`]: `|${formatBars(peak, limit)}|`,
    }),
  );
  return [
    `from ${from} to ${to}, in steps of ${stepText(step_minutes)}`,
    formatList(rows, "no licenses yet"),
    ...(rows.length === 0 ? [] : [LEGEND]),
  ].join("\n\n");
}

const LEGEND =
  "SLOTS: the limit at the end; HOURS FULL: all slots in use; WAITING: most users in the queue; " +
  "DENIED: episodes of refused calls";

const stepText = (minutes: number): string =>
  minutes % 60 === 0 ? `${minutes / 60} hours` : `${minutes} minutes`;

const knownValues = (steps: UsageSteps): number[] => steps.filter((value) => value !== null);

const sumOf = (steps: UsageSteps): number =>
  knownValues(steps).reduce((sum, value) => sum + value, 0);

/** Only of the known steps: before the audit log begins, the usage is unknown, not zero. */
function formatMean(steps: UsageSteps): string {
  const { length } = knownValues(steps);
  return length === 0 ? "-" : (sumOf(steps) / length).toFixed(1);
}

const COLUMNS = 48;
const LEVELS = "▁▂▃▄▅▆▇█";

/** The height shows how full the pool was; a dot: nothing in use, a space: unknown. */
function formatBars(peaks: UsageSteps, limits: UsageSteps): string {
  const width = Math.ceil(peaks.length / COLUMNS);
  let line = "";
  for (let from = 0; from < peaks.length; from += width) {
    const known = knownValues(peaks.slice(from, from + width));
    const peak = Math.max(0, ...known);
    const slots = Math.max(1, ...knownValues(limits.slice(from, from + width)));
    const level = Math.ceil((Math.min(peak, slots) / slots) * LEVELS.length);
    line += known.length === 0 ? " " : peak === 0 ? "·" : LEVELS.charAt(Math.max(0, level - 1));
  }
  return line;
}
