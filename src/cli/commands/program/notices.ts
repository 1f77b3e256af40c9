import { formatNotices, readNotices } from "../../../platform/embedded/notices.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";

export const noticesCommand = defineCommand({
  name: "notices",
  summary: "print third-party notices and licenses",
  options: { json: option.json },
  run() {
    const notices = readNotices();
    return { json: notices, text: { raw: formatNotices(notices) } };
  },
});
