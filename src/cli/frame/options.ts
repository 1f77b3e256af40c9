import { dirname, resolve } from "node:path";
import { err, ok, type Result } from "../../domain/result.ts";
import type { Environment } from "../../platform/environment.ts";

/**
 * An option: set by a flag, by an environment variable and, if it is a setting, in a file.
 */
export interface Option {
  readonly name: string;
  /** One letter, for a flag that other programs have too. */
  readonly short?: string;
  readonly type: "string" | "boolean" | "list";
  readonly help: string;
  readonly placeholder?: string;
  /** For the help text only. */
  readonly isRequired?: boolean;
  /** Without a value, the command is refused with this hint. */
  readonly missingHint?: string;
  /** Values of the list may contain commas, so an environment variable holds only one value. */
  readonly canContainCommas?: boolean;
  /** A path, relative to the working folder or to the settings file that contains it. */
  readonly isPath?: boolean;
  readonly defaultValue?: string | ((environment: Environment) => string | undefined);
  /** Help text for a default that differs between machines. */
  readonly defaultDescription?: string;
  /** Converts the text, or each text of a list, to the value that the command gets. */
  readonly parse?: (text: string) => Result<unknown, InvalidValue>;
  /** An empty list could be meant as "none", but its default admits many: it is refused. */
  readonly isNeverEmpty?: boolean;
  /** A setting: administrators can change it while the server runs, and it applies at once. */
  readonly isEditable?: boolean;
  /** A setting: why it cannot be changed while the server runs. */
  readonly fixedReason?: string;
}

type Described = "name" | "placeholder" | "help";
type Details = Omit<Option, Described | "type">;
type Defined<T extends Option["type"], D> = Pick<Option, Described> & {
  readonly type: T;
} & NoInfer<D>;

/** Defines options as help shows them: `text("--product CODE", "the product code")`. */
const define =
  <const T extends Option["type"]>(type: T) =>
  <const D extends Details>(flag: string, help: string, details?: D): Defined<T, D> => {
    const [name = "", placeholder] = flag.slice("--".length).split(" ");
    const option = { name, type, help, ...(placeholder !== undefined && { placeholder }) };
    return { ...option, ...details } as Defined<T, D>;
  };

export const text = define("string");
export const flag = define("boolean");
export const list = define("list");

export const path = <const D extends Details>(
  flag: string,
  help: string,
  details?: D,
): Defined<"string", D> => ({ ...text(flag, help, details), isPath: true });

/** Also allowed in the settings file, where the key is the name with underscores. */
export const isSetting = ({ isEditable, fixedReason }: Option): boolean =>
  isEditable !== undefined || fixedReason !== undefined;

export const defaultOf = (
  { defaultValue }: Option,
  environment: Environment,
): string | undefined =>
  typeof defaultValue === "function" ? defaultValue(environment) : defaultValue;

export interface InvalidValue {
  /** Completes the sentence "--name …". */
  readonly problem: string;
  readonly hint: string;
  /** The same without the value, for replies that must not repeat it; absent: it has no value. */
  readonly problemWithoutValue?: string;
}

export type OptionValue = string | boolean | readonly string[];

export interface ResolvedOption {
  /** As it was written. */
  readonly value: OptionValue;
  /** As the command gets it. */
  readonly parsed: unknown;
  /** The flag, the variable or the file that set it, or "default". */
  readonly from: string;
}

/** The values of the flags on a command line, by their names. */
export type ParsedFlags = Readonly<Record<string, OptionValue | undefined>>;

/** A usage error: exit code 2. */
export class Misuse extends Error {
  override readonly name = "Misuse";
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

export const envName = ({ name }: Option): string => `BERTH_${snake(name).toUpperCase()}`;

/** The key of an option in the settings file. */
export const settingsKey = ({ name }: Option): string => snake(name);

const snake = (name: string): string => name.replaceAll("-", "_");

/** Precedence: flags, environment variables, settings file, default. */
export function resolveOptions(
  options: readonly Option[],
  flags: ParsedFlags,
  environment: Environment,
  file: ConfigFile | null,
): Map<string, ResolvedOption> {
  const resolved = new Map<string, ResolvedOption>();
  for (const option of options) {
    const found = lookUp(option, flags, environment, file);
    if (found === null) continue;
    const { value, from } = found;
    const parsed = parseValue(option, value);
    if (!parsed.ok) {
      const subject = from.startsWith("--") ? from : `${from}: ${option.name}`;
      throw new Misuse(`${subject} ${parsed.fault.problem}`, parsed.fault.hint);
    }
    resolved.set(option.name, { value, parsed: parsed.value, from });
  }
  return resolved;
}

/** Converts a value; an invalid text of a list makes the whole list invalid. */
export function parseValue(
  { parse, isNeverEmpty = false }: Pick<Option, "parse" | "isNeverEmpty">,
  value: OptionValue,
): Result<unknown, InvalidValue> {
  if (isNeverEmpty && Array.isArray(value) && value.length === 0) return err(EMPTY_LIST);
  if (parse === undefined || typeof value === "boolean") return ok(value);
  if (typeof value === "string") return parse(value);
  const results = value.map(parse);
  const invalid = results.find((result) => !result.ok);
  return invalid ?? ok(results.map((result) => (result.ok ? result.value : null)));
}

const EMPTY_LIST: InvalidValue = {
  problem: "must not be an empty list",
  hint: "leave it out for the default, or name at least one",
};

function lookUp(
  option: Option,
  flags: ParsedFlags,
  environment: Environment,
  file: ConfigFile | null,
): Omit<ResolvedOption, "parsed"> | null {
  const flag = flags[option.name];
  if (flag !== undefined)
    return { value: resolvePath(option, flag, "."), from: `--${option.name}` };
  const variable = envName(option);
  const text = environment[variable];
  if (text !== undefined && text !== "") {
    return { value: resolvePath(option, parseText(option, text), "."), from: variable };
  }
  const setting = file?.values.get(settingsKey(option));
  if (file !== null && setting !== undefined) {
    return { value: resolvePath(option, setting, dirname(file.path)), from: file.path };
  }
  const fallback = defaultOf(option, environment);
  return fallback === undefined ? null : { value: parseText(option, fallback), from: "default" };
}

/** Makes a path absolute, so that it does not depend on the working folder. Empty stays empty. */
const resolvePath = ({ isPath }: Option, value: OptionValue, folder: string): OptionValue =>
  isPath === true && typeof value === "string" && value !== "" ? resolve(folder, value) : value;

function parseText(option: Option, text: string): OptionValue {
  if (option.type === "list" && option.canContainCommas === true) return [text];
  if (option.type === "list") return text.split(",").map((part) => part.trim());
  if (option.type === "string") return text;
  if (/^(1|true|yes)$/i.test(text)) return true;
  if (/^(0|false|no)$/i.test(text)) return false;
  throw new Misuse(
    `${envName(option)} must be true or false`,
    "unset it, or set it to true or false",
  );
}

export interface ConfigFile {
  readonly path: string;
  readonly values: ReadonlyMap<string, OptionValue>;
}

/**
 * BERTH_ variables that no option uses: most likely typing mistakes. `berth run` sets BERTH_RUN_…
 * for its command.
 */
export function unknownVariables(environment: Environment, options: readonly Option[]): string[] {
  const knownNames = new Set(options.map(envName));
  return Object.keys(environment).filter(
    (name) => /^BERTH_(?!TEST_|RUN_)/.test(name) && !knownNames.has(name),
  );
}
