import { commit, runtime, target, version } from "../../platform/version.ts";
import { EXIT_OK, isFlagSet, type Command } from "../frame/command.ts";
import { option } from "../frame/flags.ts";
import { print, printJson } from "../frame/terminal.ts";

export const versionCommand: Command = {
  name: "version",
  isCommon: true,
  summary: "show version, commit, runtime and target",
  options: [option.json],
  async run(flags) {
    const from = commit ?? "from source";
    if (isFlagSet(flags, "json")) printJson({ version, commit, runtime, target });
    else print(`berth ${version} (${from}, ${runtime}, ${target})`);
    return EXIT_OK;
  },
};
