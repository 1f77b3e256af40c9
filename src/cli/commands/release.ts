import { Misuse } from "../../platform/options.ts";
import { DONE, isSet, stringOf, type Command, place } from "../command.ts";
import { option } from "../flags.ts";
import { reach } from "../reach.ts";
import { print, printJson } from "../terminal.ts";

export const release: Command = {
  name: "release",
  everyday: true,
  summary: "release a user's slot",
  options: [
    option.data,
    option.identity,
    option.config,
    option.ofProduct,
    option.user,
    option.json,
  ],
  examples: ["berth release --product CAD --user ada"],
  run(given) {
    const product = stringOf(given, "product");
    const user = stringOf(given, "user");
    if (user === null) throw new Misuse("--user is required", "berth slots lists the slots in use");
    return reach(place(given), async (call) => {
      const reply = await call("POST", "/api/admin/v1/registrations/release", { product, user });
      if (isSet(given, "json")) printJson(reply);
      else print(`the slot of ${user} is released`);
      return DONE;
    });
  },
};
