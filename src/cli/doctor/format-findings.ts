import { SEVERITIES, type HealthReport } from "../../operations/health/finding.ts";
import { quoteIfNeeded } from "../../platform/shell-quote.ts";
import { SERVICE_SETTINGS } from "../../platform/environment.ts";
import { formatCount } from "../frame/terminal.ts";
import { formatWrappedRows } from "../frame/wrap-text.ts";

type Findings = HealthReport["findings"];

/** Each finding with its remedy and its command, in at most 100 columns. */
export const formatFindings = (findings: Findings, dataFolder: string | null): string =>
  formatWrappedRows(
    findings.flatMap(({ severity, code, summary, remedy, command }) => [
      { label: severity, text: `${summary} (${code})` },
      ...(remedy === "" ? [] : [{ label: "", text: remedy }]),
      ...(command === null
        ? []
        : [{ label: "", text: `$ ${withDataFlag(command, dataFolder)}`, isCommand: true }]),
    ]),
  );

/** "1 error, 2 notes"; empty: nothing was found. */
export const countFindings = (findings: Findings): string =>
  SEVERITIES.map((severity) => ({
    severity,
    count: findings.filter((finding) => finding.severity === severity).length,
  }))
    .filter(({ count }) => count > 0)
    .map(({ severity, count }) => formatCount(count, severity))
    .join(", ");

/** The folder that other commands need as --data; null: they find it as this command did. */
export const folderToName = (folder: string, source: string | null): string | null =>
  source === null || ["default", "BERTH_DATA", SERVICE_SETTINGS].includes(source) ? null : folder;

/** A command that was copied must use the same folder as the one that printed it. */
function withDataFlag(command: string, dataFolder: string | null): string {
  const usesFolder = /^berth (?!service )/.test(command);
  return dataFolder === null || !usesFolder
    ? command
    : `${command} --data ${quoteIfNeeded(dataFolder)}`;
}
