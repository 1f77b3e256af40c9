import type { UsageReply } from "../../http/routes/usage.ts";
import type { StatusReply } from "../../http/status.ts";
import { EXIT_OK, isFlagSet, getStringFlag, type Command, getAdminTarget } from "../command.ts";
import { option } from "../flags.ts";
import { withAdminClient } from "../admin-client.ts";
import { print, printJson, formatTable } from "../terminal.ts";

export const usageCommand: Command = {
  name: "usage",
  isCommon: true,
  summary: "show slot usage over time and refused requests",
  options: [option.data, option.identity, option.config, option.range, option.json],
  examples: ["berth usage", "berth usage --range month --json"],
  run(given) {
    return withAdminClient(getAdminTarget(given), async (call) => {
      // Whoever reads it once wants all of it.
      const path = `/api/admin/v1/usage?wait=true&range=${getStringFlag(given, "range")}`;
      const reply = (await call("GET", path)) as UsageReply;
      if (isFlagSet(given, "json")) {
        printJson(reply);
        return EXIT_OK;
      }
      const { licenses } = (await call("GET", "/api/admin/v1/status")) as StatusReply;
      const now = new Map(licenses.map((one) => [one.license_id, one.floating_slots_in_use]));
      print(text(reply, now));
      return EXIT_OK;
    });
  },
};

type UsageSteps = readonly (number | null)[];

function text(
  { range, from, to, step_minutes, licenses, refusals }: UsageReply,
  now: ReadonlyMap<number, number>,
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
    String(now.get(license_id) ?? 0),
    `|${bars(in_use, floating_users)}|`,
  ]);
  const denied = refusals.map(({ product, code, counts }) => [
    product ?? "-",
    code,
    String(knownCounts(counts).reduce((sum, count) => sum + count, 0)),
  ]);
  const step = stepText(step_minutes);
  const explained = `MEAN PEAK: the mean of the peaks of all steps of ${step} with data`;
  return [
    `from ${from} to ${to}, in steps of ${step}`,
    rows.length === 0 ? "no licenses yet" : formatTable([header, ...rows]),
    ...(denied.length === 0 ? [] : [formatTable([["PRODUCT", "REFUSED", "TIMES"], ...denied])]),
    ...(rows.length === 0 ? [] : [explained]),
  ].join("\n\n");
}

const stepText = (minutes: number): string =>
  minutes % 60 === 0 ? `${minutes / 60} hours` : `${minutes} minutes`;

const knownCounts = (steps: UsageSteps): number[] => steps.filter((count) => count !== null);

/** Of the steps that are known: before the record begins, nobody knows that nothing was in use. */
function formatMeanPeak(steps: UsageSteps): string {
  const counts = knownCounts(steps);
  const sum = counts.reduce((all, count) => all + count, 0);
  return counts.length === 0 ? "-" : (sum / counts.length).toFixed(1);
}

const COLUMNS = 48;
const LEVELS = "▁▂▃▄▅▆▇█";

/** As high as the pool is full; a dot where nothing was in use, a space where nobody knows. */
function bars(steps: UsageSteps, slots: number): string {
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
