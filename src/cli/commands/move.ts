import type { MoveReply } from "../../http/routes/move.ts";
import { wallClock } from "../../platform/clock.ts";
import { withOpenFile, realDisk } from "../../platform/disk.ts";
import { becomeFolderOwner } from "../../platform/owner.ts";
import { makeBackup } from "../../store/backup/backup.ts";
import { BackupRefused } from "../../store/folder/refusal.ts";
import { restoreBackup } from "../../store/backup/restore.ts";
import type { VerifyReport } from "../../store/backup/verify.ts";
import { refuseCopyOfBackup } from "../serve/appliance-claim.ts";
import {
  EXIT_OK,
  getDataFolder,
  Failure,
  isFlagSet,
  getAdminTarget,
  type Command,
} from "../frame/command.ts";
import { confirm } from "../frame/confirm.ts";
import { getBackupArgument, getNewFileArgument } from "../files/file-argument.ts";
import { option } from "../frame/flags.ts";
import { folderChecks } from "../../operations/folder-checks.ts";
import { withAdminClient } from "../client/admin-client.ts";
import { formatCount, print, printJson } from "../frame/terminal.ts";
import { auditDamageFields, warnAboutAuditDamage } from "./backup.ts";

const EXAMPLE = "site.move";

const out: Command = {
  name: "move out",
  summary: "stop serving on this host and write everything to a file for another host",
  options: [option.data, option.identity, option.config, option.yes, option.json],
  arguments: ["FILE"],
  examples: ["berth move out /media/usb/site.move"],
  async run(flags) {
    const file = getNewFileArgument(flags, "a move", EXAMPLE);
    const folder = getDataFolder(flags);
    // Everything that can fail is tried before this host is retired.
    if (realDisk.stat(file) !== null) {
      throw new BackupRefused(`${file} already exists`, "choose a new file name");
    }
    const { appliance, kind } = await tryBackup(folder, file);
    if (kind === "demo")
      throw new Failure(
        "a demo cannot be moved",
        "start a new demo on the other host with berth demo",
      );
    const question = `${folder} will no longer grant licenses; continue?`;
    await confirm(flags, question);
    const { move_id, moved_at } = (await withAdminClient(getAdminTarget(flags), (call) =>
      call("POST", "/api/admin/v1/move", { appliance }),
    )) as MoveReply;
    const verified = await writeMoveFile(folder, file).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Failure(
        `${folder} was moved out, but ${file} could not be written: ${reason}`,
        "nothing is lost: run berth move out again, with the same or another file",
      );
    });
    const { licenses, registrations } = verified;
    warnAboutAuditDamage(file, verified);
    if (isFlagSet(flags, "json")) {
      const facts = { move_id, moved_at, licenses, registrations, ...auditDamageFields(verified) };
      printJson({ path: file, ...facts });
      return EXIT_OK;
    }
    print(`${file} contains ${formatCount(licenses, "license")}, ${formatCount(registrations, "registration")}
and the appliance's key: keep it safe, and delete it when the move is done.

On the new host:  run berth move in FILE, then start the server there
On this host:     stop the server; it refuses to start again
To cancel:        run berth move in ${file} on this host, and nowhere else`);
    return EXIT_OK;
  },
};

const into: Command = {
  name: "move in",
  summary:
    "continue here with a site that was moved out on another host; the server must be stopped",
  options: [option.data, option.config, option.json],
  arguments: ["FILE"],
  examples: ["berth move in /media/usb/site.move --data /srv/berth"],
  async run(flags) {
    const file = getBackupArgument(flags, "the file that berth move out wrote", EXAMPLE);
    const folder = getDataFolder(flags);
    await refuseCopyOfBackup(file, folder, flags.environment);
    const disk = withOpenFile(file);
    becomeFolderOwner(folder);
    const { verifyReport, replacedFolder } = await restoreBackup({
      disk,
      folder,
      file,
      acceptLoss: false,
      isMove: true,
      now: wallClock(),
      uid: process.getuid?.() ?? 0,
      ...folderChecks,
    });
    const { licenses, registrations, appliance } = verifyReport;
    warnAboutAuditDamage(folder, verifyReport);
    if (isFlagSet(flags, "json")) {
      const facts = { appliance, licenses, registrations, replaced_folder: replacedFolder };
      printJson({ path: folder, ...facts, ...auditDamageFields(verifyReport) });
      return EXIT_OK;
    }
    print(`${folder} now serves appliance ${appliance}, with ${formatCount(licenses, "license")} and ${formatCount(registrations, "registration")}.

The licenses were signed for the other host's hardware. They are valid here for the time the vendor
grants for a move (72 hours, unless the license says otherwise). Start the server, then run
  berth license request --product CODE --out FILE   for each product; the vendor signs them again
Credentials, certificates and settings are not moved: run berth admin token and berth tls init.`);
    return EXIT_OK;
  },
};

async function writeMoveFile(folder: string, file: string): Promise<VerifyReport> {
  return (await makeBackup(realDisk, folder, file, wallClock(), folderChecks)).verifyReport;
}

/** Checks that all data is intact and fits on the target disk. */
async function tryBackup(folder: string, file: string): Promise<VerifyReport> {
  const trialPath = `${file}.trial`;
  if (realDisk.stat(trialPath) !== null) realDisk.remove(trialPath);
  const verified = await writeMoveFile(folder, trialPath);
  realDisk.remove(trialPath);
  return verified;
}

/** Moves a site from one host to another, with all slots in use. */
export const moveCommands: readonly Command[] = [out, into];
