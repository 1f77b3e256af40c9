import type { WhatIfReply } from "../../../http/routes/usage/what-if.ts";
import { wallClock } from "../../../platform/clock.ts";
import { setFields, unwrapReply, withAdminClient } from "../../client/admin-client.ts";
import { withReportProgress } from "../../client/report-progress.ts";
import { err, ok, type Result } from "../../../domain/result.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { wholeNumber } from "../../frame/option-parsers.ts";
import { text, type InvalidValue } from "../../frame/options.ts";
import { formatTable } from "../../frame/terminal.ts";
import { createZoneFormatter, formatSeconds, poolName } from "../../report/figures.ts";
import { periodOptions, readPeriod } from "../../report/report-period.ts";

const whatIfOptions = {
  ...siteOptions,
  product: text("--product CODE", "the product", {
    isRequired: true,
    missingHint: "for example berth report what-if --product CAD --slots 4..20",
  }),
  feature: text("--feature CODE", "a floating feature of the product, instead of its own slots"),
  slots: text("--slots N..M", "the numbers of slots to try, at most 100", {
    isRequired: true,
    missingHint: "for example --slots 4..20",
    parse: parseSlots,
  }),
  target: text("--target PERCENT", "the share of needs to meet at once", {
    defaultValue: "99",
    parse: wholeNumber(1, 100, "a whole number", "for example --target 95"),
  }),
  ...periodOptions,
  json: option.json,
};

const MAX_NUMBERS = 100;

function parseSlots(text: string): Result<string, InvalidValue> {
  const [, first = "", last = first] = /^(\d{1,7})(?:\.\.(\d{1,7}))?$/.exec(text) ?? [];
  const problem =
    first === ""
      ? "must be a range"
      : Number(first) > Number(last)
        ? "must begin with the lower number"
        : Number(last) - Number(first) >= MAX_NUMBERS
          ? `must be a range of at most ${MAX_NUMBERS} numbers`
          : null;
  const hint = "for example --slots 4..20";
  return problem === null ? ok(text) : err({ problem: `${problem}: ${text}`, hint });
}

export const whatIfCommand = defineCommand({
  name: "report what-if",
  summary: "estimate how other numbers of slots would have met the recorded demand",
  options: whatIfOptions,
  examples: [
    "berth report what-if --product CAD --slots 4..20",
    "berth report what-if --product CAE --feature MESH --slots 1..12 --month 2026-10",
  ],
  async run(options, context) {
    const { product, feature, slots, target } = options;
    const period = readPeriod(options, wallClock());
    const reply = await withAdminClient(options, context, (client) =>
      withReportProgress("deciding the recorded demand again", client, () =>
        unwrapReply(
          client.admin.report["what-if"].get({
            query: setFields({ product, feature, slots, ...period, target: String(target) }),
          }),
        ),
      ),
    );
    return { json: reply, text: () => formatWhatIf(reply, options.timeZone) };
  },
});

type Met = WhatIfReply["recorded"];

function formatWhatIf(reply: WhatIfReply, timeZone: string): string {
  const formatTime = createZoneFormatter({ time_zone: timeZone });
  const { recorded, rows, check, lowest_limit: lowest, highest_limit: highest } = reply;
  const limits = lowest === highest ? String(lowest) : `${lowest} to ${highest}`;
  const header = ["SLOTS", "MET AT ONCE", "", "AFTER WAITING", "MEDIAN WAIT", "NOT MET", ""];
  const table = formatTable([
    header,
    ["recorded", ...metCells(recorded), `limit ${limits}`],
    ...rows.map((row) => [
      String(row.slots),
      ...metCells(row),
      row.estimated ? "estimate" : "as recorded",
    ]),
  ]);
  const session = formatSeconds(reply.mean_session_seconds);
  const patience = formatSeconds(reply.median_patience_seconds);
  const interval = formatSeconds(reply.retry_interval_seconds);
  return [
    `${poolName(reply)} from ${formatTime(reply.from)} to ${formatTime(reply.to)} ${timeZone}: ` +
      `${recorded.needs} needs`,
    table,
    formatAnswer(reply),
    formatCheck(check),
    [
      "assumptions of the estimates:",
      `- a user who gave up would have used the slot for a mean session, ${session}`,
      "- a user who was refused then retries from the first to the last refusal",
      `- a user who was granted a slot at once would retry for ${patience}, every ${interval}`,
      "- a session that begins at another time lasts as long as recorded",
      ...(reply.has_rules ? [RULES_TEXT] : []),
      ...(reply.has_queue ? [QUEUE_TEXT] : []),
    ].join("\n"),
  ].join("\n\n");
}

const RULES_TEXT =
  "- the sharing rules of that time apply; of a refused call, host and login are not recorded";
const QUEUE_TEXT =
  "- a user who waited in the queue retries meanwhile; the order of the queue is not simulated";

const metCells = (met: Met): string[] => [
  String(met.met_at_once),
  formatShare(met.met_at_once, met.needs),
  String(met.met_after_waiting),
  met.median_wait_seconds === null ? "-" : formatSeconds(met.median_wait_seconds),
  String(met.not_met),
];

const formatShare = (part: number, whole: number): string =>
  whole === 0 ? "-" : `${((100 * part) / whole).toFixed(1)} %`;

function formatAnswer(reply: WhatIfReply): string {
  const { target_percent: percent, target_slots: slots, rows, recorded } = reply;
  if (recorded.needs === 0) return "no user needed a slot in this period: choose another one";
  const answer = slots === null ? `more than ${rows.at(-1)?.slots ?? 0} slots` : `${slots} slots`;
  return `for ${percent} % of needs met at once: ${answer}`;
}

function formatCheck(check: WhatIfReply["check"]): string {
  const refusals = `${check.refusals_reproduced} of ${check.refusals} refusals`;
  const grants = `${check.grants_reproduced} of ${check.grants} grants`;
  return (
    `check: with the recorded limits, the rules decide ${refusals} and ${grants} as recorded;\n` +
    "of the refused calls of a denied episode, the first and the last are decided again"
  );
}
