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
  readonly value?: string;
  /** The help says so; the command itself refuses to go on without it. */
  readonly required?: boolean;
  /** Values of a list that may hold commas, which separate nothing then. */
  readonly keepsCommas?: boolean;
  /** Kept in a configuration file as well; the key there is the name with underscores. */
  readonly setting?: boolean;
  /** A path: relative to the working folder, or to the file it stands in. */
  readonly path?: boolean;
  readonly fallback?: (environment: Environment) => string | undefined;
  /** Words for a fallback that is another one on every machine. */
  readonly usual?: string;
  /** What is wrong with a value; null when it is fine. */
  readonly check?: (value: Value) => Wrong | null;
}

export interface Wrong {
  /** Words that finish "--name …". */
  readonly wrong: string;
  readonly hint: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export type Value = string | boolean | readonly string[];

export interface Resolved {
  readonly value: Value;
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

export const twinOf = ({ name }: Option): string => `BERTH_${snake(name).toUpperCase()}`;

/** A flag's name as a key of a settings file. */
export const keyOf = ({ name }: Option): string => snake(name);

const snake = (name: string): string => name.replaceAll("-", "_");

/** Flags before the environment before the file before the default. */
export function resolveOptions(
  options: readonly Option[],
  flags: Readonly<Record<string, Value | undefined>>,
  environment: Environment,
  file: ConfigFile | null,
): Map<string, Resolved> {
  const resolved = new Map<string, Resolved>();
  for (const option of options) {
    const found = lookUp(option, flags, environment, file);
    if (found === null) continue;
    const wrong = option.check?.(found.value) ?? null;
    if (wrong !== null) {
      const { from } = found;
      const subject = from.startsWith("--") ? from : `${from}: ${option.name}`;
      throw new Misuse(`${subject} ${wrong.wrong}`, wrong.hint);
    }
    resolved.set(option.name, found);
  }
  return resolved;
}

function lookUp(
  option: Option,
  flags: Readonly<Record<string, Value | undefined>>,
  environment: Environment,
  file: ConfigFile | null,
): Resolved | null {
  const flag = flags[option.name];
  if (flag !== undefined) return { value: placed(option, flag, "."), from: `--${option.name}` };
  const twin = twinOf(option);
  const variable = environment[twin];
  if (variable !== undefined && variable !== "") {
    return { value: placed(option, typed(option, variable), "."), from: twin };
  }
  const kept = file?.values.get(keyOf(option));
  if (file !== null && kept !== undefined) {
    return { value: placed(option, kept, dirname(file.path)), from: file.path };
  }
  const fallback = option.fallback?.(environment);
  return fallback === undefined ? null : { value: typed(option, fallback), from: "default" };
}

/** A full path, so that it means the same wherever it is used; an empty one stays what it is. */
const placed = ({ path }: Option, value: Value, folder: string): Value =>
  path === true && typeof value === "string" && value !== "" ? resolve(folder, value) : value;

function typed(option: Option, text: string): Value {
  if (option.type === "list" && option.keepsCommas === true) return [text];
  if (option.type === "list") return text.split(",").map((part) => part.trim());
  if (option.type === "string") return text;
  if (/^(1|true|yes)$/i.test(text)) return true;
  if (/^(0|false|no)$/i.test(text)) return false;
  throw new Misuse(
    `${twinOf(option)} must be true or false`,
    "unset it, or set it to true or false",
  );
}

export interface ConfigFile {
  readonly path: string;
  readonly values: ReadonlyMap<string, Value>;
}

/** Variables that look like ours and mean nothing: most likely a typing mistake. */
export function strangers(environment: Environment, options: readonly Option[]): string[] {
  const known = new Set(options.map(twinOf));
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
