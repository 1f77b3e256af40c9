import { join, resolve, sep } from "node:path";
import { wallClock } from "../../../platform/clock.ts";
import { realDisk, type OpenFile } from "../../../platform/files/disk.ts";
import { writeAll } from "../../../platform/files/files.ts";
import { Misuse } from "../../frame/options.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import { readDeskTrust } from "../../../desk/desk-records.ts";
import { backUpDesk, hasUnencryptedKey } from "../../../desk/desk-backup.ts";
import { countBackedUpFiles, restoreDesk } from "../../../desk/desk-restore.ts";
import { TRUST_FILE } from "../../../desk/trust-document.ts";
import { verifyDesk, type DeskVerification } from "../../../desk/verify-desk.ts";
import { EXIT_OK, EXIT_FAILURE, type Command } from "../../frame/command.ts";
import { confirm } from "../../frame/confirm.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { requireReadableFile } from "../../files/input-file.ts";
import { readPassphraseFile } from "../../vendor/open-desk.ts";
import { refuseToReplace, writeOutput } from "../../files/output-file.ts";
import { escapeToOneLine, formatCount, formatTable, withProgress } from "../../frame/terminal.ts";

const verify = defineCommand({
  name: "vendor verify",
  summary: "check the whole desk: key, trust documents, ledger and every license; changes nothing",
  options: {
    dir: option.deskFolder,
    passphraseFile: {
      ...option.passphraseFile,
      help: "file whose first line is the passphrase; without it, an encrypted key is not checked",
    },
    json: option.json,
  },
  examples: ["berth vendor verify --dir desk"],
  async run({ dir, passphraseFile }) {
    // A folder that is not a desk is refused, not reported as damaged.
    if (realDisk.stat(join(dir, TRUST_FILE)) === null) {
      await readDeskTrust(realDisk, dir);
    }
    const report = await verifyDesk(realDisk, dir, readPassphraseFile(passphraseFile));
    const faults = report.faults.map(({ location, problem }) => `${location}: ${problem}`);
    const isIntact = faults.length === 0;
    const advice = "berth vendor restore FILE --dir DIR restores a backup into a new folder";
    return {
      json: { ok: isIntact, ...report },
      text: formatReport(report),
      notes: report.notes,
      warnings: isIntact ? [] : [advice],
      errors: faults,
      exitCode: isIntact ? EXIT_OK : EXIT_FAILURE,
    };
  },
});

const KEY_TEXTS = {
  ok: "ok, it is the current key",
  encrypted: "encrypted, not checked: --passphrase-file FILE checks it",
  fault: "cannot be opened",
} as const;

const formatReport = (report: DeskVerification): string =>
  formatTable([
    ["key", KEY_TEXTS[report.key]],
    ["trust", report.trust_version === null ? "fault" : `version ${report.trust_version}`],
    ["ledger", formatCount(report.ledger_lines, "line")],
    ["licenses", `${formatCount(report.checked_licenses, "signature")} checked`],
  ]);

const backup = defineCommand({
  name: "vendor backup",
  summary:
    "write the whole desk to one new file; the key in it is encrypted only if it has a passphrase",
  options: { dir: option.deskFolder, yes: option.yes, json: option.json },
  arguments: ["FILE"],
  examples: ["berth vendor backup /media/usb/desk.backup --dir desk"],
  async run({ dir, yes }, { args: [file] }) {
    const [folder, out] = [resolve(dir), resolveNewFile(file)];
    if (out.startsWith(`${folder}${sep}`)) {
      throw new Misuse("a backup must not be inside the desk's folder", "choose another folder");
    }
    refuseToReplace(out);
    await readDeskTrust(realDisk, folder);
    if (hasUnencryptedKey(realDisk, folder)) {
      const question =
        "the key is stored without a passphrase: anyone who can read the backup can sign licenses; continue?";
      await confirm({ yes }, question, "set one with berth vendor passphrase");
    }
    const at = rfc3339(wallClock());
    let leftOut: readonly string[] = [];
    const fill = async (out: OpenFile): Promise<void> => {
      const write = (text: string): void => writeAll(out, Buffer.from(text));
      ({ leftOut } = await backUpDesk(realDisk, folder, at, write));
    };
    const files = await withProgress("backup", () => writeOutput(out, fill, checkBackup));
    const { faults } = await withProgress("check of the desk", () =>
      verifyDesk(realDisk, folder, null, "hashes"),
    );
    return {
      warnings: [...describeLeftOut(leftOut, "the backup"), ...describeFaults(faults)],
      json: { path: out, files, left_out: leftOut, faults },
      text: `${out} contains ${formatCount(files, "file")} and was verified`,
      exitCode: faults.length === 0 ? EXIT_OK : EXIT_FAILURE,
    };
  },
});

/** Reads it from the disk before it gets its name; returns the number of its files. */
const checkBackup = (path: string): number => countBackedUpFiles(realDisk, path);

const describeLeftOut = (names: readonly string[], where: string): string[] =>
  names.map((name) => escapeToOneLine(`${name} is not a file of a desk, and is not in ${where}`));

/** A lost file of statements is a fault for each of them. */
const MAX_FAULTS = 10;

function describeFaults(faults: DeskVerification["faults"]): string[] {
  const more = faults.length - MAX_FAULTS;
  return [
    ...faults
      .slice(0, MAX_FAULTS)
      .map(
        ({ location, problem }) =>
          `the desk has a fault, and its backup has it too: ${location}: ${problem}`,
      ),
    ...(more > 0 ? [`${formatCount(more, "more fault")}: berth vendor verify names them`] : []),
  ];
}

const restore = defineCommand({
  name: "vendor restore",
  summary: "restore a desk from a backup into a new folder",
  options: { dir: option.deskFolder, json: option.json },
  arguments: ["FILE"],
  examples: ["berth vendor restore /media/usb/desk.backup --dir desk"],
  async run({ dir }, { args: [file] }) {
    const folder = resolve(dir);
    const path = requireReadableFile(file, "a desk's backup");
    const opened = await withProgress("restore", () => restoreDesk(realDisk, folder, path));
    const { faults } = await withProgress("check of the desk", () =>
      verifyDesk(realDisk, folder, null),
    );
    const { vendor, made_at: created_at, leftOut } = opened;
    return {
      warnings: [
        ...describeLeftOut(leftOut, "the restored desk"),
        ...faults.map(({ location, problem }) => `${location}: ${problem}`),
      ],
      json: { folder, vendor, created_at, left_out: leftOut, faults },
      text: [
        `the desk as of ${created_at} is restored in ${folder}`,
        "licenses issued after that time are not in its ledger: do not use both desks",
        "until berth vendor restored --end, only appliances that hold an order are answered automatically",
        "the root's folder has the newest trust.jwt and the certificates: berth vendor accept FILE…",
      ],
    };
  },
});

function resolveNewFile(file: string | undefined): string {
  if (file !== undefined && file !== "") return resolve(file);
  throw new Misuse("FILE is required: a new file", "for example /media/usb/desk.backup");
}

/** Verification, backup and restore of the desk's folder. */
export const deskBackupCommands: readonly Command[] = [verify, backup, restore];
