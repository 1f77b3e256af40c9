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
} from "../command.ts";
import { getFileArgument } from "../file-argument.ts";
import { option } from "../flags.ts";
import { createTimeFormatter } from "../local-time.ts";
import { parseTimeFlag } from "../time-flag.ts";
import { findNearest } from "../nearest.ts";
import { refuseToReplace, writeOutput } from "../output-file.ts";
import { withAdminClient, type AdminCall } from "../admin-client.ts";
import { formatCount, print, printJson, formatTable } from "../terminal.ts";

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
  async run(given) {
    checkTypes(getListFlag(given, "type"));
    const out = getStringFlag(given, "out");
    if (out !== null) return exportTo(out, given);
    const query = buildQuery(given);
    const reply = await withAdminClient(getAdminTarget(given), (call) =>
      fetchEvents(call, given, query),
    );
    if (isFlagSet(given, "json")) printJson(reply);
    else
      print(
        reply.events.length === 0
          ? "no entry of the audit log matches"
          : text(reply.events, createTimeFormatter(given)),
      );
    return EXIT_OK;
  },
};

const MAX_PAGE = 500;

/** As many as were asked for, however many pages that takes. */
async function fetchEvents(
  call: AdminCall,
  given: FlagValues,
  query: URLSearchParams,
): Promise<AuditPageReply> {
  const limit = Number(getStringFlag(given, "limit"));
  const events: AuditEntryReply[] = [];
  for (;;) {
    query.set("limit", String(Math.min(MAX_PAGE, limit - events.length)));
    const page = (await call("GET", `${ROUTE}?${query.toString()}`)) as AuditPageReply;
    events.push(...page.events);
    if (page.next === null || events.length >= limit) return { ...page, events };
    query.set("before", page.next);
  }
}

function buildQuery(given: FlagValues): URLSearchParams {
  const query = buildPeriodQuery(given);
  for (const name of ["user", "product", "license-id", "text"]) {
    const value = getStringFlag(given, name);
    if (value !== null) query.set(name.replaceAll("-", "_"), value);
  }
  if (getListFlag(given, "type").length > 0)
    query.set("type", getListFlag(given, "type").join(","));
  return query;
}

function buildPeriodQuery(given: FlagValues): URLSearchParams {
  const query = new URLSearchParams();
  for (const name of ["since", "until"] as const) {
    const value = getStringFlag(given, name);
    if (value !== null) query.set(name, parseTimeFlag(name, value, wallClock()));
  }
  return query;
}

function checkTypes(types: readonly string[]): void {
  for (const type of types.map((one) => one.trim())) {
    if (eventTypes.has(type)) continue;
    const known = [...eventTypes];
    const lower = findNearest(
      type.toLowerCase(),
      known.map((one) => one.toLowerCase()),
    );
    const meant = known.find((one) => one.toLowerCase() === lower);
    const guess = meant === undefined ? "" : `did you mean ${meant}? `;
    throw new Misuse(
      `unknown event type: ${type}`,
      `${guess}berth help audit lists the event types`,
    );
  }
}

function text(events: readonly AuditEntryReply[], time: (text: string) => string): string {
  const header = ["TIME", "EVENT", "PRODUCT", "USER", "ADDRESS"];
  const rows = events.map(({ at, summary, product, user, peer }) =>
    [time(at), time(summary), product ?? "-", user ?? "-", formatPeer(peer ?? "-")].map(onOneLine),
  );
  return formatTable([header, ...rows]);
}

const onOneLine = (cell: string): string => cell.replaceAll(/[\r\n]+/g, " ");

/** Read back and followed from line to line before it gets its name, as a backup is. */
async function exportTo(out: string, given: FlagValues): Promise<number> {
  const filters = ["type", "user", "product", "license-id", "text"].filter(
    (name) => getStringFlag(given, name) !== null || getListFlag(given, name).length > 0,
  );
  if (filters.length > 0) {
    const named = filters.map((name) => `--${name}`).join(", ");
    throw new Misuse(
      `--out exports complete lines and cannot filter them: remove ${named}`,
      "--since and --until are allowed; to save filtered entries, use --json instead of --out",
    );
  }
  const span = buildPeriodQuery(given);
  refuseToReplace(out);
  // Opened before the record is, as whoever may write there: the server's user may not.
  const checked = await writeOutput(
    out,
    (file) => writeExport(file, given, span),
    (path) => checkAuditExport(realDisk, path),
  );
  if (checked !== undefined) printChecked(given, out, checked);
  return EXIT_OK;
}

async function writeExport(
  file: OpenFile,
  given: FlagValues,
  span: URLSearchParams,
): Promise<void> {
  await withAdminClient(getAdminTarget(given), async (_call, stream) => {
    for await (const part of await stream(`${ROUTE}/export?${span.toString()}`)) {
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
  async run(given) {
    const path = getFileArgument(given, "an exported audit log", "audit.jsonl");
    printChecked(given, path, checkAuditExport(realDisk, path));
    return EXIT_OK;
  },
};

function printChecked(given: FlagValues, path: string, checked: CheckedAuditExport): void {
  const { lines, firstSeq, lastSeq, firstAt, lastAt, anchor, sum, gaps } = checked;
  if (isFlagSet(given, "json")) {
    const declared = gaps.map((gap) => ({
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
      audit_gaps: declared,
    });
    return;
  }
  const begins =
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
      ["begins", begins],
      ["ends", `with line ${lastSeq}, ${sum}`],
    ]),
  );
}

export const auditCommands: readonly Command[] = [show, verify];
