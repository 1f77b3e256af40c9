import { DONE, isSet, type Command } from "../command.ts";
import { option, serverSettings } from "../flags.ts";
import { print, printJson, table } from "../terminal.ts";

export const configCommand: Command = {
  name: "config",
  everyday: true,
  summary: "the settings in force, and where each came from",
  options: [...serverSettings, option.config, option.json],
  examples: ["berth config --config /etc/berth.toml"],
  async run(given) {
    const settings = [...given.values].filter(([name]) => name !== "json");
    if (isSet(given, "json")) {
      printJson(
        Object.fromEntries(settings.map(([name, { value, from }]) => [name, { value, from }])),
      );
    } else {
      print(table(settings.map(([name, { value, from }]) => [name, String(value), from])));
    }
    return DONE;
  },
};
