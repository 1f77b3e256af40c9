import { formatNotices, readNotices } from "../../platform/notices.ts";
import { EXIT_OK, isFlagSet, type Command } from "../frame/command.ts";
import { option } from "../frame/flags.ts";
import { printRaw, printJson } from "../frame/terminal.ts";

export const noticesCommand: Command = {
  name: "notices",
  summary: "print third-party notices and licenses",
  options: [option.json],
  async run(flags) {
    const notices = readNotices();
    if (isFlagSet(flags, "json")) printJson(notices);
    else printRaw(formatNotices(notices));
    return EXIT_OK;
  },
};
