import { Misuse } from "../../platform/options.ts";
import {
  EXIT_OK,
  isFlagSet,
  getStringFlag,
  type Command,
  getAdminTarget,
} from "../frame/command.ts";
import { option } from "../frame/flags.ts";
import { withAdminClient } from "../client/admin-client.ts";
import { print, printJson } from "../frame/terminal.ts";

export const releaseCommand: Command = {
  name: "release",
  isCommon: true,
  summary: "release a user's slot",
  options: [
    option.data,
    option.identity,
    option.config,
    option.slotProduct,
    option.user,
    option.json,
  ],
  examples: ["berth release --product CAD --user ada"],
  run(flags) {
    const product = getStringFlag(flags, "product");
    const user = getStringFlag(flags, "user");
    if (user === null) throw new Misuse("--user is required", "berth slots lists the slots in use");
    return withAdminClient(getAdminTarget(flags), async (call) => {
      const reply = await call("POST", "/api/admin/v1/registrations/release", { product, user });
      if (isFlagSet(flags, "json")) printJson(reply);
      else print(`the slot of ${user} is released`);
      return EXIT_OK;
    });
  },
};
