import { envName, type Option } from "../platform/options.ts";
import type { Command } from "./command.ts";
import type { CommandGroup } from "./command-table.ts";
import { formatTable } from "./terminal.ts";

/** One screen: the groups, with what is needed every day. */
export function formatOverview(groups: readonly CommandGroup[]): string {
  const rows = groups.map(({ name, commands }) => [
    `  ${name}`,
    commands
      .filter(({ isCommon }) => isCommon === true)
      .map((command) => command.name)
      .join(", "),
  ]);
  return `berth: a floating license server in one file

usage: berth COMMAND [FLAGS]

${formatTable(rows)}

examples:
  berth demo                     run a demo server with a license
  sudo berth service install     install the server as a service
  berth serve --data /srv/berth  run the server in the foreground
  berth slots                    list the slots in use
  berth release --product CAD --user ada

berth help COMMAND shows the flags of a command, berth help GROUP lists a group,
berth help --all lists all commands. Exit codes: 0 done, 1 refused or failed,
2 misuse, 78 the data folder needs an operator.`;
}

export const formatAllCommands = (groups: readonly CommandGroup[]): string =>
  groups.map(({ title, commands }) => formatCommandList(title, commands)).join("\n\n");

export const formatCommandList = (about: string, commands: readonly Command[]): string =>
  `${about}:\n${formatTable(
    commands
      .filter(({ isHidden }) => isHidden !== true)
      .map(({ name, summary }) => [`  ${name}`, summary]),
  )}`;

export function formatCommandHelp(command: Command): string {
  const { name, summary, options, examples = [], valueList: taken } = command;
  const words = (command.arguments ?? []).map((word) => ` ${word}`).join("");
  const rows = options.map((option) => [`  ${formatFlag(option)}`, describeOption(option)]);
  const shown = examples.map((example) => `\n  ${example}`).join("");
  return [
    `berth ${name}: ${summary}`,
    `usage: berth ${name}${words}${options.length > 0 ? " [FLAGS]" : ""}`,
    ...(rows.length > 0 ? [formatTable(rows)] : []),
    ...(taken === undefined ? [] : [`${taken.title}:\n${wrapList(taken.values)}`]),
    ...(shown === "" ? [] : [`examples:${shown}`]),
  ].join("\n\n");
}

const WIDTH = 78;

/** With commas between them, in lines that a terminal shows whole. */
function wrapList(words: readonly string[]): string {
  const lines: string[] = [];
  for (const word of words) {
    const line = lines.at(-1);
    const longer = `${line}, ${word}`;
    if (line === undefined || longer.length > WIDTH) lines.push(`  ${word}`);
    else lines[lines.length - 1] = longer;
  }
  return lines.join(",\n");
}

const formatFlag = ({ name, placeholder }: Option): string =>
  placeholder === undefined ? `--${name}` : `--${name} ${placeholder}`;

/**
 * What an option means, its twin in the environment, whether it has to be given, and what it is
 * when nothing is said.
 */
export function describeOption(option: Option): string {
  const usual = option.defaultDescription ?? option.defaultValue?.({});
  const needed = option.isRequired === true ? "; required" : "";
  const fallback = usual === undefined ? "" : `; default ${usual}`;
  return `${option.help} (${envName(option)}${needed}${fallback})`;
}
