import { readFileSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { wallClock } from "../../platform/clock.ts";
import { realDisk, type OpenFile } from "../../platform/disk.ts";
import { writeAll } from "../../platform/files.ts";
import { Misuse } from "../../platform/options.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { Desk } from "../../desk/desk.ts";
import { backUpDesk, hasUnencryptedKey } from "../../desk/desk-backup.ts";
import { openDeskBackup, restoreDesk } from "../../desk/desk-backup.ts";
import { TRUST_FILE } from "../../desk/desk-records.ts";
import { verifyDesk, type DeskVerification } from "../../desk/verify-desk.ts";
import { DONE, FAILED, isSet, type Command, type Given } from "../command.ts";
import { confirm } from "../confirm.ts";
import { option } from "../flags.ts";
import { readWholeFile } from "../input-file.ts";
import { deskFolder, deskFolderFlag, passphraseIn } from "../open-desk.ts";
import { refuseToReplace, writeOutput } from "../output-file.ts";
import {
  count,
  print,
  printError,
  printJson,
  printNote,
  printWarning,
  table,
} from "../terminal.ts";

const verify: Command = {
  name: "vendor verify",
  summary: "check the whole desk: key, trust documents, ledger and every license; changes nothing",
  options: [
    deskFolderFlag,
    {
      ...option.passphraseFile,
      help: "file whose first line is the passphrase; without it, an encrypted key is not checked",
    },
    option.json,
  ],
  examples: ["berth vendor verify --dir desk"],
  async run(given) {
    const folder = deskFolder(given);
    // What is no desk at all is refused, not reported.
    if (realDisk.stat(join(folder, TRUST_FILE)) === null) {
      await Desk.needsPassphrase(realDisk, folder);
    }
    const found = await verifyDesk(realDisk, folder, passphraseIn(given, "passphrase-file"));
    const isGood = found.faults.length === 0;
    if (isSet(given, "json")) printJson({ ok: isGood, ...found });
    else print(report(found));
    for (const note of found.notes) printNote(note);
    for (const { location, problem } of found.faults) printError(`${location}: ${problem}`, "");
    if (isGood) return DONE;
    printWarning("berth vendor restore FILE --dir DIR restores a backup into a new folder");
    return FAILED;
  },
};

const KEY_WORDS = {
  ok: "ok, it is the current key",
  encrypted: "encrypted, not checked: --passphrase-file FILE checks it",
  fault: "cannot be opened",
} as const;

function report({ key, documents, ...counts }: DeskVerification): string {
  const { ledger_lines: lines, unchained_lines: unchained } = counts;
  const { checked_licenses: licenses, unchecked_licenses: unchecked } = counts;
  const older = unchained === 0 ? "" : `, ${unchained} written by an older version without a hash`;
  const left = unchecked === 0 ? "" : `, ${unchecked} written by an older version not checked`;
  return table([
    ["key", KEY_WORDS[key]],
    ["trust", documents.join(", ")],
    ["ledger", `${count(lines, "line")}${older}`],
    ["licenses", `${count(licenses, "signature")} checked${left}`],
  ]);
}

const backup: Command = {
  name: "vendor backup",
  summary: "write the whole desk to one new file; the key stays encrypted or plain as it is stored",
  options: [deskFolderFlag, option.yes, option.json],
  arguments: ["FILE"],
  examples: ["berth vendor backup /media/usb/desk.backup --dir desk"],
  async run(given) {
    const [folder, out] = [resolve(deskFolder(given)), fileIn(given)];
    if (out.startsWith(`${folder}${sep}`)) {
      throw new Misuse("a backup must not be inside the desk's folder", "choose another folder");
    }
    refuseToReplace(out);
    await Desk.needsPassphrase(realDisk, folder);
    if (hasUnencryptedKey(realDisk, folder)) {
      const question =
        "the key is stored without a passphrase: anyone who can read the backup can sign licenses; continue?";
      await confirm(given, question, "set one with berth vendor passphrase");
    }
    const text = await backUpDesk(realDisk, folder, rfc3339(wallClock()));
    const write = (file: OpenFile): void => writeAll(file, Buffer.from(text));
    const files = await writeOutput(out, write, filesIn);
    const { faults } = await verifyDesk(realDisk, folder, null);
    for (const { location, problem } of faults) {
      printWarning(`the desk has a fault, and its backup has it too: ${location}: ${problem}`);
    }
    if (isSet(given, "json")) printJson({ path: out, files, faults });
    else print(`${out} contains ${count(files ?? 0, "file")} and was verified`);
    return DONE;
  },
};

/** Read back from the disk, before the file has its name. */
const filesIn = (path: string): number => openDeskBackup(textOf(readFileSync(path))).files.length;

const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

const restore: Command = {
  name: "vendor restore",
  summary: "restore a desk from a backup into a new folder",
  options: [deskFolderFlag, option.json],
  arguments: ["FILE"],
  examples: ["berth vendor restore /media/usb/desk.backup --dir desk"],
  async run(given) {
    const folder = resolve(deskFolder(given));
    const opened = openDeskBackup(textOf(readWholeFile(given.words[0], "a desk's backup")));
    await restoreDesk(realDisk, folder, opened);
    const { faults } = await verifyDesk(realDisk, folder, null);
    for (const { location, problem } of faults) printWarning(`${location}: ${problem}`);
    const { vendor, made_at: created_at } = opened;
    if (isSet(given, "json")) printJson({ folder, vendor, created_at, faults });
    else {
      print(`the desk as of ${created_at} is restored in ${folder}`);
      print("licenses issued after that time are not in its ledger: do not use both desks");
    }
    return DONE;
  },
};

function fileIn({ words: [file] }: Given): string {
  if (file !== undefined && file !== "") return resolve(file);
  throw new Misuse("FILE is required: a new file", "for example /media/usb/desk.backup");
}

/** Care for the desk's folder. */
export const deskCareCommands: readonly Command[] = [verify, backup, restore];
