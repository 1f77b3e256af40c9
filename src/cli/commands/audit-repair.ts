import { AUDIT_FOLDER, quoteForShell } from "../../store/folder/files.ts";
import type { AuditRepairReply, AuditSealReply } from "../../http/routes/audit-maintenance.ts";
import { Misuse } from "../../platform/options.ts";
import {
  EXIT_OK,
  getDataFolder,
  Failure,
  isFlagSet,
  getAdminTarget,
  getStringFlag,
  type Command,
} from "../frame/command.ts";
import { checkConfirmable, confirm } from "../frame/confirm.ts";
import { option } from "../frame/flags.ts";
import { withAdminClient } from "../client/admin-client.ts";
import { formatCount, print, printJson, formatTable } from "../frame/terminal.ts";

const ROUTE = "/api/admin/v1/audit";

const repair: Command = {
  name: "audit repair",
  summary: "repair damaged or missing lines of the audit log, or declare them as lost",
  options: [option.data, option.identity, option.config, option.acceptGap, option.yes, option.json],
  examples: ["berth audit repair", 'berth audit repair --accept-gap "disk replaced in March"'],
  async run(flags) {
    const reason = getStringFlag(flags, "accept-gap");
    if (reason?.trim() === "") {
      throw new Misuse(
        "--accept-gap requires a reason",
        'for example --accept-gap "disk replaced"',
      );
    }
    if (reason !== null) checkConfirmable(flags);
    return withAdminClient(getAdminTarget(flags), async (call) => {
      const requestRepair = (body: object) =>
        call("POST", `${ROUTE}/repair`, body) as Promise<AuditRepairReply>;
      let reply = await requestRepair({});
      if (!reply.intact && reason !== null) {
        const question = `${missingText(reply.missing_lines)} will be declared as permanently lost; continue?`;
        await confirm(flags, question);
        reply = await requestRepair({ accept_gap: reason });
      }
      if (isFlagSet(flags, "json")) printJson(reply);
      if (!reply.intact) throw notRepairedError(getDataFolder(flags), reply);
      if (!isFlagSet(flags, "json")) print(repairText(reply));
      return EXIT_OK;
    });
  },
};

type MissingLines = AuditRepairReply["missing_lines"];
type DeclaredGap = AuditRepairReply["declared_gaps"][number];

const linesText = ({ from_line: from, to_line: to }: MissingLines[number] | DeclaredGap): string =>
  from === to ? `line ${from}` : `lines ${from} to ${to}`;

const missingText = (missing: MissingLines): string => missing.map(linesText).join(", ");

/** The hint names the remedy without loss first. */
function notRepairedError(folder: string, { missing_lines: missing }: AuditRepairReply): Failure {
  const names = [...new Set(missing.flatMap(({ files }) => files))];
  const files = names.length === 0 ? ["FILE"] : names;
  const paths = files.map((name) => `${AUDIT_FOLDER}/${name}`).join(" ");
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
    ...rewritten_files.map((name) => ["rewritten", `${AUDIT_FOLDER}/${name}`]),
    ...backup_files.map((name) => ["backup", `${AUDIT_FOLDER}/${name}, the previous content`]),
    ...declared_gaps.map((gap) => ["declared lost", `${linesText(gap)}, ${timeText(gap)}`]),
  ]);
}

const MONTH = /^\d{4}-(?:0[1-9]|1[0-2])$/;

const seal: Command = {
  name: "audit seal",
  summary:
    "delete one month of the audit log; its checksum stays, so that the chain remains verifiable",
  options: [option.data, option.identity, option.config, option.note, option.yes, option.json],
  arguments: ["MONTH"],
  examples: ["berth audit --out /media/usb/audit.jsonl", "berth audit seal 2026-03"],
  async run(flags) {
    const [month = ""] = flags.positionals;
    if (!MONTH.test(month)) {
      throw new Misuse(
        "MONTH is required, in the form YYYY-MM",
        "for example berth audit seal 2026-03",
      );
    }
    const question = `the lines of ${month} will be deleted; berth audit --out FILE exports them first; continue?`;
    await confirm(flags, question);
    const note = getStringFlag(flags, "note") ?? "";
    const reply = (await withAdminClient(getAdminTarget(flags), (call) =>
      call("POST", `${ROUTE}/seal`, { month, note }),
    )) as AuditSealReply;
    if (isFlagSet(flags, "json")) printJson(reply);
    else print(sealText(month, reply));
    return EXIT_OK;
  },
};

const sealText = (month: string, { gaps, removed_files, freed_bytes }: AuditSealReply): string =>
  formatTable([
    ["sealed", month],
    ...gaps.map((gap) => ["deleted", `${linesText(gap)}, ${timeText(gap)}`]),
    ...gaps.flatMap(({ files }) =>
      files.map(({ name, sha256 }) => ["SHA-256", `${sha256} of ${AUDIT_FOLDER}/${name}`]),
    ),
    ["freed", `${freed_bytes} bytes in ${formatCount(removed_files.length, "file")}`],
  ]);

export const auditRepairCommands: readonly Command[] = [repair, seal];
