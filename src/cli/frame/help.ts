import { defaultOf, envName, isSetting, type Option } from "./options.ts";
import type { Command, CommandGroup } from "./command.ts";
import { formatTable } from "./terminal.ts";

/** The first screen: the groups with their most common commands. */
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
  berth client python            print the client for an application in Python
  berth release --product CAD --user ada

berth help COMMAND shows the flags of a command, berth help GROUP lists a group,
berth help --all lists all commands. berth help guide is the operating guide;
berth help guide vendor, api or pair: for vendors, developers, two hosts.
Exit codes: 0 done, 1 refused or failed, 2 misuse, 78 an operator is needed.`;
}

export const formatAllCommands = (groups: readonly CommandGroup[]): string =>
  groups.map(({ title, commands }) => formatCommandList(title, commands)).join("\n\n");

export const formatGroup = ({ title, commands, about }: CommandGroup): string =>
  [formatCommandList(title, commands), ...(about === undefined ? [] : [about])].join("\n\n");

export const formatCommandList = (about: string, commands: readonly Command[]): string =>
  `${about}:\n${formatTable(
    commands
      .filter(({ isHidden }) => isHidden !== true)
      .map(({ name, summary }) => [`  ${name}`, summary]),
  )}`;

export function formatCommandHelp(command: Command): string {
  const { name, summary, options, examples = [], valueList } = command;
  const args = (command.arguments ?? []).map((name) => ` ${name}`).join("");
  const flags = options.length > 0 ? " [FLAGS]" : "";
  const shown =
    command.hasSettingsOf === undefined
      ? options
      : options.filter((option) => !isSetting(option) || option.name === "data");
  const exampleLines = examples.map((example) => `\n  ${example}`).join("");
  return [
    `berth ${name}: ${summary}`,
    `usage: berth ${name}${command.wrapsProgram === undefined ? args + flags : flags + args}`,
    ...(shown.length > 0 ? [shown.map(formatOptionHelp).join("\n")] : []),
    ...(shown.length < options.length
      ? [
          `It accepts the settings of the server, too: berth help ${command.hasSettingsOf} lists them.`,
        ]
      : []),
    ...(valueList === undefined ? [] : [`${valueList.title}:\n${wrapList(valueList.values)}`]),
    ...(exampleLines === "" ? [] : [`examples:${exampleLines}`]),
  ].join("\n\n");
}

const WIDTH = 78;
/** Where the description of a flag begins. */
const FLAG_WIDTH = 27;

/** A long flag has its first line for itself. */
function formatOptionHelp(option: Option): string {
  const flag = `  ${formatFlag(option)}`;
  const [first = "", ...rest] = wrapWords(describeOption(option), WIDTH - FLAG_WIDTH);
  const indented = rest.map((line) => `\n${" ".repeat(FLAG_WIDTH)}${line}`).join("");
  return flag.length < FLAG_WIDTH - 1
    ? `${flag.padEnd(FLAG_WIDTH)}${first}${indented}`
    : `${flag}\n${" ".repeat(FLAG_WIDTH)}${first}${indented}`;
}

function wrapWords(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`;
    if (lines.length === 0 || longer.length > width) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

/** Joins the words with commas and wraps the lines to fit a terminal. */
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

function formatFlag({ name, short, placeholder }: Option): string {
  const flag = short === undefined ? `--${name}` : `-${short}, --${name}`;
  return placeholder === undefined ? flag : `${flag} ${placeholder}`;
}

/** What an option means, its environment variable, whether it is required, and its default. */
export function describeOption(option: Option): string {
  const defaultText = option.defaultDescription ?? defaultOf(option, {});
  const required = option.isRequired === true ? "; required" : "";
  const fallback = defaultText === undefined ? "" : `; default ${defaultText}`;
  return `${option.help} (${envName(option)}${required}${fallback})`;
}
