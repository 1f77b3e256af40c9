import type { Environment } from "../../platform/environment.ts";
import { Misuse, resolveOptions, unknownVariables } from "./options.ts";
import { EXIT_OK, type Command } from "./command.ts";
import { commands, commandGroups } from "../command-table.ts";
import { describeError, toJsonRefusal } from "./error-report.ts";
import { option } from "./flags.ts";
import { findNearest } from "../../domain/text/nearest.ts";
import { parseArguments } from "./parse-arguments.ts";
import { readSettings } from "./settings-file.ts";
import { print, printError, printJsonRefusal, printWarning } from "./terminal.ts";
import { formatGuide } from "./guide.ts";
import {
  formatAllCommands,
  formatCommandHelp,
  formatCommandList,
  formatGroup,
  formatOverview,
} from "./help.ts";

/** Runs one command line, prints errors, and returns the exit code of the process. */
export async function run(
  argv: readonly string[],
  environment: Environment,
  platform: NodeJS.Platform,
): Promise<number> {
  try {
    return await dispatch(argv, environment, platform);
  } catch (error) {
    const { exitCode, refusal } = describeError(error);
    const command = commands.find(({ name }) => name === argv[0]);
    if (command?.wrapsProgram !== undefined) {
      printError(refusal.message, refusal.hint);
      return error instanceof Misuse ? command.wrapsProgram.misuseExitCode : exitCode;
    }
    const failure = command?.describeFailure?.(refusal);
    if (failure !== undefined && !wantsJson(argv, environment)) print(failure.text);
    else printError(refusal.message, refusal.hint);
    if (wantsJson(argv, environment)) printJsonRefusal(toJsonRefusal(refusal));
    return failure?.exitCode ?? exitCode;
  }
}

/** Reads argv itself, so that a command line that cannot be parsed is refused as JSON too. */
function wantsJson(argv: readonly string[], environment: Environment): boolean {
  const end = argv.indexOf("--");
  const flags = end === -1 ? argv : argv.slice(0, end);
  if (flags.includes("--json")) return true;
  try {
    const resolved = resolveOptions([option.json], {}, environment, null);
    return resolved.get(option.json.name)?.value === true;
  } catch {
    return false;
  }
}

async function dispatch(
  argv: readonly string[],
  environment: Environment,
  platform: NodeJS.Platform,
): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined || name === "help" || name === "--help" || name === "-h") {
    print(helpFor(rest));
    return EXIT_OK;
  }
  const groupHelp = subcommandHelp(argv);
  if (groupHelp !== null) {
    print(groupHelp);
    return EXIT_OK;
  }
  const firstWord = name === "--version" || name === "-v" ? "version" : name;
  const { command, args } = selectCommand(firstWord, rest);
  const { flags, positionals } = parseArguments(command, args);
  if (flags["help"] === true) {
    print(formatCommandHelp(command));
    return EXIT_OK;
  }
  const allOptions = [...Object.values(option), ...commands.flatMap(({ options }) => options)];
  for (const name of unknownVariables(environment, allOptions)) {
    printWarning(`unknown environment variable ${name}`);
  }
  const settings = readSettings(command, flags, environment);
  const values = resolveOptions(command.options, flags, environment, settings.file);
  if (settings.servicePath !== null) {
    const path = settings.servicePath;
    values.set("config", { value: path, parsed: path, from: "default" });
  }
  return command.run({
    values,
    positionals,
    environment,
    platform,
    settingsFile: settings.file,
    settingsError: settings.error,
  });
}

