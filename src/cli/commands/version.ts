import { commit, runtime, target, version } from "../../platform/version.ts";
import { DONE, isSet, type Command } from "../command.ts";
import { option } from "../flags.ts";
import { print, printJson } from "../terminal.ts";

export const versionCommand: Command = {
  name: "version",
  everyday: true,
  summary: "show version, commit, runtime and target",
  options: [option.json],
  async run(given) {
    const from = commit ?? "from source";
    if (isSet(given, "json")) printJson({ version, commit, runtime, target });
    else print(`berth ${version} (${from}, ${runtime}, ${target})`);
    return DONE;
  },
};
