import { resolve } from "node:path";
import { formatGap } from "../../../domain/model/event-texts.ts";
import { wallClock } from "../../../platform/clock.ts";
import { withOpenFile, realDisk } from "../../../platform/files/disk.ts";
import { becomeFolderOwner } from "../../../platform/files/owner.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import type { BackupManifest } from "../../../operations/backups/backup-manifest.ts";
import { makeBackup, openBackup } from "../../../operations/backups/backup.ts";
import { restoreBackup, type RestoreReport } from "../../../operations/backups/restore.ts";
import { isStartedByServer } from "../../../operations/folder/folder-contents.ts";
import { findFolderError } from "../../../operations/folder/folder-error.ts";
import { verifyLiveFolder, type VerifyReport } from "../../../operations/folder/verify.ts";
import { findOriginalOfBackup } from "../../../operations/folder/appliance-claim.ts";
import { withRunningServer } from "../../client/admin-client.ts";
import { Failure } from "../../frame/command.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { findNearest } from "../../../domain/text/nearest.ts";
import { Misuse } from "../../frame/options.ts";
import { checkBackupFile, checkBackup, checkNewFile } from "../../files/file-argument.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { hardwareComponents } from "../../serve/appliance.ts";
import { listNewMachineSteps } from "../../service/new-machine-steps.ts";
import { folderChecks } from "../../../operations/folder/folder-checks.ts";
import { isFolder } from "../../files/input-file.ts";
import { formatCount, formatTable, printWarning } from "../../frame/terminal.ts";

const EXAMPLE = "site.berth";

const verifyCommand = defineCommand({
  name: "verify",
  isCommon: true,
  summary: "check the whole data folder, or a backup; changes nothing",
  options: {
    data: option.data,
    allowDamagedAudit: option.allowDamagedAudit,
    config: option.config,
    json: option.json,
  },
  arguments: ["[FILE]"],
  examples: ["berth verify --data /srv/berth", "berth verify /media/usb/site.berth"],
  async run({ data, allowDamagedAudit }, { args: [argument] }) {
    const path = argument === undefined ? data : resolve(argument);
    const { verifyReport, manifest } =
      // The argument may be a data folder, too.
      argument === undefined || isFolder(path)
        ? { verifyReport: await verifyDataFolder(path, allowDamagedAudit), manifest: null }
        : await openChecked(path);
    return {
      json: { ok: true, path, ...verifiedFields(verifyReport, manifest) },
      text: report(path, verifyReport, manifest),
      warnings: auditDamageWarnings(path, verifyReport),
    };
  },
});

async function verifyDataFolder(path: string, allowAuditDamage: boolean): Promise<VerifyReport> {
  const options = { ...folderChecks, allowAuditDamage };
  try {
    const report = await verifyLiveFolder(realDisk, path, options);
    if (report.auditDamage !== null) await letServerVerify(path);
    return report;
  } catch (error) {
    if (findFolderError(error)?.code === "audit_damaged") await letServerVerify(path);
    throw error;
  }
}

/** The server's own check makes the damage a finding. The result of this process is not trusted. */
async function letServerVerify(folder: string): Promise<void> {
  // The server reads the result of its jobs, and runs one at a time.
  if (isStartedByServer(folder)) return;
  try {
    await withRunningServer(folder, ({ admin }) => admin.verify.get());
  } catch {
    // It is stopping, or this user may not use its socket. Its daily check finds the damage too.
  }
}

function openChecked(path: string) {
  checkBackup(path);
  return openBackup(realDisk, path, folderChecks);
}

/** On stderr, whatever else is printed: it should not get lost in a script. */
export function auditDamageWarnings(path: string, { auditDamage }: VerifyReport): string[] {
  if (auditDamage === null) return [];
  const { missing, files } = auditDamage;
  const details = [
    missing.length === 0 ? "" : `${linesText(missing)} missing`,
    files.length === 0 ? "" : `damaged files: ${files.join(", ")}`,
  ];
  const damage = details.filter((text) => text !== "").join("; ");
  return [
    `the audit log in ${path} is damaged (${damage}); licenses are not affected`,
    "berth audit repair repairs it in the data folder",
  ];
}

const linesText = (lines: readonly { readonly from: number; readonly to: number }[]): string =>
  lines.map(({ from, to }) => (from === to ? `line ${from}` : `lines ${from} to ${to}`)).join(", ");

