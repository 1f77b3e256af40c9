import { parseArgs } from "node:util";
import { errorCode } from "../../platform/files/system-error.ts";
import type { Command } from "./command.ts";
import { findNearest } from "../../domain/text/nearest.ts";
import { Misuse, type Option, type ParsedFlags } from "./options.ts";

/** Arguments that look like a subcommand, and the command that does what was meant. */
const EXTRA_ARGUMENT_HINTS: ReadonlyMap<string, string> = new Map([
  ["admin token list", "berth admin user list shows tokens and users"],
]);

/** Reads the words after the name of a command, and refuses those that the command cannot use. */
export function parseArguments(
  command: Command,
  argv: readonly string[],
): { flags: ParsedFlags; positionals: string[] } {
  const options = Object.fromEntries(
    command.options.map(({ name, type, short }) => [
      name,
      {
        type: type === "boolean" ? ("boolean" as const) : ("string" as const),
        multiple: type === "list",
        ...(short !== undefined && { short }),
      },
    ]),
  );
  const hint = `berth ${command.name} --help shows its arguments and flags`;
  const { args, program } = splitProgram(command, argv);
  try {
    const { values, positionals, tokens } = parseArgs({
      args: joinNegativeNumbers(command, args),
      options: { ...options, help: { type: "boolean", short: "h" } },
      allowPositionals: true,
      strict: true,
      tokens: true,
    });
    const repeated = findRepeatedFlag(command, tokens);
    if (repeated !== null) {
      throw new Misuse(`--${repeated} is given twice but takes one value`, hint);
    }
    const wrapsProgram = command.wrapsProgram !== undefined;
    const extra = positionals[wrapsProgram ? 0 : countArguments(command)];
    if (extra !== undefined && wrapsProgram) {
      const example = `berth ${command.name} [FLAGS] -- ${extra}`;
      throw new Misuse(`unexpected argument: ${extra}`, `write -- before the command: ${example}`);
    }
    if (extra !== undefined) {
      const specificHint = EXTRA_ARGUMENT_HINTS.get(`${command.name} ${extra}`);
      throw new Misuse(`unexpected argument: ${extra}`, specificHint ?? hint);
    }
    return { flags: splitLists(command.options, values), positionals: program ?? positionals };
  } catch (error) {
    if (error instanceof Misuse) throw error;
    // The flag may be one of the command that is to be run.
    const isProgramMissing = program !== null && !argv.includes("--");
    const programHint = `write -- before the command: berth ${command.name} [FLAGS] -- COMMAND [ARGS]`;
    throw toFlagError(command, error, isProgramMissing ? programHint : hint);
  }
}

/** The last argument may be repeated: its name then ends with `…`. */
function countArguments({ arguments: names = [] }: Command): number {
  return names.at(-1)?.includes("…") === true ? Infinity : names.length;
}

/** Splits off the words after `--` if they are the command line of another program. */
function splitProgram(
  { wrapsProgram }: Command,
  argv: readonly string[],
): { readonly args: readonly string[]; readonly program: string[] | null } {
  if (wrapsProgram === undefined) return { args: argv, program: null };
  const end = argv.indexOf("--");
  return end === -1
    ? { args: argv, program: [] }
    : { args: argv.slice(0, end), program: argv.slice(end + 1) };
}

/** The first flag that occurs twice but takes one value: the parser would silently use the last. */
function findRepeatedFlag(
  { options }: Command,
  tokens: readonly { readonly kind: string; readonly name?: string }[],
): string | null {
  const names = tokens.flatMap(({ kind, name }) => (kind === "option" && name) || []);
  const singleValued = options.filter(({ type }) => type === "string");
  const isRepeated = (name: string): boolean => names.indexOf(name) !== names.lastIndexOf(name);
  return singleValued.find(({ name }) => isRepeated(name))?.name ?? null;
}

/**
 * The parser reads `-3` as a flag, but no flag is a number. Written as `--slots=-3`, it reaches the
 * check of the value, which says what is wrong with it.
 */
function joinNegativeNumbers(command: Command, argv: readonly string[]): string[] {
  const takesValue = (word: string | undefined): boolean =>
    command.options.some(({ name, type }) => type !== "boolean" && word === `--${name}`);
  const end = argv.indexOf("--");
  const args: string[] = [];
  for (const [index, word] of argv.entries()) {
    const isBeforeEnd = end === -1 || index < end;
    if (isBeforeEnd && /^-\d/.test(word) && takesValue(args.at(-1)))
      args.push(`${args.pop()}=${word}`);
    else args.push(word);
  }
  return args;
}

/** Rewords the parser's error if it tells which flag is wrong and why. */
function toFlagError(command: Command, error: unknown, hint: string): Misuse {
  if (!(error instanceof Error)) return new Misuse(String(error), hint);
  const flag = /'(?:-\w, )?(--?[^\s'=]+)/.exec(error.message)?.[1];
  if (flag === undefined) return new Misuse(firstSentence(error.message), hint);
  if (errorCode(error) !== "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
    const problem = error.message.includes("does not take") ? "takes no value" : "requires a value";
    return new Misuse(`${flag} ${problem}`, hint);
  }
  const flags = command.options.map(({ name }) => `--${name}`);
  const nearest = findNearest(flag, flags);
  const guess = nearest === null ? "" : `did you mean ${nearest}? `;
  return new Misuse(`berth ${command.name} has no flag ${flag}`, `${guess}${hint}`);
}

/** `--product A --product B` and `--product A,B` mean the same, as in the environment. */
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
