import { csvRecord } from "../../../domain/text/csv.ts";
import { eventTypes } from "../../../domain/event-catalogue.ts";
import { formatGap, formatPeer } from "../../../domain/model/event-texts.ts";
import {
  AUDIT_CSV_HEADER,
  auditCsvCells,
  type AuditEntryReply,
} from "../../../http/routes/audit/audit-entry.ts";
import type { AuditPageReply } from "../../../http/routes/audit/audit-log.ts";
import { realDisk } from "../../../platform/files/disk.ts";
import { writeAll } from "../../../platform/files/files.ts";
import { flag, Misuse } from "../../frame/options.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import {
  checkAuditExport,
  type CheckedAuditExport,
} from "../../../operations/audit/audit-export-check.ts";
import {
  setFields,
  unwrapReply,
  withAdminClient,
  type AdminClient,
} from "../../client/admin-client.ts";
import { checkFile } from "../../files/file-argument.ts";
import { refuseToReplace, writeOutput } from "../../files/output-file.ts";
import { defineCommand, type Values } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { createTimeFormatter } from "../../frame/times.ts";
import { findNearest } from "../../../domain/text/nearest.ts";
import type { JsonOutcome } from "../../frame/outcome.ts";
import { formatCount, formatList, formatTable, type Text } from "../../frame/terminal.ts";

const filters = {
  types: option.eventTypes,
  user: option.userFilter,
  product: option.productFilter,
  licenseId: option.licenseFilter,
  since: option.since,
  until: option.until,
  text: option.textFilter,
};

type Filters = Values<typeof filters>;

const show = defineCommand({
  name: "audit",
  isCommon: true,
  summary: "show the audit log, newest first; with --out, export it to a file",
  options: {
    ...siteOptions,
    limit: option.limit,
    ...filters,
    out: option.exportFile,
    local: option.local,
    csv: flag("--csv", "print CSV, for a spreadsheet"),
    json: option.json,
  },
  examples: [
    "berth audit --user ada --limit 20",
    "berth audit --type LicenseInstalled,LicenseRemoved --since 2026-01-01",
    "berth audit --since 7d --until 1d",
    "berth audit --product CAD --since 30d --limit 10000 --csv > cad.csv",
    "berth audit --out /media/usb/audit.jsonl",
  ],
  valueList: { title: "event types", values: [...eventTypes] },
  async run(options, context) {
    checkTypes(options.types);
    const { out, limit, csv } = options;
    refuseTwoFormats(options);
    if (out !== null) {
      refuseFilters(options);
      refuseToReplace(out);
      // Like a backup, the export is read back and its chain verified before it gets its name.
      // Opened first, as the user who runs the command: the folder's owner may not write there.
      const checked = await writeOutput(
        out,
        (file) =>
          withAdminClient(options, context, async ({ stream }) => {
            for await (const part of await stream(exportPath(options))) writeAll(file, part);
          }),
        (path) => checkAuditExport(realDisk, path),
      );
      return checkedOutcome(out, checked);
    }
    const page = await withAdminClient(options, context, (client) =>
      fetchEvents(client, limit, options),
    );
    const text = (): Text =>
      csv
        ? { csv: [AUDIT_CSV_HEADER, ...page.events.map(auditCsvCells)].map(csvRecord) }
        : formatEntries(page.events, createTimeFormatter(options));
    return { json: page, text };
  },
});

const MAX_PAGE = 500;

/** Fetches as many pages as it takes to reach the limit. */
async function fetchEvents(
  { admin }: AdminClient,
  limit: number,
  { types, user, product, licenseId, since, until, text }: Filters,
): Promise<AuditPageReply> {
  const type = types.length === 0 ? null : types.join(",");
  const events: AuditEntryReply[] = [];
  let before: string | null = null;
  for (;;) {
    const pageLimit = String(Math.min(MAX_PAGE, limit - events.length));
    const fields = { since, until, user, product, license_id: licenseId, text, type };
    const page: AuditPageReply = await unwrapReply(
      admin.audit.get({ query: setFields({ ...fields, limit: pageLimit, before }) }),
    );
    events.push(...page.events);
    if (page.next === null || events.length >= limit) return { ...page, events };
    before = page.next;
  }
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
  const rows = events.map(({ at, summary, product, user, peer }) => ({
    time: formatTime(at),
    event: joinLines(formatTime(summary)),
    product: product && joinLines(product),
    user: user && joinLines(user),
    address: joinLines(formatPeer(peer ?? "-")),
  }));
  return formatList(rows, "no entry of the audit log matches");
}

const joinLines = (cell: string): string => cell.replaceAll(/[\r\n]+/g, " ");

/** An export is always JSON lines, and its times are always UTC, as those of CSV are. */
function refuseTwoFormats(values: { csv: boolean; json: boolean; out: string | null }): void {
  if (!values.csv) return;
  if (values.json) throw new Misuse("--csv and --json cannot be combined", "use only one of them");
  if (values.out !== null) {
    throw new Misuse(
      "--csv and --out cannot be combined",
      "redirect the output: --csv > audit.csv",
    );
  }
}

/** An export with gaps could not be verified. */
function refuseFilters({ types, user, product, licenseId, text }: Filters): void {
  const filters = Object.entries({ type: types[0], user, product, "license-id": licenseId, text })
    .filter(([, value]) => value != null)
    .map(([name]) => `--${name}`);
  if (filters.length === 0) return;
  throw new Misuse(
    `--out exports complete lines and cannot filter them: remove ${filters.join(", ")}`,
    "--since and --until are allowed; to save filtered entries, use --csv or --json instead of --out",
  );
}

const exportPath = ({ since, until }: Filters): string =>
  `/api/admin/v1/audit/export?${new URLSearchParams(setFields<{ since?: string; until?: string }>({ since, until })).toString()}`;

const verify = defineCommand({
  name: "audit verify",
  summary: "verify an exported audit log line by line",
  options: { json: option.json },
  arguments: ["FILE"],
  examples: ["berth audit verify /media/usb/audit.jsonl"],
  run(_values, { args }) {
    const path = checkFile(args[0], "an exported audit log", "audit.jsonl");
    return checkedOutcome(path, checkAuditExport(realDisk, path));
  },
});

function checkedOutcome(path: string, checked: CheckedAuditExport): JsonOutcome {
  const { lines, firstSeq, lastSeq, firstAt, lastAt, anchor, sum, gaps } = checked;
  const json = {
    ok: true,
    path,
    lines,
    first_line: firstSeq,
    last_line: lastSeq,
    first_at: rfc3339(firstAt),
    last_at: rfc3339(lastAt),
    previous_sum: anchor,
    sum,
    audit_gaps: gaps.map((gap) => ({
      reason: gap.reason,
      from_line: gap.from,
      to_line: gap.to,
      declared_at: rfc3339(gap.at),
    })),
  };
  const beginning =
    anchor === null
      ? "at the beginning of the audit log"
      : `after line ${firstSeq - 1} of the audit log, ${anchor}`;
  const text = formatTable([
    ["checked", path],
    ["lines", `${formatCount(lines, "line")}, ${firstSeq} to ${lastSeq} of the audit log, chained`],
    ...gaps.map((gap) => ["declared gap", `${formatGap(gap)} on ${rfc3339(gap.at)}`]),
    ["written", `from ${rfc3339(firstAt)} to ${rfc3339(lastAt)}`],
    ["begins", beginning],
    ["ends", `with line ${lastSeq}, ${sum}`],
  ]);
  return { json, text };
}

export const auditCommands = [show, verify];
