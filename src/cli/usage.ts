import { twinOf, type Option } from "../platform/options.ts";
import type { Command } from "./command.ts";
import { table } from "./terminal.ts";

export function usage(commands: readonly Command[]): string {
  const rows = commands
    .filter(({ hidden }) => hidden !== true)
    .map(({ name, summary }) => [`  ${name}`, summary]);
  return `berth: a floating license server in one file

usage: berth COMMAND [FLAGS]

${table(rows)}

examples:
  berth demo                          try it: a server with a license, ready for curl
  berth serve --data /srv/berth       run a site's server
  berth slots                         who holds what
  berth release --product CAD --user ada

berth help COMMAND tells more. Exit codes: 0 done, 1 refused or failed, 2 misuse,
78 the data folder needs an operator.`;
}

export function commandUsage(command: Command): string {
  const { name, summary, options, examples = [] } = command;
  const words = (command.arguments ?? []).map((word) => ` ${word}`).join("");
  const rows = options.map((option) => [`  ${flagOf(option)}`, helpOf(option)]);
  const shown = examples.map((example) => `\n  ${example}`).join("");
  return [
    `berth ${name}: ${summary}`,
    `usage: berth ${name}${words}${options.length > 0 ? " [FLAGS]" : ""}`,
    ...(rows.length > 0 ? [table(rows)] : []),
    ...(shown === "" ? [] : [`examples:${shown}`]),
  ].join("\n\n");
}

const flagOf = ({ name, value }: Option): string =>
  value === undefined ? `--${name}` : `--${name} ${value}`;

function helpOf(option: Option): string {
  const fallback = option.fallback?.({});
  const usual = fallback === undefined ? "" : `; default ${fallback}`;
  return `${option.help} (${twinOf(option)}${usual})`;
}
