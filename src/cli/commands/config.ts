import { SERVICE_SETTINGS, type Resolved } from "../../platform/options.ts";
import { DONE, isSet, type Command, type Given } from "../command.ts";
import { option, serverSettings } from "../flags.ts";
import { print, printJson, table } from "../terminal.ts";

export const configCommand: Command = {
  name: "config",
  everyday: true,
  summary: "show the effective settings and the source of each",
  options: [...serverSettings, option.config, option.json],
  examples: ["berth config", `berth config --config ${SERVICE_SETTINGS} --json`],
  async run(given) {
    const settings = settingsIn(given);
    if (isSet(given, "json")) {
      printJson(
        Object.fromEntries(
          settings.map(({ name, value, from }) => [name, { value, source: from }]),
        ),
      );
    } else {
      print(table(settings.map(({ name, value, from }) => [name, String(value), from])));
    }
    return DONE;
  },
};

/** None of them is a secret: keys and passwords are in files that settings only name. */
export const settingsIn = ({ values }: Given): ({ readonly name: string } & Resolved)[] =>
  [...values]
    .filter(([name]) => name !== "json")
    .map(([name, { value, from }]) => ({ name, value, from }));
