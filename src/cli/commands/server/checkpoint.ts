import { runCheckpoint } from "../../../operations/folder/checkpoint.ts";
import { lowerPriority } from "../../../platform/system/low-priority.ts";
import { Misuse } from "../../frame/options.ts";
import { defineCommand } from "../../frame/define-command.ts";

const NUMBER = /^(?:0|[1-9]\d{0,15})$/;

/** Started by the server as a child process; holds the folder's checkpoint lock while it runs. */
export const checkpointCommand = defineCommand({
  name: "checkpoint",
  summary: "write closed journal segments into state.json (started by the server)",
  isHidden: true,
  options: {},
  arguments: ["FOLDER", "OPEN_SEGMENT", "KEEP_MONTHS", "USAGE_MONTHS", "SERVER_PID"],
  async run(_values, { args: [folder, open = "", keep = "", usage = "", server = ""] }) {
    if (folder === undefined || ![open, keep, usage, server].every((word) => NUMBER.test(word))) {
      const message = "FOLDER, OPEN_SEGMENT, KEEP_MONTHS, USAGE_MONTHS and SERVER_PID are required";
      throw new Misuse(message, "the server runs this command itself");
    }
    // No client waits for a checkpoint.
    lowerPriority(0);
    let usageError: string | null | undefined;
    await runCheckpoint(folder, {
      openSegment: Number(open),
      keepMonths: Number(keep),
      usageMonths: Number(usage),
      holderPid: Number(server),
      onUsageUpdate: (error) => {
        usageError = error;
      },
    });
    return { text: usageError === undefined ? [] : [JSON.stringify({ usage_error: usageError })] };
  },
});
