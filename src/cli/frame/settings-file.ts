import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { messageOfError } from "../../platform/error-message.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import {
  defaultDataFolder,
  hasServiceSettings,
  SERVICE_DATA,
  SERVICE_SETTINGS,
  type Environment,
} from "../../platform/environment.ts";
import {
  envName,
  isSetting,
  Misuse,
  parseValue,
  settingsKey,
  type ConfigFile,
  type InvalidValue,
  type Option,
  type OptionValue,
  type ParsedFlags,
} from "./options.ts";
import type { Command } from "./command.ts";
import { settings as serverSettings } from "../serve/settings.ts";
import { option } from "./flags.ts";
import { findNearest } from "../../domain/text/nearest.ts";
import { printWarning } from "./terminal.ts";

/** The settings of a command besides its flags and the environment. */
export interface LoadedSettings {
  readonly file: ConfigFile | null;
  /** The service's file, if no other is named and the data folder is the service's. */
  readonly servicePath: string | null;
  /** Why the file cannot be used; only a command that examines settings continues with an error. */
  readonly error: Misuse | null;
}

/** Decides which settings file a command reads, and reads it. */
export function readSettings(
  command: Command,
  flags: ParsedFlags,
  environment: Environment,
): LoadedSettings {
  if (command.wrapsProgram !== undefined) return { file: null, servicePath: null, error: null };
  const namedPath = flags["config"] ?? environment[envName(option.config)];
  const isNamed = typeof namedPath === "string" && namedPath !== "";
  const servicePath = isNamed ? null : serviceSettingsFor(command, flags, environment);
  const path = isNamed ? namedPath : servicePath;
  if (path === null) return { file: null, servicePath, error: null };
  let text: string | null = null;
  try {
    text = readText(path, isNamed);
    return {
      file: parseConfig(path, text, Object.values(serverSettings)),
      servicePath,
      error: null,
    };
  } catch (error) {
    if (!(error instanceof Misuse)) throw error;
    if (text === null && isNamed) throw error;
    if (command.canRunWithInvalidSettings === true) return { file: null, servicePath, error };
    // Neither a running service nor a backup of its folder depends on what the file says now.
    const needsNoSettings = !command.options.some(({ name }) => name === option.listen.name);
    const isFolderCertain = text !== null && namesNoOtherFolder(text);
    if (isNamed || !needsNoSettings || !isFolderCertain) throw error;
    printWarning(`${error.message}; the service will not start with it`);
    return { file: null, servicePath, error: null };
  }
}

/** Null: the command reads no settings, its folder is not the service's, or there is no file. */
function serviceSettingsFor(
  { options }: Command,
  flags: ParsedFlags,
  environment: Environment,
): string | null {
  if (!options.some(({ name }) => name === option.config.name)) return null;
  const dataPath = flags["data"] ?? (environment[envName(option.data)] || undefined);
  const folder = typeof dataPath === "string" ? resolve(dataPath) : defaultDataFolder(environment);
  return folder === SERVICE_DATA && hasServiceSettings() ? SERVICE_SETTINGS : null;
}

function readText(path: string, isNamed: boolean): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "EISDIR") {
      const hint = isNamed
        ? "check --config"
        : "replace it with a file; berth help serve lists the settings";
      throw new Misuse(`the settings file ${path} is a folder (EISDIR)`, hint);
    }
    if (!isNamed) throw error;
    const reason = errorCode(error) ?? "it cannot be opened";
    throw new Misuse(`the settings file ${path} cannot be read (${reason})`, "check --config");
  }
}

