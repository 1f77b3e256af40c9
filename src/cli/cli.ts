import { parseArgs } from "node:util";
import {
  Misuse,
  resolveOptions,
  unknownVariables,
  type Environment,
  type Option,
  type OptionValue,
} from "../platform/options.ts";
import { errorCode } from "../platform/disk.ts";
import { EXIT_OK, type Command } from "./command.ts";
import { commands, commandGroups } from "./command-table.ts";
import { describeError } from "./error-report.ts";
import { option } from "./flags.ts";
import { findNearest } from "./nearest.ts";
import { readSettings } from "./settings-file.ts";
import { print, printError, printJsonRefusal, printWarning } from "./terminal.ts";
import { formatAllCommands, formatCommandHelp, formatCommandList, formatOverview } from "./help.ts";

/** Runs one command line and says how it went; the exit code is the process's. */
export async function run(
  argv: readonly string[],
  environment: Environment,
  platform: NodeJS.Platform,
): Promise<number> {
  try {
    return await dispatch(argv, environment, platform);
  } catch (error) {
    const { exitCode, refusal } = describeError(error);
    printError(refusal.message, refusal.hint);
    if (wantsJson(argv, environment)) printJsonRefusal(refusal);
    return exitCode;
  }
}

/** Asked of the words themselves: what makes no sense is refused as JSON too. */
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
  const family = subcommandHelp(argv);
  if (family !== null) {
    print(family);
    return EXIT_OK;
  }
  const wanted = name === "--version" || name === "-v" ? "version" : name;
  const { command, after } = selectCommand(wanted, rest);
  const { flags, words } = parseArguments(command, after);
  if (flags["help"] === true) {
    print(formatCommandHelp(command));
    return EXIT_OK;
  }
  const known = [...Object.values(option), ...commands.flatMap(({ options }) => options)];
  for (const name of unknownVariables(environment, known)) {
    printWarning(`unknown environment variable ${name}`);
  }
  const settings = readSettings(command, flags, environment);
  const values = resolveOptions(command.options, flags, environment, settings.file);
  if (settings.servicePath !== null) {
    values.set("config", { value: settings.servicePath, from: "default" });
  }
  return command.run({
    values,
    positionals: words,
    environment,
    platform,
    settingsError: settings.error,
  });
}

/** Of everything, of a group, of a command, or of all that begin with the same word. */
function helpFor(words: readonly string[]): string {
  const asked = words.join(" ");
  if (asked === "" || asked === "help") return formatOverview(commandGroups);
  if (asked === "--all") return formatAllCommands(commandGroups);
  const group = commandGroups.find(({ name }) => name === asked);
  if (group !== undefined) return formatCommandList(group.title, group.commands);
  const family = subcommandsOf(asked);
  const alone = commands.some(({ name }) => name === asked);
  return alone || family.length === 0
    ? formatCommandHelp(findCommand(asked, words))
    : formatCommandList(asked, family);
}

/** For `berth vendor --help`, where words begin the names of commands and are none themselves. */
function subcommandHelp(argv: readonly string[]): string | null {
  const place = argv.findIndex((word) => word.startsWith("-"));
  const words = argv.slice(0, Math.max(0, place));
  const name = words.join(" ");
  const isHelp = argv[place] === "--help" || argv[place] === "-h";
  const isFamily = subcommandsOf(name).length > 0 && !commands.some((one) => one.name === name);
  return isHelp && isFamily ? helpFor(words) : null;
}

const subcommandsOf = (word: string): Command[] =>
  commands.filter(({ name }) => name.startsWith(`${word} `));

/** The command with the longest name that these words begin with. */
function selectCommand(
  first: string,
  rest: readonly string[],
): { command: Command; after: string[] } {
  for (const more of [2, 1]) {
    const name = [first, ...rest.slice(0, more)].join(" ");
    const command = commands.find((candidate) => candidate.name === name);
    if (command !== undefined) return { command, after: rest.slice(more) };
  }
  return { command: findCommand(first, [first, ...rest]), after: [...rest] };
}

/** What other programs of this kind have as commands, and what does it here. */
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

/** Words after a command that look like one of its family, and what does it. */
const EXTRA_ARGUMENT_HINTS: ReadonlyMap<string, string> = new Map([
  ["admin token list", "berth admin user list shows tokens and users"],
]);

function findCommand(name: string, words: readonly string[]): Command {
  const command = commands.find((candidate) => candidate.name === name);
  if (command !== undefined) return command;
  const elsewhere = SERVICE_COMMAND_HINTS.get(name);
  if (elsewhere !== undefined) {
    const hint = `${elsewhere}; berth help --all lists the commands`;
    throw new Misuse(`unknown command: ${name}`, hint);
  }
  const meant = suggestCommand(words);
  const hint = meant === null || meant === name ? "" : `did you mean berth ${meant}? `;
  const names = subcommandsOf(name).map((candidate) => candidate.name.slice(name.length + 1));
  if (names.length > 0) {
    throw new Misuse(
      `berth ${name} needs a subcommand: ${names.join(", ")}`,
      `${hint}berth help ${name} describes them`,
    );
  }
  const order = name.startsWith("-") ? "the command comes before its flags; " : hint;
  throw new Misuse(`unknown command: ${name}`, `${order}berth help --all lists the commands`);
}

