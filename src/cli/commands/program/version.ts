import { commit, runtime, target, version } from "../../../platform/embedded/version.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";

export const versionCommand = defineCommand({
  name: "version",
  isCommon: true,
  summary: "show version, commit, runtime and target",
  options: { json: option.json },
  run: () => ({
    json: { version, commit, runtime, target },
    text: `berth ${version} (${commit ?? "from source"}, ${runtime}, ${target})`,
  }),
});