/** Help for everything, a group, a command, or all that begin with the same word; the guide. */
function helpFor(words: readonly string[]): string {
  const topic = words.join(" ");
  if (topic === "" || topic === "help") return formatOverview(commandGroups);
  if (words[0] === "guide") return formatGuide(words.slice(1));
  if (topic === "--all") return formatAllCommands(commandGroups);
  const group = commandGroups.find(({ name }) => name === topic);
  if (group !== undefined) return formatGroup(group);
  const subcommands = subcommandsOf(topic);
  const isCommand = commands.some(({ name }) => name === topic);
  return isCommand || subcommands.length === 0
    ? formatCommandHelp(findCommand(topic, words))
    : formatCommandList(topic, subcommands);
}

/** Help for `berth vendor --help`: `vendor` is no command, but begins the names of several. */
function subcommandHelp(argv: readonly string[]): string | null {
  const flagIndex = argv.findIndex((word) => word.startsWith("-"));
  const words = argv.slice(0, Math.max(0, flagIndex));
  const prefix = words.join(" ");
  const isHelp = argv[flagIndex] === "--help" || argv[flagIndex] === "-h";
  const isCommand = commands.some(({ name }) => name === prefix);
  return isHelp && !isCommand && subcommandsOf(prefix).length > 0 ? helpFor(words) : null;
}

const subcommandsOf = (word: string): Command[] =>
  commands.filter(({ name }) => name.startsWith(`${word} `));

/** Finds the command with the longest name that the words begin with. */
function selectCommand(
  first: string,
  rest: readonly string[],
): { command: Command; args: string[] } {
  for (const extraWords of [2, 1]) {
    const name = [first, ...rest.slice(0, extraWords)].join(" ");
    const command = commands.find((candidate) => candidate.name === name);
    if (command !== undefined) return { command, args: rest.slice(extraWords) };
  }
  const group = `${first} ${rest[0]}`;
  const name = subcommandsOf(group).length > 0 ? group : first;
  return { command: findCommand(name, [first, ...rest]), args: [...rest] };
}

/** Commands of similar programs that Berth does not have, and what to run instead. */
const SERVICE_COMMAND_HINTS: ReadonlyMap<string, string> = new Map([
  ["start", "run berth serve in the foreground; for an installed service: systemctl start berth"],
  ["stop", "press Ctrl-C to stop berth serve; for an installed service: systemctl stop berth"],
  [
    "restart",
    "stop berth serve and start it again; for an installed service: systemctl restart berth",
  ],
  [
    "reload",
    "for an installed service: systemctl reload berth; otherwise send SIGHUP to berth serve",
  ],
]);

function findCommand(name: string, words: readonly string[]): Command {
  const command = commands.find((candidate) => candidate.name === name);
  if (command !== undefined) return command;
  const alternative = SERVICE_COMMAND_HINTS.get(name);
  if (alternative !== undefined) {
    const hint = `${alternative}; berth help --all lists the commands`;
    throw new Misuse(`unknown command: ${name}`, hint);
  }
  const similar = suggestCommand(words);
  const guess = similar === null || similar === name ? "" : `did you mean berth ${similar}? `;
  const names = subcommandsOf(name).map((candidate) => candidate.name.slice(name.length + 1));
  if (names.length > 0) {
    throw new Misuse(
      `berth ${name} needs a subcommand: ${names.join(", ")}`,
      `${guess}berth help ${name} describes them`,
    );
  }
  const advice = name.startsWith("-") ? "the command comes before its flags; " : guess;
  throw new Misuse(`unknown command: ${name}`, `${advice}berth help --all lists the commands`);
}

/** The command with the most similar name; a name of two words is compared with the first two. */
function suggestCommand(words: readonly string[]): string | null {
  const names = commands.filter(({ isHidden }) => isHidden !== true).map(({ name }) => name);
  const candidates = [...new Set([...names, ...names.map((name) => name.split(" ")[0] ?? name)])];
  for (const length of [3, 2, 1]) {
    if (words.length < length) continue;
    const sameLength = candidates.filter((name) => name.split(" ").length === length);
    const nearest = findNearest(words.slice(0, length).join(" "), sameLength);
    if (nearest !== null) return nearest;
  }
  return null;
}