/** The command these words look like: a name of two words is compared with the first two. */
function suggestCommand(words: readonly string[]): string | null {
  const names = commands.filter(({ isHidden }) => isHidden !== true).map(({ name }) => name);
  const known = [...new Set([...names, ...names.map((name) => name.split(" ")[0] ?? name)])];
  for (const length of [3, 2, 1]) {
    if (words.length < length) continue;
    const ofLength = known.filter((name) => name.split(" ").length === length);
    const meant = findNearest(words.slice(0, length).join(" "), ofLength);
    if (meant !== null) return meant;
  }
  return null;
}

type ParsedFlags = Readonly<Record<string, OptionValue | undefined>>;

function parseArguments(
  command: Command,
  argv: readonly string[],
): { flags: ParsedFlags; words: string[] } {
  const options = Object.fromEntries(
    command.options.map(({ name, type }) => [
      name,
      {
        type: type === "boolean" ? ("boolean" as const) : ("string" as const),
        multiple: type === "list",
      },
    ]),
  );
  const hint = `berth ${command.name} --help shows its arguments and flags`;
  try {
    const { values, positionals, tokens } = parseArgs({
      args: joinNegativeNumbers(command, argv),
      options: { ...options, help: { type: "boolean", short: "h" } },
      allowPositionals: true,
      strict: true,
      tokens: true,
    });
    const repeated = findRepeatedFlag(command, tokens);
    if (repeated !== null) {
      throw new Misuse(`--${repeated} is given twice but takes one value`, hint);
    }
    const extra = positionals[command.arguments?.length ?? 0];
    if (extra !== undefined) {
      const meant = EXTRA_ARGUMENT_HINTS.get(`${command.name} ${extra}`);
      throw new Misuse(`unexpected argument: ${extra}`, meant ?? hint);
    }
    return { flags: splitLists(command.options, values), words: positionals };
  } catch (error) {
    if (error instanceof Misuse) throw error;
    throw toFlagError(command, error, hint);
  }
}

/** The first flag that is given again although only its last value would count. */
function findRepeatedFlag(
  { options }: Command,
  tokens: readonly { readonly kind: string; readonly name?: string }[],
): string | null {
  const given = tokens.flatMap(({ kind, name }) => (kind === "option" && name) || []);
  const single = options.filter(({ type }) => type === "string");
  const isRepeated = (name: string): boolean => given.indexOf(name) !== given.lastIndexOf(name);
  return single.find(({ name }) => isRepeated(name))?.name ?? null;
}

/**
 * The parser takes `-3` for a flag, and no flag is a number: written as `--slots=-3`, it gets as far
 * as the check of the value, which says what is wrong with it.
 */
function joinNegativeNumbers(command: Command, argv: readonly string[]): string[] {
  const takesValue = (word: string | undefined): boolean =>
    command.options.some(({ name, type }) => type !== "boolean" && word === `--${name}`);
  const end = argv.indexOf("--");
  const args: string[] = [];
  for (const [index, word] of argv.entries()) {
    const isBefore = end === -1 || index < end;
    if (isBefore && /^-\d/.test(word) && takesValue(args.at(-1)))
      args.push(`${args.pop()}=${word}`);
    else args.push(word);
  }
  return args;
}

/** In our own words, as far as the parser's code tells what is wrong with which flag. */
function toFlagError(command: Command, error: unknown, hint: string): Misuse {
  if (!(error instanceof Error)) return new Misuse(String(error), hint);
  const flag = /'(?:-\w, )?(--?[^\s'=]+)/.exec(error.message)?.[1];
  if (flag === undefined) return new Misuse(firstSentence(error.message), hint);
  if (errorCode(error) !== "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
    const wrong = error.message.includes("does not take") ? "takes no value" : "requires a value";
    return new Misuse(`${flag} ${wrong}`, hint);
  }
  const flags = command.options.map(({ name }) => `--${name}`);
  const meant = findNearest(flag, flags);
  const guess = meant === null ? "" : `did you mean ${meant}? `;
  return new Misuse(`berth ${command.name} has no flag ${flag}`, `${guess}${hint}`);
}

/** `--product A --product B` and `--product A,B` say the same, as in the environment. */
function splitLists(options: readonly Option[], flags: ParsedFlags): ParsedFlags {
  const lists = new Set(
    options
      .filter(({ type, canContainCommas }) => type === "list" && canContainCommas !== true)
      .map(({ name }) => name),
  );
  return Object.fromEntries(
    Object.entries(flags).map(([name, value]) => [
      name,
      lists.has(name) && Array.isArray(value) ? value.flatMap((part) => part.split(",")) : value,
    ]),
  );
}

const firstSentence = (text: string): string => {
  const sentence = text.split(". ")[0] ?? text;
  return sentence.charAt(0).toLowerCase() + sentence.slice(1);
};
