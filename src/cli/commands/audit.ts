import { eventTypes, formatGap, formatPeer } from "../../domain/event-summary.ts";
import type { AuditEntryReply } from "../../http/audit-entry.ts";
import type { AuditPageReply } from "../../http/routes/audit-log.ts";
import { wallClock } from "../../platform/clock.ts";
import { realDisk, type OpenFile } from "../../platform/disk.ts";
import { writeAll } from "../../platform/files.ts";
import { Misuse } from "../../platform/options.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { checkAuditExport, type CheckedAuditExport } from "../../store/audit/export-check.ts";
import {
  EXIT_OK,
  isFlagSet,
  getListFlag,
  getAdminTarget,
  getStringFlag,
  type Command,
  type FlagValues,
} from "../frame/command.ts";
import { getFileArgument } from "../files/file-argument.ts";
import { option } from "../frame/flags.ts";
import { createTimeFormatter } from "../frame/local-time.ts";
import { parseTimeFlag } from "../frame/time-flag.ts";
import { findNearest } from "../frame/nearest.ts";
import { refuseToReplace, writeOutput } from "../files/output-file.ts";
import { withAdminClient, type AdminCall } from "../client/admin-client.ts";
import { formatCount, print, printJson, formatTable } from "../frame/terminal.ts";

const ROUTE = "/api/admin/v1/audit";

const show: Command = {
  name: "audit",
  isCommon: true,
  summary: "show the audit log, newest first; with --out, export it to a file",
  options: [
    option.data,
    option.identity,
    option.config,
    option.limit,
    option.eventTypes,
    option.userFilter,
    option.productFilter,
    option.licenseFilter,
    option.since,
    option.until,
    option.textFilter,
    option.exportFile,
    option.local,
    option.json,
  ],
  examples: [
    "berth audit --user ada --limit 20",
    "berth audit --type LicenseInstalled,LicenseRemoved --since 2026-01-01",
    "berth audit --since 7d --until 1d",
    "berth audit --out /media/usb/audit.jsonl",
  ],
  valueList: { title: "event types", values: [...eventTypes] },
  async run(flags) {
    checkTypes(getListFlag(flags, "type"));
    const out = getStringFlag(flags, "out");
    if (out !== null) return exportTo(out, flags);
    const query = buildQuery(flags);
    const reply = await withAdminClient(getAdminTarget(flags), (call) =>
      fetchEvents(call, flags, query),
    );
    if (isFlagSet(flags, "json")) printJson(reply);
    else
      print(
        reply.events.length === 0
          ? "no entry of the audit log matches"
          : formatEntries(reply.events, createTimeFormatter(flags)),
      );
    return EXIT_OK;
  },
};

const MAX_PAGE = 500;

/** Fetches as many pages as it takes to reach the limit. */
async function fetchEvents(
  call: AdminCall,
  flags: FlagValues,
  query: URLSearchParams,
): Promise<AuditPageReply> {
  const limit = Number(getStringFlag(flags, "limit"));
  const events: AuditEntryReply[] = [];
  for (;;) {
    query.set("limit", String(Math.min(MAX_PAGE, limit - events.length)));
    const page = (await call("GET", `${ROUTE}?${query.toString()}`)) as AuditPageReply;
    events.push(...page.events);
    if (page.next === null || events.length >= limit) return { ...page, events };
    query.set("before", page.next);
  }
}

function buildQuery(flags: FlagValues): URLSearchParams {
  const query = buildPeriodQuery(flags);
  for (const name of ["user", "product", "license-id", "text"]) {
    const value = getStringFlag(flags, name);
    if (value !== null) query.set(name.replaceAll("-", "_"), value);
  }
  if (getListFlag(flags, "type").length > 0)
    query.set("type", getListFlag(flags, "type").join(","));
  return query;
}

function buildPeriodQuery(flags: FlagValues): URLSearchParams {
  const query = new URLSearchParams();
  for (const name of ["since", "until"] as const) {
    const value = getStringFlag(flags, name);
    if (value !== null) query.set(name, parseTimeFlag(name, value, wallClock()));
  }
  return query;
}

