import type {
  AuditRepairReply,
  AuditSealReply,
} from "../../../http/routes/audit/audit-maintenance.ts";
import { auditFilePath } from "../../../operations/audit/audit-maintenance.ts";
import { Misuse } from "../../frame/options.ts";
import { quoteForShell } from "../../../platform/shell-quote.ts";
import { unwrapReply, withAdminClient } from "../../client/admin-client.ts";
import { Failure } from "../../frame/command.ts";
import { checkConfirmable, confirm } from "../../frame/confirm.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { formatCount, formatTable } from "../../frame/terminal.ts";

const repair = defineCommand({
  name: "audit repair",
  summary: "repair damaged or missing lines of the audit log, or declare them as lost",
  options: { ...siteOptions, acceptGap: option.acceptGap, yes: option.yes, json: option.json },
  examples: ["berth audit repair", 'berth audit repair --accept-gap "disk replaced in March"'],
  async run(options, context) {
    const { acceptGap: reason, data } = options;
    if (reason?.trim() === "") {
      throw new Misuse(
        "--accept-gap requires a reason",
        'for example --accept-gap "disk replaced"',
      );
    }
    if (reason !== null) checkConfirmable(options);
    return withAdminClient(options, context, async ({ admin }) => {
      let reply = await unwrapReply(admin.audit.repair.post({}));
      if (!reply.intact && reason !== null) {
        const question = `${missingText(reply.missing_lines)} will be declared as permanently lost; continue?`;
        await confirm(options, question);
        reply = await unwrapReply(admin.audit.repair.post({ accept_gap: reason }));
      }
      const failure = reply.intact ? null : notRepairedError(data, reply);
      return { json: reply, text: repairText(reply), failure };
    });
  },
});

type MissingLines = AuditRepairReply["missing_lines"];
type DeclaredGap = AuditRepairReply["declared_gaps"][number];

const linesText = ({ from_line: from, to_line: to }: MissingLines[number] | DeclaredGap): string =>
  from === to ? `line ${from}` : `lines ${from} to ${to}`;

const missingText = (missing: MissingLines): string => missing.map(linesText).join(", ");

/** The hint names the remedy without loss first. */
function notRepairedError(folder: string, { missing_lines: missing }: AuditRepairReply): Failure {
  const names = [...new Set(missing.flatMap(({ files }) => files))];
  const files = names.length === 0 ? ["FILE"] : names;
  const paths = files.map(auditFilePath).join(" ");
  return new Failure(
    `the audit log lacks ${missingText(missing)} (${missing.map(timeText).join("; ")}), and the journal no longer contains them`,
    `to restore them from a backup without loss, run as the folder's owner: tar xf BACKUP -C ${quoteForShell(folder)} ${paths}; without a backup, berth audit repair --accept-gap "REASON" declares them as lost`,
  );
}

const timeText = ({ earliest, latest }: MissingLines[number] | DeclaredGap): string =>
  earliest === null && latest === null
    ? "written at an unknown time"
    : `written ${[earliest && `from ${earliest}`, latest && `until ${latest}`].filter(Boolean).join(" ")}`;

function repairText(reply: AuditRepairReply): string {
  const { recovered_lines, rewritten_files, backup_files, declared_gaps } = reply;
  if (rewritten_files.length + backup_files.length + declared_gaps.length === 0) {
    return "the audit log is intact: nothing to repair";
  }
  return formatTable([
    ["recovered", formatCount(recovered_lines, "line")],
    ...rewritten_files.map((name) => ["rewritten", auditFilePath(name)]),
    ...backup_files.map((name) => ["backup", `${auditFilePath(name)}, the previous content`]),
    ...declared_gaps.map((gap) => ["declared lost", `${linesText(gap)}, ${timeText(gap)}`]),
  ]);
}

const MONTH = /^\d{4}-(?:0[1-9]|1[0-2])$/;

const seal = defineCommand({
  name: "audit seal",
  summary:
    "delete one month of the audit log; its checksum stays, so that the chain remains verifiable",
  options: { ...siteOptions, note: option.note, yes: option.yes, json: option.json },
  arguments: ["MONTH"],
  examples: ["berth audit --out /media/usb/audit.jsonl", "berth audit seal 2026-03"],
  async run(options, context) {
    const [month = ""] = context.args;
    if (!MONTH.test(month)) {
      throw new Misuse(
        "MONTH is required, in the form YYYY-MM",
        "for example berth audit seal 2026-03",
      );
    }
    const question = `the lines of ${month} will be deleted; berth audit --out FILE exports them first; continue?`;
    await confirm(options, question);
    const body = { month, note: options.note ?? "" };
    const reply = await withAdminClient(options, context, ({ admin }) =>
      unwrapReply(admin.audit.seal.post(body)),
    );
    return { json: reply, text: sealText(month, reply) };
  },
});

const sealText = (month: string, { gaps, removed_files, freed_bytes }: AuditSealReply): string =>
  formatTable([
    ["sealed", month],
    ...gaps.map((gap) => ["deleted", `${linesText(gap)}, ${timeText(gap)}`]),
    ...gaps.flatMap(({ files }) =>
      files.map(({ name, sha256 }) => ["SHA-256", `${sha256} of ${auditFilePath(name)}`]),
    ),
    ["freed", `${freed_bytes} bytes in ${formatCount(removed_files.length, "file")}`],
  ]);

export const auditRepairCommands = [repair, seal];
