import { messageOfError } from "../../../platform/error-message.ts";
import { wallClock } from "../../../platform/clock.ts";
import { withOpenFile, realDisk } from "../../../platform/files/disk.ts";
import { becomeFolderOwner } from "../../../platform/files/owner.ts";
import { makeBackup } from "../../../operations/backups/backup.ts";
import { restoreBackup } from "../../../operations/backups/restore.ts";
import type { VerifyReport } from "../../../operations/folder/verify.ts";
import { refuseCopyOfBackup } from "../../../operations/folder/appliance-claim.ts";
import { unwrapReply, withAdminClient } from "../../client/admin-client.ts";
import { backupRefusedError, checkBackupFile, checkNewFile } from "../../files/file-argument.ts";
import { Failure } from "../../frame/command.ts";
import { confirm } from "../../frame/confirm.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { describeCaToTake, listNewMachineSteps } from "../../service/new-machine-steps.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { formatCount } from "../../frame/terminal.ts";
import { folderChecks } from "../../../operations/folder/folder-checks.ts";
import { auditDamageFields, auditDamageWarnings } from "../backups/backup.ts";

const EXAMPLE = "site.move";

const out = defineCommand({
  name: "move out",
  summary: "stop serving on this host and write everything to a file for another host",
  options: { ...siteOptions, yes: option.yes, json: option.json },
  arguments: ["FILE"],
  examples: ["berth move out /media/usb/site.move"],
  async run(options, context) {
    const { data: folder } = options;
    const file = checkNewFile(context.args[0], folder, "a move", EXAMPLE);
    // Everything that can fail is tried before this host is retired.
    if (realDisk.stat(file) !== null) {
      throw backupRefusedError(`${file} already exists`, "choose a new file name");
    }
    const { appliance, kind } = await tryBackup(folder, file);
    if (kind === "demo")
      throw new Failure(
        "a demo cannot be moved",
        "start a new demo on the other host with berth demo",
      );
    const question = `${folder} will no longer grant licenses; continue?`;
    await confirm(options, question);
    const { move_id, moved_at } = await withAdminClient(options, context, ({ admin }) =>
      unwrapReply(admin.move.post({ appliance })),
    );
    const verified = await writeMoveFile(folder, file).catch((error: unknown) => {
      const reason = messageOfError(error);
      throw new Failure(
        `${folder} was moved out, but ${file} could not be written: ${reason}`,
        "nothing is lost: run berth move out again, with the same or another file",
      );
    });
    const { licenses, registrations } = verified;
    const facts = { move_id, moved_at, licenses, registrations, ...auditDamageFields(verified) };
    return {
      json: { path: file, ...facts },
      text: `${file} contains ${formatCount(licenses, "license")}, ${formatCount(registrations, "registration")}
and the appliance's key: keep it safe, and delete it when the move is done.

${[
  "On the new host:  run berth move in FILE, then start the server there",
  ...describeCaToTake(folder),
  "On this host:     stop the server; it refuses to start again",
  `To cancel:        run berth move in ${file} on this host, and nowhere else`,
].join("\n")}`,
      warnings: auditDamageWarnings(file, verified),
    };
  },
});

const into = defineCommand({
  name: "move in",
  summary:
    "continue here with a site that was moved out on another host; the server must be stopped",
  options: { data: option.data, config: option.config, json: option.json },
  arguments: ["FILE"],
  examples: ["berth move in /media/usb/site.move --data /srv/berth"],
  async run({ data: folder }, { args, environment }) {
    const file = checkBackupFile(args[0], "the file that berth move out wrote", EXAMPLE);
    await refuseCopyOfBackup(file, folder, environment);
    const disk = withOpenFile(file);
    becomeFolderOwner(folder);
    const { verifyReport, replacedFolder, isNewHere } = await restoreBackup({
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
    const facts = { appliance, licenses, registrations, replaced_folder: replacedFolder };
    return {
      json: { path: folder, ...facts, ...auditDamageFields(verifyReport) },
      text: `${folder} now serves appliance ${appliance}, with ${formatCount(licenses, "license")} and ${formatCount(registrations, "registration")}.

The licenses were signed for the other host's hardware. They are valid here for the time the vendor
grants for a move (72 hours, unless the license says otherwise). Start the server, then run
  berth license request --product CODE --out FILE   for each product; the vendor signs them again${isNewHere ? ["", ...listNewMachineSteps(folder)].join("\n") : ""}`,
      warnings: auditDamageWarnings(folder, verifyReport),
    };
  },
});

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
export const moveCommands = [out, into];