/** Whether the file sets neither another data folder nor an identity for a command to use. */
const namesNoOtherFolder = (text: string): boolean =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => /^["']?(?:data|identity)\b/.test(line))
    .every((line) => line === `data = ${JSON.stringify(SERVICE_DATA)}`);

/** Parses a TOML settings file. The error for an unknown key or a wrong value names the line. */
export function parseConfig(path: string, text: string, options: readonly Option[]): ConfigFile {
  const settings = new Map(
    options.filter(isSetting).map((setting) => [settingsKey(setting), setting]),
  );
  const values = new Map<string, OptionValue>();
  for (const [rawKey, rawValue] of Object.entries(parseToml(path, text))) {
    const location = `${path}${lineSuffix(lineOfKey(text, rawKey))}`;
    const key = rawKey.replaceAll("-", "_");
    const setting = settings.get(key);
    if (setting === undefined) {
      throw unknownKeyError(location, rawKey, rawValue, [...settings.keys()]);
    }
    // A count may be a number in TOML; in flags and variables it is a string of digits.
    const isCount = Number.isInteger(rawValue) && setting.type === "string";
    const value = isCount ? String(rawValue) : rawValue;
    if (!hasType(setting, value)) throw wrongTypeError(location, key, setting);
    const parsed = parseValue(setting, value);
    if (!parsed.ok) throw invalidValueError(location, key, parsed.fault);
    values.set(key, value);
  }
  return { path, values };
}

const invalidValueError = (
  location: string,
  key: string,
  { problem, hint }: InvalidValue,
): Misuse => new Misuse(`${location}: ${key} ${problem}`, hint);

/** Uses the setting's own message if it has one, since no value of another type is valid. */
function wrongTypeError(
  location: string,
  key: string,
  { type, placeholder = "", parse }: Option,
): Misuse {
  const parsed = type === "string" ? parse?.("") : undefined;
  if (parsed?.ok === false) return invalidValueError(location, key, parsed.fault);
  const { expected, example } = TYPE_DESCRIPTIONS[type];
  return new Misuse(
    `${location}: ${key} must be ${expected}`,
    `for example ${key} = ${example(placeholder)}`,
  );
}

const TYPE_DESCRIPTIONS = {
  string: { expected: "a string", example: (value: string) => `"${value}"` },
  boolean: { expected: "true or false", example: () => "true" },
  list: { expected: "a list of strings", example: (value: string) => `["${value}"]` },
} as const;

function hasType({ type }: Option, value: unknown): value is OptionValue {
  if (type !== "list") return typeof value === type;
  return Array.isArray(value) && value.every((part) => typeof part === "string");
}

function unknownKeyError(
  location: string,
  key: string,
  value: unknown,
  knownKeys: readonly string[],
): Misuse {
  const isTable = typeof value === "object" && !Array.isArray(value);
  const nearest = findNearest(key.replaceAll("-", "_"), knownKeys);
  const list = "berth help serve lists the settings";
  const hint = isTable ? "settings must not be in a TOML table" : list;
  return new Misuse(
    `${location}: unknown key ${key}`,
    nearest === null ? hint : `did you mean ${nearest}? ${hint}`,
  );
}

function parseToml(path: string, text: string): object {
  try {
    return Bun.TOML.parse(text);
  } catch (error) {
    const reason = messageOfError(error).replace(/^TOML Parse error: /, "");
    throw new Misuse(
      `${path}${lineSuffix(lineOfSyntaxError(text))}: ${reason} (not valid TOML)`,
      'write each setting on one line, for example listen = "0.0.0.0:8080"',
    );
  }
}

const lineSuffix = (line: number | null): string => (line === null ? "" : `:${line}`);

/** The number of the line that sets a key, from 1; null: the key is written in an unknown form. */
function lineOfKey(text: string, key: string): number | null {
  const index = text.split("\n").findIndex((line) => parseKey(line) === key);
  return index < 0 ? null : index + 1;
}

/** The key, or the name of the table, that a line begins with; quoted or not. */
function parseKey(line: string): string | null {
  const text = line
    .trim()
    .replace(/^\[{1,2}/, "")
    .trimStart();
  const [key] = /^(?:"[^"]*"|'[^']*'|[\w-]+)/.exec(text) ?? [];
  if (key === undefined || !/^[=.\]]/.test(text.slice(key.length).trimStart())) return null;
  return /^["']/.test(key) ? key.slice(1, -1) : key;
}

/** More than any settings file has; the search below parses the file once per line. */
const MAX_LINES = 2_000;

/**
 * The runtime does not report the line of a syntax error. The error begins on the line after the
 * longest beginning of the file that is valid TOML.
 */
function lineOfSyntaxError(text: string): number | null {
  const lines = text.split("\n");
  if (lines.length > MAX_LINES) return null;
  for (let count = lines.length - 1; count > 0; count -= 1) {
    if (isToml(lines.slice(0, count).join("\n"))) return count + 1;
  }
  return 1;
}

function isToml(text: string): boolean {
  try {
    Bun.TOML.parse(text);
    return true;
  } catch {
    return false;
  }
}