function checkTypes(types: readonly string[]): void {
  for (const type of types.map((text) => text.trim())) {
    if (eventTypes.has(type)) continue;
    const known = [...eventTypes];
    const lower = findNearest(
      type.toLowerCase(),
      known.map((name) => name.toLowerCase()),
    );
    const nearest = known.find((name) => name.toLowerCase() === lower);
    const guess = nearest === undefined ? "" : `did you mean ${nearest}? `;
    throw new Misuse(
      `unknown event type: ${type}`,
      `${guess}berth help audit lists the event types`,
    );
  }
}

function formatEntries(
  events: readonly AuditEntryReply[],
  formatTime: (text: string) => string,
): string {
  const header = ["TIME", "EVENT", "PRODUCT", "USER", "ADDRESS"];
  const rows = events.map(({ at, summary, product, user, peer }) =>
    [formatTime(at), formatTime(summary), product ?? "-", user ?? "-", formatPeer(peer ?? "-")].map(
      joinLines,
    ),
  );
  return formatTable([header, ...rows]);
}

const joinLines = (cell: string): string => cell.replaceAll(/[\r\n]+/g, " ");

/** Like a backup, the export is read back and its chain verified before it gets its name. */
async function exportTo(out: string, flags: FlagValues): Promise<number> {
  const filters = ["type", "user", "product", "license-id", "text"].filter(
    (name) => getStringFlag(flags, name) !== null || getListFlag(flags, name).length > 0,
  );
  if (filters.length > 0) {
    const filterFlags = filters.map((name) => `--${name}`).join(", ");
    throw new Misuse(
      `--out exports complete lines and cannot filter them: remove ${filterFlags}`,
      "--since and --until are allowed; to save filtered entries, use --json instead of --out",
    );
  }
  const period = buildPeriodQuery(flags);
  refuseToReplace(out);
  // Opened first, as the user who runs the command: the folder's owner may not write there.
  const checked = await writeOutput(
    out,
    (file) => writeExport(file, flags, period),
    (path) => checkAuditExport(realDisk, path),
  );
  if (checked !== undefined) printChecked(flags, out, checked);
  return EXIT_OK;
}

async function writeExport(
  file: OpenFile,
  flags: FlagValues,
  period: URLSearchParams,
): Promise<void> {
  await withAdminClient(getAdminTarget(flags), async (_call, stream) => {
    for await (const part of await stream(`${ROUTE}/export?${period.toString()}`)) {
      writeAll(file, part);
    }
  });
}

const verify: Command = {
  name: "audit verify",
  summary: "verify an exported audit log line by line",
  options: [option.json],
  arguments: ["FILE"],
  examples: ["berth audit verify /media/usb/audit.jsonl"],
  async run(flags) {
    const path = getFileArgument(flags, "an exported audit log", "audit.jsonl");
    printChecked(flags, path, checkAuditExport(realDisk, path));
    return EXIT_OK;
  },
};

function printChecked(flags: FlagValues, path: string, checked: CheckedAuditExport): void {
  const { lines, firstSeq, lastSeq, firstAt, lastAt, anchor, sum, gaps } = checked;
  if (isFlagSet(flags, "json")) {
    const auditGaps = gaps.map((gap) => ({
      reason: gap.reason,
      from_line: gap.from,
      to_line: gap.to,
      declared_at: rfc3339(gap.at),
    }));
    printJson({
      ok: true,
      path,
      lines,
      first_line: firstSeq,
      last_line: lastSeq,
      first_at: rfc3339(firstAt),
      last_at: rfc3339(lastAt),
      previous_sum: anchor,
      sum,
      audit_gaps: auditGaps,
    });
    return;
  }
  const beginning =
    anchor === null
      ? "at the beginning of the audit log"
      : `after line ${firstSeq - 1} of the audit log, ${anchor}`;
  print(
    formatTable([
      ["checked", path],
      [
        "lines",
        `${formatCount(lines, "line")}, ${firstSeq} to ${lastSeq} of the audit log, chained`,
      ],
      ...gaps.map((gap) => ["declared gap", `${formatGap(gap)} on ${rfc3339(gap.at)}`]),
      ["written", `from ${rfc3339(firstAt)} to ${rfc3339(lastAt)}`],
      ["begins", beginning],
      ["ends", `with line ${lastSeq}, ${sum}`],
    ]),
  );
}

export const auditCommands: readonly Command[] = [show, verify];
