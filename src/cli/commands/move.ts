import type { MoveReply } from "../../http/routes/move.ts";
import { wallClock } from "../../platform/clock.ts";
import { holding, realDisk } from "../../platform/disk.ts";
import { becomeOwnerOf } from "../../platform/owner.ts";
import { makeBackup } from "../../store/backup.ts";
import { BackupRefused } from "../../store/refusal.ts";
import { restoreBackup } from "../../store/restore.ts";
import type { Verified } from "../../store/verify.ts";
import { refuseCopyOfBackup } from "../appliance-claim.ts";
import { DONE, dataFolder, Failure, isSet, place, type Command } from "../command.ts";
import { confirm } from "../confirm.ts";
import { backupThere, newFile } from "../file-argument.ts";
import { option } from "../flags.ts";
import { folderChecks } from "../folder-checks.ts";
import { reach } from "../reach.ts";
import { count, print, printJson } from "../terminal.ts";
import { damageIn, warnOfDamage } from "./care.ts";

const EXAMPLE = "site.move";

const out: Command = {
  name: "move out",
  summary: "give everything up on this host and write it to a file, to go on with on another",
  options: [option.data, option.identity, option.config, option.yes, option.json],
  arguments: ["FILE"],
  examples: ["berth move out /media/usb/site.move"],
  async run(given) {
    const file = newFile(given, "a move", EXAMPLE);
    const folder = dataFolder(given);
    // Everything that can go wrong should, before this host has given anything up.
    if (realDisk.stat(file) !== null) {
      throw new BackupRefused(`${file} is there already`, "name a new file");
    }
    const { appliance, kind } = await rehearse(folder, file);
    if (kind === "demo")
      throw new Failure("a demo is not moved", "berth demo begins anew anywhere");
    const question = `${folder} will serve nobody any more; go on?`;
    await confirm(given, question);
    const { move_id, moved_at } = (await reach(place(given), (call) =>
      call("POST", "/api/admin/v1/move", { appliance }),
    )) as MoveReply;
    const verified = await write(folder, file).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      throw new Failure(
        `${folder} is given up, and ${file} is not written: ${why}`,
        "nothing is lost: berth move out writes it once more, there or to another place",
      );
    });
    const { licenses, registrations } = verified;
    warnOfDamage(file, verified);
    if (isSet(given, "json")) {
      const facts = { move_id, moved_at, licenses, registrations, ...damageIn(verified) };
      printJson({ path: file, ...facts });
      return DONE;
    }
    print(`${file} holds ${count(licenses, "license")} and ${count(registrations, "registration")}
and the appliance's key: keep it safe, and delete it when the move is done.

On the new host:  berth move in FILE, then start the server there
Here:             stop the server; it refuses to start again
To call it off:   berth move in ${file} here, and nowhere else`);
    return DONE;
  },
};

const into: Command = {
  name: "move in",
  summary: "go on here with what was given up on another host; the server must be stopped",
  options: [option.data, option.config, option.json],
  arguments: ["FILE"],
  examples: ["berth move in /media/usb/site.move --data /srv/berth"],
  async run(given) {
    const file = backupThere(given, "what berth move out wrote", EXAMPLE);
    const folder = dataFolder(given);
    await refuseCopyOfBackup(file, folder, given.environment);
    const disk = holding(file);
    becomeOwnerOf(folder);
    const { verified, replaced } = await restoreBackup({
      disk,
      folder,
      file,
      acceptLoss: false,
      isMove: true,
      now: wallClock(),
      uid: process.getuid?.() ?? 0,
      ...folderChecks,
    });
    const { licenses, registrations, appliance } = verified;
    warnOfDamage(folder, verified);
    if (isSet(given, "json")) {
      const facts = { appliance, licenses, registrations, replaced_folder: replaced };
      printJson({ path: folder, ...facts, ...damageIn(verified) });
      return DONE;
    }
    print(`${folder} is appliance ${appliance} now, with ${count(licenses, "license")} and ${count(registrations, "registration")}.

The licenses were signed for the other host's hardware. They are good here for the time the vendor
grants for a move (72 hours, unless the license says otherwise): start the server, and then
  berth license request --product CODE --out FILE   for each product; the vendor signs them anew
Credentials, certificates and settings stay with a machine: berth admin token, berth tls init.`);
    return DONE;
  },
};

async function write(folder: string, file: string): Promise<Verified> {
  return (await makeBackup(realDisk, folder, file, wallClock(), folderChecks)).verified;
}

/** Whether all of it is whole, and has room where it is to go. */
async function rehearse(folder: string, file: string): Promise<Verified> {
  const trial = `${file}.trial`;
  if (realDisk.stat(trial) !== null) realDisk.remove(trial);
  const verified = await write(folder, trial);
  realDisk.remove(trial);
  return verified;
}

/** From one host to another, with everybody's slots. */
export const moveCommands: readonly Command[] = [out, into];
