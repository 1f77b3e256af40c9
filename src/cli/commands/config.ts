import { SERVICE_SETTINGS, type ResolvedOption } from "../../platform/options.ts";
import { EXIT_OK, isFlagSet, type Command, type FlagValues } from "../frame/command.ts";
import { option, serverSettings } from "../frame/flags.ts";
import { print, printJson, formatTable } from "../frame/terminal.ts";

export const configCommand: Command = {
  name: "config",
  isCommon: true,
  summary: "show the effective settings and the source of each",
  options: [...serverSettings, option.config, option.json],
  examples: ["berth config", `berth config --config ${SERVICE_SETTINGS} --json`],
  async run(flags) {
    const settings = listSettings(flags);
    if (isFlagSet(flags, "json")) {
      printJson(
        Object.fromEntries(
          settings.map(({ name, value, from }) => [name, { value, source: from }]),
        ),
      );
    } else {
      print(formatTable(settings.map(({ name, value, from }) => [name, String(value), from])));
    }
    return EXIT_OK;
  },
};

/** None of them is a secret: keys and passwords are in files that settings only name. */
export const listSettings = ({
  values,
}: FlagValues): ({ readonly name: string } & ResolvedOption)[] =>
  [...values]
    .filter(([name]) => name !== "json")
    .map(([name, { value, from }]) => ({ name, value, from }));
