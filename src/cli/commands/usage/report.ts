import type { ReportReply } from "../../../http/routes/usage/report-schema.ts";
import {
  REPORT_TABLES,
  reportCsv,
  type ReportTable,
} from "../../../http/routes/usage/report-csv.ts";
import { wallClock } from "../../../platform/clock.ts";
import { setFields, unwrapReply, withAdminClient } from "../../client/admin-client.ts";
import { withReportProgress } from "../../client/report-progress.ts";
import { refuseToReplace, writeOutputText } from "../../files/output-file.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { oneOf, wholeNumber } from "../../frame/option-parsers.ts";
import { flag, Misuse, path, text } from "../../frame/options.ts";
import type { Text } from "../../frame/terminal.ts";
import { describeMissing } from "../../report/figures.ts";
import { formatReportHtml } from "../../report/report-html.ts";
import { periodOptions, readPeriod } from "../../report/report-period.ts";
import { formatReport } from "../../report/report-text.ts";
import { whatIfCommand } from "./report-what-if.ts";

const FORMATS = ["text", "csv", "json", "html"] as const;
type Format = (typeof FORMATS)[number];

/** More rows than a person reads, and fewer than would fill the memory. */
const MAX_ROWS = "100000";

const reportOptions = {
  ...siteOptions,
  product: text("--product CODE", "only this product; default: all"),
  feature: text("--feature CODE", "only this floating feature"),
  ...periodOptions,
  format: text(
    "--format FORMAT",
    "text, csv, json or html; default: by the ending of --out, else text",
    { parse: oneOf(...FORMATS) },
  ),
  table: text("--table TABLE", "the table for CSV, see below; default: utilisation", {
    parse: oneOf(...REPORT_TABLES),
  }),
  out: path("--out FILE", "write to this new file"),
  anonymous: flag(
    "--anonymous",
    "replace names, hosts and addresses with random keys, for readers outside of the site",
  ),
  idleDays: text(
    "--idle-days N",
    "a holder without consumption or features for so many days is idle",
    {
      defaultValue: "7",
      parse: wholeNumber(1, 366, "a whole number", "for example --idle-days 14"),
    },
  ),
  json: option.json,
};

const reportCommand = defineCommand({
  name: "report",
  isCommon: true,
  summary: "report use, denied demand, people and idle holders over a period",
  options: reportOptions,
  valueList: { title: "tables", values: [...REPORT_TABLES] },
  examples: [
    "berth report --last 7d",
    "berth report --product CAD --month 2026-10 --out cad.html",
    "berth report --from 2026-10-06 --to 2026-10-06 --format csv --table episodes",
    "berth report --month 2026-10 --anonymous --out october.json",
  ],
  async run(options, context) {
    const { out, table, anonymous, idleDays, product, feature } = options;
    const format = chooseFormat(options);
    if (out !== null) refuseToReplace(out);
    const period = readPeriod(options, wallClock());
    const report = await withAdminClient(options, context, (client) =>
      withReportProgress("making the report", client, () =>
        unwrapReply(
          client.admin.report.get({
            query: setFields({
              product,
              feature,
              ...period,
              time_zone: options.timeZone,
              idle_days: String(idleDays),
              anonymous: anonymous ? "true" : null,
              sessions: table === "sessions" || format === "json" ? "true" : null,
              rows: format === "text" ? null : MAX_ROWS,
            }),
          }),
        ),
      ),
    );
    const text = async (): Promise<Text> => {
      if (out === null) return printedReport(report, format, table ?? "utilisation");
      await writeOutputText(out, formatFile(report, format, table ?? "utilisation"));
      return `the report is written to ${out}`;
    };
    // The other formats contain it.
    const missing = format === "csv" ? describeMissing(report) : null;
    return { json: report, text, warnings: missing === null ? [] : [missing] };
  },
});

/** Files of these programs would not open. */
const FOREIGN_ENDING = /\.(?:pdf|xlsx?|ods|docx?|odt|xml|png|svg)$/i;

interface FormatFlags {
  readonly format: Format | null;
  readonly table: ReportTable | null;
  readonly out: string | null;
  readonly json: boolean;
}

function chooseFormat({ format, table, out, json }: FormatFlags): Format {
  if (json && format !== null && format !== "json")
    throw new Misuse("--json and --format cannot be combined", "--format json is the same");
  if (json && out !== null)
    throw new Misuse("--json and --out cannot be combined", "use --format json with --out");
  const ending = FORMATS.find((name) => out?.endsWith(`.${name}`) === true) ?? null;
  if (format === null && ending === null && FOREIGN_ENDING.test(out ?? ""))
    throw new Misuse(
      `--out ${out} ends with no format of a report`,
      "use .html, .csv, .json or .txt, or add --format; a browser prints HTML to PDF",
    );
  const chosen = json ? "json" : (format ?? ending ?? (table === null ? "text" : "csv"));
  if (table !== null && chosen !== "csv")
    throw new Misuse("--table is for CSV", "add --format csv; the other formats have all tables");
  return chosen;
}

function printedReport(report: ReportReply, format: Format, table: ReportTable): Text {
  if (format === "csv") return { csv: reportCsv(report, table) };
  return format === "text" ? formatReport(report) : { document: formatFile(report, format, table) };
}

const formatFile = (report: ReportReply, format: Format, table: ReportTable): string =>
  ({
    csv: () => reportCsv(report, table).join(""),
    json: () => `${JSON.stringify(report, null, 2)}\n`,
    html: () => formatReportHtml(report),
    text: () => `${formatReport(report)}\n`,
  })[format]();

export const reportCommands = [reportCommand, whatIfCommand];
