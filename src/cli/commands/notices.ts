import { noticesText, readNotices } from "../../platform/notices.ts";
import { DONE, isSet, type Command } from "../command.ts";
import { option } from "../flags.ts";
import { printExactly, printJson } from "../terminal.ts";

export const noticesCommand: Command = {
  name: "notices",
  summary: "print third-party notices and licenses",
  options: [option.json],
  async run(given) {
    const notices = readNotices();
    if (isSet(given, "json")) printJson(notices);
    else printExactly(noticesText(notices));
    return DONE;
  },
};
