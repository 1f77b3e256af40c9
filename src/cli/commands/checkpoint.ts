import { setPriority } from "node:os";
import { Misuse } from "../../platform/options.ts";
import { realDisk } from "../../platform/disk.ts";
import { checkpoint } from "../../store/checkpoint/checkpoint.ts";
import { isLockedBy } from "../../store/folder/lock.ts";
import { defineCommand } from "../frame/define-command.ts";

const LOW_PRIORITY = 10;
const NUMBER = /^(?:0|[1-9]\d{0,15})$/;

/** Started by the server as a child process; holds the folder's checkpoint lock while it runs. */
export const checkpointCommand = defineCommand({
  name: "checkpoint",
  summary: "write closed journal segments into state.json (started by the server)",
  isHidden: true,
  options: {},
  arguments: ["FOLDER", "OPEN_SEGMENT", "KEEP_MONTHS", "SERVER_PID"],
  async run(_values, { args: [folder, open = "", keep = "", server = ""] }) {
    if (folder === undefined || ![open, keep, server].every((word) => NUMBER.test(word))) {
      const message = "FOLDER, OPEN_SEGMENT, KEEP_MONTHS and SERVER_PID are required";
      throw new Misuse(message, "the server runs this command itself");
    }
    // Requests have priority: no client waits for a checkpoint.
    setPriority(LOW_PRIORITY);
    await checkpoint(realDisk, folder, Number(open), {
      keepMonths: Number(keep),
      isStillWanted: () => isLockedBy(realDisk, folder, Number(server)),
    });
    return { text: [] };
  },
});
