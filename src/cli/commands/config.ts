import { SERVICE_SETTINGS } from "../../platform/environment.ts";
import { defineCommand } from "../frame/define-command.ts";
import { option } from "../frame/flags.ts";
import { settings } from "../serve/settings.ts";
import { formatTable } from "../frame/terminal.ts";

export const configCommand = defineCommand({
  name: "config",
  isCommon: true,
  summary: "show the effective settings and the source of each",
  options: { ...settings, config: option.config, json: option.json },
  examples: ["berth config", `berth config --config ${SERVICE_SETTINGS} --json`],
  run(_values, { setOptions }) {
    // None of them is a secret: keys and passwords are in files that settings only name.
    const shown = setOptions.filter(({ name }) => name !== option.json.name);
    return {
      json: Object.fromEntries(
        shown.map(({ name, value, from }) => [name, { value, source: from }]),
      ),
      text: formatTable(shown.map(({ name, value, from }) => [name, String(value), from])),
    };
  },
});