const backupCommand = defineCommand({
  name: "backup",
  isCommon: true,
  summary: "copy the data folder into one file and check the copy; the server may be running",
  options: { data: option.data, config: option.config, json: option.json },
  arguments: ["FILE"],
  examples: ["berth backup /media/usb/site.berth --data /srv/berth"],
  async run({ data }, { args }) {
    refuseMisspeltCommand(args[0]);
    const out = checkNewFile(args[0], data, "a backup", EXAMPLE);
    const backup = await makeBackup(realDisk, data, out, wallClock(), folderChecks);
    const { manifest, verifyReport, auditDamage, size } = backup;
    if (auditDamage !== null) await letServerVerify(data);
    return {
      json: { ok: true, path: out, bytes: size, ...verifiedFields(verifyReport, manifest) },
      text: [
        report(out, verifyReport, manifest),
        `\n${out} is written and checked. It contains the appliance's key: keep it safe.`,
      ],
      warnings: auditDamageWarnings(out, verifyReport),
    };
  },
});

const SIMILAR_COMMANDS: Readonly<Record<string, string>> = {
  list: "berth backup list",
  now: "berth backup now",
  verify: "berth verify FILE",
  restore: "berth restore FILE",
};

/** Else a misspelt `berth backup list` would write a file with the appliance's key. */
function refuseMisspeltCommand(file: string | undefined): void {
  if (file === undefined || !/^[a-z]+$/.test(file)) return;
  const nearest = findNearest(file, Object.keys(SIMILAR_COMMANDS));
  if (nearest === null) return;
  const command = SIMILAR_COMMANDS[nearest];
  throw new Misuse(
    `${file} is not the name of a backup command`,
    `did you mean ${command}? To write a file of this name: berth backup ./${file}`,
  );
}

const restoreCommand = defineCommand({
  name: "restore",
  isCommon: true,
  summary: "replace the contents of the data folder with a backup; the server must be stopped",
  options: { ...siteOptions, acceptLoss: option.acceptLoss, json: option.json },
  arguments: ["FILE"],
  examples: ["berth restore /media/usb/site.berth --data /srv/berth"],
  async run({ data: folder, identity, acceptLoss, json }, { args, sources, environment }) {
    const file = checkBackupFile(args[0], "the backup", EXAMPLE);
    const original = await findOriginalOfBackup(file, folder, environment);
    if (original !== null) warnOfCopy(original, folder, sources.data === "default");
    // Opened as root if need be; but the files in the folder must belong to the folder's owner.
    const disk = withOpenFile(file);
    // As root if need be, too: systemd gives the service what only root may read.
    const hardware = hardwareComponents(identity, "site");
    becomeFolderOwner(folder);
    const outcome = await restoreBackup({
      disk,
      folder,
      file,
      acceptLoss,
      now: wallClock(),
      uid: process.getuid?.() ?? 0,
      hardware,
      ...folderChecks,
    });
    const { manifest, verifyReport, replacedFolder, lineage, lostLines } = outcome;
    const licenses = outcome.licensesForOtherHosts;
    const changes = {
      replaced_folder: replacedFolder,
      lineage,
      lost_changes: lostLines,
      licenses_for_other_hosts: licenses.map(({ license, product, serial, until }) => ({
        license_id: license,
        product,
        serial,
        restored_until: until === null ? null : rfc3339(until),
      })),
    };
    return {
      json: { ok: true, path: folder, ...changes, ...verifiedFields(verifyReport, manifest) },
      text: [
        report(folder, verifyReport, manifest),
        `\nThe backup is restored in ${folder}.`,
        "The restore is recorded in the audit log, and the next license request reports it to the vendor.",
        ...(replacedFolder === null ? [] : [`The previous contents are in ${replacedFolder}.`]),
        ...describeOtherHosts(licenses),
        ...(outcome.isNewHere ? ["", ...listNewMachineSteps(folder)] : []),
      ],
      warnings: [
        ...auditDamageWarnings(folder, verifyReport),
        // The JSON contains the number, and the operator accepted the loss.
        ...(json ? [] : lossWarnings(lostLines)),
      ],
    };
  },
});

function describeOtherHosts(licenses: RestoreReport["licensesForOtherHosts"]): string[] {
  if (licenses.length === 0) return [];
  const lines = licenses.map(({ license, product, until }) => {
    const end = until === null ? "grants no slots here" : `valid here until ${rfc3339(until)}`;
    return `  ${product}: license ${license} was issued for another machine, ${end}`;
  });
  return [
    "",
    ...lines,
    "Start the server, then request new ones: berth license request --product CODE --out FILE",
  ];
}

