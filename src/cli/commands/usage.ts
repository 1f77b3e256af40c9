import type { UsageReply } from "../../http/routes/usage.ts";
import type { StatusReply } from "../../http/status.ts";
import {
  EXIT_OK,
  isFlagSet,
  getStringFlag,
  type Command,
  getAdminTarget,
} from "../frame/command.ts";
import { option } from "../frame/flags.ts";
import { withAdminClient } from "../client/admin-client.ts";
import { print, printJson, formatTable } from "../frame/terminal.ts";

export const usageCommand: Command = {
  name: "usage",
  isCommon: true,
  summary: "show slot usage over time and refused requests",
  options: [option.data, option.identity, option.config, option.range, option.json],
  examples: ["berth usage", "berth usage --range month --json"],
  run(flags) {
    return withAdminClient(getAdminTarget(flags), async (call) => {
      // A single reply must be complete, so it waits until all usage is read.
      const path = `/api/admin/v1/usage?wait=true&range=${getStringFlag(flags, "range")}`;
      const reply = (await call("GET", path)) as UsageReply;
      if (isFlagSet(flags, "json")) {
        printJson(reply);
        return EXIT_OK;
      }
      const { licenses } = (await call("GET", "/api/admin/v1/status")) as StatusReply;
      const inUseNow = new Map(
        licenses.map((license) => [license.license_id, license.floating_slots_in_use]),
      );
      print(formatUsage(reply, inUseNow));
      return EXIT_OK;
    });
  },
};

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
  const refusalRows = refusals.map(({ product, code, counts }) => [
    product ?? "-",
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
      : [formatTable([["PRODUCT", "REFUSED", "TIMES"], ...refusalRows])]),
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
