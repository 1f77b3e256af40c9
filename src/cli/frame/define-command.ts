import type { Result } from "../../domain/result.ts";
import type { Environment } from "../../platform/environment.ts";
import {
  Misuse,
  resolveOptions,
  type ConfigFile,
  type InvalidValue,
  type Option,
} from "./options.ts";
import type { Command, Invocation } from "./command.ts";
import { printOutcome, type JsonOutcome, type TextOutcome } from "./outcome.ts";
import { printParts, type Text } from "./terminal.ts";

/** The options of a command, by the names under which it gets their values. */
export type OptionTable = Readonly<Record<string, Option>>;

/** The values of options, with their types: a name that is not in the table does not compile. */
export type Values<T extends OptionTable> = { readonly [K in keyof T]: ValueOf<T[K]> };

type ValueOf<O extends Option> = O["type"] extends "boolean"
  ? boolean
  : O["type"] extends "list"
    ? readonly ParsedText<O>[]
    : O extends AlwaysSet
      ? ParsedText<O>
      : ParsedText<O> | null;

type ParsedText<O extends Option> = O extends {
  readonly parse: (text: string) => Result<infer T, InvalidValue>;
}
  ? T
  : string;

/** An option with a default, or one without which the command is refused. */
type AlwaysSet =
  | { readonly defaultValue: string | ((...args: never) => string) }
  | { readonly missingHint: string };

/** What a command gets besides the values of its options. */
export interface CommandContext<T extends OptionTable, A extends readonly string[]> extends Pick<
  Invocation,
  "environment" | "platform" | "settingsFile" | "settingsError"
> {
  /** The positional arguments, in the order of their names in the definition. */
  readonly args: { readonly [K in keyof A]: string | undefined };
  /** All of them: the last one can be repeated if its name ends with `…`. */
  readonly allArgs: readonly string[];
  /** The flag, the variable or the file that set an option, or "default"; null: it is not set. */
  readonly sources: { readonly [K in keyof T]: string | null };
  /** All options that are set, as they were written. */
  readonly setOptions: readonly SetOption[];
  /** Prints before the end, for example before a question; prints nothing with `--json`. */
  readonly show: (text: Text) => void;
}

export interface SetOption {
  readonly name: string;
  readonly value: string | boolean | readonly string[];
  readonly from: string;
}

interface Definition<T extends OptionTable, A extends readonly string[], R> extends Omit<
  Command,
  "options" | "arguments" | "run"
> {
  readonly options: T;
  readonly arguments?: A;
  readonly run: (values: Values<T>, context: CommandContext<T, A>) => R | Promise<R>;
}

/** A command with the flag `--json` must say what it prints as JSON. */
type Outcome<T extends OptionTable> = "json" extends keyof T ? JsonOutcome : TextOutcome;

/** A command that returns its result, which is printed as text or as JSON. */
export const defineCommand = <
  const T extends OptionTable,
  const A extends readonly string[] = readonly [],
>(
  definition: Definition<T, A, Outcome<T>>,
): Command => ({
  ...definition,
  options: Object.values(definition.options),
  async run(invocation) {
    const context = createContext<T, A>(definition.options, invocation);
    const outcome = await definition.run(readValues(definition.options, invocation), context);
    return printOutcome(outcome, isJson(invocation));
  },
});

/** A command that runs until it is stopped. It prints what happens, and returns the exit code. */
export const defineServer = <const T extends OptionTable>(
  definition: Definition<T, readonly [], number>,
): Command => ({
  ...definition,
  options: Object.values(definition.options),
  run: async (invocation) =>
    definition.run(
      readValues(definition.options, invocation),
      createContext(definition.options, invocation),
    ),
});

/** A command that runs another program. It returns the exit code of that program. */
export const defineWrapper = <
  const T extends OptionTable,
  const A extends readonly string[] = readonly [],
>({
  run,
  ...definition
}: Omit<Definition<T, A, number>, "run"> & {
  readonly wrapsProgram: NonNullable<Command["wrapsProgram"]>;
  readonly run: (
    values: Values<T>,
    context: CommandContext<T, A> & {
      /** The words after `--`. */
      readonly program: readonly string[];
    },
  ) => number | Promise<number>;
}): Command => ({
  ...definition,
  options: Object.values(definition.options),
  run: async (invocation) =>
    run(readValues(definition.options, invocation), {
      ...createContext<T, A>(definition.options, invocation),
      program: invocation.positionals,
    }),
});

/** The default values of options. */
export const defaultValues = <const T extends OptionTable>(table: T): Values<T> =>
  resolveValues(table, {}, null).values;

/** The values of options that are no flags of the command: from the environment and a file. */
export function resolveValues<const T extends OptionTable>(
  table: T,
  environment: Environment,
  file: ConfigFile | null,
): { readonly values: Values<T>; readonly setOptions: readonly SetOption[] } {
  const values = resolveOptions(Object.values(table), {}, environment, file);
  return { values: readValues(table, { values }), setOptions: listSetOptions(values) };
}

const listSetOptions = (values: Invocation["values"]): SetOption[] =>
  [...values].map(([name, { value, from }]) => ({ name, value, from }));

const isJson = ({ values }: Invocation): boolean => values.get("json")?.value === true;

/** The only place where names become types; `resolveOptions` parsed the values. */
function readValues<T extends OptionTable>(
  table: T,
  { values }: Pick<Invocation, "values">,
): Values<T> {
  const entries = Object.entries(table).map(([key, option]) => {
    const parsed = values.get(option.name)?.parsed ?? NOT_SET[option.type];
    if (parsed === null && option.missingHint !== undefined && !values.has(option.name)) {
      throw new Misuse(`--${option.name} is required`, option.missingHint);
    }
    return [key, parsed];
  });
  return Object.fromEntries(entries) as Values<T>;
}

const NOT_SET = { boolean: false, list: [], string: null } as const;

function createContext<T extends OptionTable, A extends readonly string[]>(
  table: T,
  invocation: Invocation,
): CommandContext<T, A> {
  const { values, positionals, environment, platform, settingsFile, settingsError } = invocation;
  const sources = Object.entries(table).map(([key, { name }]) => [
    key,
    values.get(name)?.from ?? null,
  ]);
  return {
    args: positionals as CommandContext<T, A>["args"],
    allArgs: positionals,
    sources: Object.fromEntries(sources) as CommandContext<T, A>["sources"],
    setOptions: listSetOptions(values),
    show(text) {
      if (!isJson(invocation)) printParts(text);
    },
    environment,
    platform,
    settingsFile,
    settingsError,
  };
}
