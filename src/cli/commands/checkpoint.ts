import { Misuse } from "../../platform/options.ts";
import { realDisk } from "../../platform/disk.ts";
import { checkpoint } from "../../store/checkpoint.ts";
import { DONE, type Command } from "../command.ts";

/** The server's own helper; it holds the folder's checkpoint lock while it works. */
export const checkpointCommand: Command = {
  name: "checkpoint",
  summary: "fold closed journal segments into state.json (started by the server)",
  hidden: true,
  options: [],
  arguments: ["FOLDER", "OPEN", "KEEP"],
  async run({ words: [folder, open, keep = "0"] }) {
    if (
      folder === undefined ||
      open === undefined ||
      !/^[1-9]\d{0,15}$/.test(open) ||
      !/^\d{1,4}$/.test(keep)
    ) {
      throw new Misuse("FOLDER and OPEN must be given", "the server starts this by itself");
    }
    await checkpoint(realDisk, folder, Number(open), Number(keep));
    return DONE;
  },
};