/** A copy is refused if the operator did not name the folder; otherwise it is a warning. */
function warnOfCopy(original: string, folder: string, isDefault: boolean): void {
  if (!isDefault) {
    printWarning(`${original}; the copy in ${folder} cannot be served at the same time`);
    return;
  }
  throw new Failure(
    `${original}: ${folder} would become a copy, which cannot be served at the same time`,
    "specify the folder to restore with --data DIR",
  );
}

function lossWarnings(lostLines: number | null): string[] {
  if (lostLines === null) return ["it is unknown how many changes were lost"];
  return lostLines > 0 ? [`${formatCount(lostLines, "change")} lost`] : [];
}

function verifiedFields(verified: VerifyReport, manifest: BackupManifest | null) {
  const { head, coveredSeq, auditLog, generations, tornBytes, tornFiles, kind, appliance } =
    verified;
  return {
    kind,
    appliance,
    ...(manifest !== null && { created_at: manifest.made_at, created_by: manifest.berth }),
    licenses: verified.licenses,
    registrations: verified.registrations,
    seq: head.seq,
    checkpoint_seq: coveredSeq,
    journal_segments: verified.segments.length,
    audit_seq: head.auditSeq,
    audit_sum: head.auditSum,
    audit_from: auditLog.from,
    audit_to: auditLog.to,
    audit_lines: auditLog.lines,
    audit_files: auditLog.files,
    audit_unfinished_bytes: auditLog.leftover,
    audit_gaps: verified.auditGaps.map(({ reason, from, to, at }) => ({
      reason,
      from_line: from,
      to_line: to,
      declared_at: rfc3339(at),
    })),
    ...auditDamageFields(verified),
    checkpoint_generations: generations,
    torn_bytes: tornBytes,
    torn_files: tornFiles,
  };
}

/** Empty if the audit log is intact. */
export function auditDamageFields({ auditDamage }: VerifyReport): {
  readonly audit_damage?: object;
} {
  if (auditDamage === null) return {};
  const { message, hint, missing, files } = auditDamage;
  const lines = missing.map(({ from, to }) => ({ from_line: from, to_line: to }));
  return { audit_damage: { finding: message, remedy: hint, missing: lines, files } };
}

function report(path: string, verified: VerifyReport, manifest: BackupManifest | null): string {
  const { head, coveredSeq, auditLog, segments, generations, tornBytes, tornFiles } = verified;
  const { licenses, registrations, kind, appliance } = verified;
  const rows = [
    ["checked", path],
    ...(manifest === null ? [] : [["created", `${manifest.made_at} by berth ${manifest.berth}`]]),
    ["appliance", `${appliance} (${kind}); its key matches`],
    [
      "state",
      `checksum matches; ${formatCount(licenses, "license")}, ${formatCount(registrations, "registration")}; up to line ${coveredSeq}`,
    ],
    [
      "journal",
      describeChain(coveredSeq + 1, head.seq, segments.length) ?? "no lines since that state",
    ],
    [
      "audit log",
      describeChain(auditLog.from, auditLog.to, auditLog.files, verified.auditDamage === null) ??
        "empty; the next checkpoint writes it from the journal",
    ],
    ...verified.auditGaps.map((gap) => ["declared gap", `${formatGap(gap)} on ${rfc3339(gap.at)}`]),
    ...(verified.auditDamage === null ? [] : [["damaged", verified.auditDamage.message]]),
    ["chain ends", `line ${head.auditSeq} of the audit log, ${head.auditSum}`],
    ...generations.map((number) => [
      "older state",
      `state-${number}.json and the journal lead to this state`,
    ]),
    ...(tornBytes > 0
      ? [
          [
            "torn",
            `${tornBytes} bytes of an unfinished write, never acknowledged; the next start removes them`,
          ],
        ]
      : []),
    ...(auditLog.leftover > 0
      ? [
          [
            "unfinished",
            `${auditLog.leftover} bytes of an unfinished checkpoint; the next checkpoint rewrites them`,
          ],
        ]
      : []),
    ...tornFiles.map((name) => ["kept", `${name}, from an interrupted write; can be deleted`]),
  ];
  return formatTable(rows);
}

const describeChain = (
  from: number,
  to: number,
  files: number,
  isComplete = true,
): string | null =>
  to < from
    ? null
    : `lines ${from} to ${to} in ${formatCount(files, "file")}, ${isComplete ? "chained" : "incomplete"}`;

export const backupCommands = [verifyCommand, backupCommand, restoreCommand];
