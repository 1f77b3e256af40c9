import { existsSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { errorCode } from "./disk.ts";
import { isCompiled } from "./version.ts";

/**
 * Something that can be set: by flag, by its environment twin and, where it is a setting, by file.
 */
export interface Option {
  readonly name: string;
  readonly type: "string" | "boolean" | "list";
  readonly help: string;
  readonly placeholder?: string;
  /** The help says so; the command itself refuses to go on without it. */
  readonly isRequired?: boolean;
  /** Values of a list that may hold commas, which separate nothing then. */
  readonly canContainCommas?: boolean;
  /** Kept in a configuration file as well; the key there is the name with underscores. */
  readonly isSetting?: boolean;
  /** A path: relative to the working folder, or to the file it stands in. */
  readonly isPath?: boolean;
  readonly defaultValue?: (environment: Environment) => string | undefined;
  /** Words for a fallback that is another one on every machine. */
  readonly defaultDescription?: string;
  /** What is wrong with a value; null when it is fine. */
  readonly check?: (value: OptionValue) => InvalidValue | null;
}

export interface InvalidValue {
  /** Words that finish "--name …". */
  readonly problem: string;
  readonly hint: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export type OptionValue = string | boolean | readonly string[];

export interface ResolvedOption {
  readonly value: OptionValue;
  /** Where it came from, in words. */
  readonly from: string;
}

/** Something was said that makes no sense: exit code 2. */
export class Misuse extends Error {
  override readonly name = "Misuse";
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

export const envName = ({ name }: Option): string => `BERTH_${snake(name).toUpperCase()}`;

/** A flag's name as a key of a settings file. */
export const settingsKey = ({ name }: Option): string => snake(name);

const snake = (name: string): string => name.replaceAll("-", "_");

/** Flags before the environment before the file before the default. */
export function resolveOptions(
  options: readonly Option[],
  flags: Readonly<Record<string, OptionValue | undefined>>,
  environment: Environment,
  file: ConfigFile | null,
): Map<string, ResolvedOption> {
  const resolved = new Map<string, ResolvedOption>();
  for (const option of options) {
    const found = lookUp(option, flags, environment, file);
    if (found === null) continue;
    const wrong = option.check?.(found.value) ?? null;
    if (wrong !== null) {
      const { from } = found;
      const subject = from.startsWith("--") ? from : `${from}: ${option.name}`;
      throw new Misuse(`${subject} ${wrong.problem}`, wrong.hint);
    }
    resolved.set(option.name, found);
  }
  return resolved;
}

function lookUp(
  option: Option,
  flags: Readonly<Record<string, OptionValue | undefined>>,
  environment: Environment,
  file: ConfigFile | null,
): ResolvedOption | null {
  const flag = flags[option.name];
  if (flag !== undefined)
    return { value: resolvePath(option, flag, "."), from: `--${option.name}` };
  const twin = envName(option);
  const variable = environment[twin];
  if (variable !== undefined && variable !== "") {
    return { value: resolvePath(option, parseText(option, variable), "."), from: twin };
  }
  const kept = file?.values.get(settingsKey(option));
  if (file !== null && kept !== undefined) {
    return { value: resolvePath(option, kept, dirname(file.path)), from: file.path };
  }
  const fallback = option.defaultValue?.(environment);
  return fallback === undefined ? null : { value: parseText(option, fallback), from: "default" };
}

/** A full path, so that it means the same wherever it is used; an empty one stays what it is. */
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

/** Variables that look like ours and mean nothing: most likely a typing mistake. */
export function unknownVariables(environment: Environment, options: readonly Option[]): string[] {
  const known = new Set(options.map(envName));
  return Object.keys(environment).filter(
    (name) => /^BERTH_(?!TEST_)/.test(name) && !known.has(name),
  );
}

/** Where a service has its data, and its settings. */
export const SERVICE_DATA = "/var/lib/berth";
export const SERVICE_SETTINGS = "/etc/berth/berth.toml";

/** Never the working folder: the same command must mean the same data wherever it is typed. */
export function defaultDataFolder({ STATE_DIRECTORY }: Environment): string {
  if (STATE_DIRECTORY !== undefined && isAbsolute(STATE_DIRECTORY)) return STATE_DIRECTORY;
  const home = isCompiled ? dirname(process.execPath) : resolve(import.meta.dir, "..", "..");
  const beside = join(home, "data");
  const isInstalled = () => existsSync(SERVICE_DATA) || hasServiceSettings();
  return isCompiled && !existsSync(beside) && isInstalled() ? SERVICE_DATA : beside;
}

/** Also where this user may not look for them: then reading them says so. */
export function hasServiceSettings(): boolean {
  try {
    statSync(SERVICE_SETTINGS);
    return true;
  } catch (error) {
    return !["ENOENT", "ENOTDIR"].includes(errorCode(error) ?? "");
  }
}
