import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { errorCode } from "../platform/disk.ts";
import {
  defaultDataFolder,
  hasServiceSettings,
  settingsKey,
  Misuse,
  SERVICE_DATA,
  SERVICE_SETTINGS,
  envName,
  type ConfigFile,
  type Environment,
  type Option,
  type OptionValue,
} from "../platform/options.ts";
import type { Command } from "./command.ts";
import { option, serverSettings } from "./flags.ts";
import { findNearest } from "./nearest.ts";
import { printWarning } from "./terminal.ts";

/** What a command goes by besides its flags and the environment. */
export interface LoadedSettings {
  readonly file: ConfigFile | null;
  /** The service's file, where nobody named another and the folder is the service's. */
  readonly servicePath: string | null;
  /** Why the file is not read; only a command that examines settings goes on with one. */
  readonly error: Misuse | null;
}

type ParsedFlags = Readonly<Record<string, OptionValue | undefined>>;

/** The one place that decides which settings file a command reads. */
export function readSettings(
  command: Command,
  flags: ParsedFlags,
  environment: Environment,
): LoadedSettings {
  const named = flags["config"] ?? environment[envName(option.config)];
  const isNamed = typeof named === "string" && named !== "";
  const servicePath = isNamed ? null : serviceSettingsFor(command, flags, environment);
  const path = isNamed ? named : servicePath;
  if (path === null) return { file: null, servicePath, error: null };
  let text: string | null = null;
  try {
    text = readText(path, isNamed);
    return { file: parseConfig(path, text, serverSettings), servicePath, error: null };
  } catch (error) {
    if (!(error instanceof Misuse)) throw error;
    if (text === null && isNamed) throw error;
    if (command.canRunWithInvalidSettings === true) return { file: null, servicePath, error };
    // A running service does not depend on what the file says now, nor does a backup of its folder.
    const usesNoneOfIt = !command.options.some(({ name }) => name === option.listen.name);
    const isKnown = text !== null && namesNoOtherFolder(text);
    if (isNamed || !usesNoneOfIt || !isKnown) throw error;
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
  const said = flags["data"] ?? (environment[envName(option.data)] || undefined);
  const folder = typeof said === "string" ? resolve(said) : defaultDataFolder(environment);
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
      throw new Misuse(`the configuration file ${path} is a folder (EISDIR)`, hint);
    }
    if (!isNamed) throw error;
    const reason = errorCode(error) ?? "it cannot be opened";
    throw new Misuse(`the configuration file ${path} cannot be read (${reason})`, "check --config");
  }
}

/** Whether it says nothing about which folder and which hardware a command works on. */
const namesNoOtherFolder = (text: string): boolean =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => /^["']?(?:data|identity)\b/.test(line))
    .every((line) => line === `data = ${JSON.stringify(SERVICE_DATA)}`);

/** A TOML file of settings. An unknown key, or a wrong value, is refused with its line. */
export function parseConfig(path: string, text: string, options: readonly Option[]): ConfigFile {
  const known = new Map(
    options.filter(({ isSetting }) => isSetting).map((one) => [settingsKey(one), one]),
  );
  const values = new Map<string, OptionValue>();
  for (const [written, value] of Object.entries(parseToml(path, text))) {
    const at = `${path}${lineSuffix(lineOfKey(text, written))}`;
    const key = written.replaceAll("-", "_");
    const found = known.get(key);
    if (found === undefined) throw unknownKeyError(at, written, value, [...known.keys()]);
    // A count is a number in TOML and digits everywhere else.
    const given = Number.isInteger(value) && found.type === "string" ? String(value) : value;
    if (!hasType(found, given)) throw wrongTypeError(at, key, found);
    const wrong = found.check?.(given) ?? null;
    if (wrong !== null) throw new Misuse(`${at}: ${key} ${wrong.problem}`, wrong.hint);
    values.set(key, given);
  }
  return { path, values };
}

/** In the words of the setting itself, where nothing of another type could be right. */
function wrongTypeError(
  at: string,
  key: string,
  { type, placeholder = "", check }: Option,
): Misuse {
  const wrong = type === "string" ? (check?.("") ?? null) : null;
  if (wrong !== null) return new Misuse(`${at}: ${key} ${wrong.problem}`, wrong.hint);
  const { expected, example } = FORMS[type];
  return new Misuse(
    `${at}: ${key} must be ${expected}`,
    `for example ${key} = ${example(placeholder)}`,
  );
}

const FORMS = {
  string: { expected: "a string", example: (value: string) => `"${value}"` },
  boolean: { expected: "true or false", example: () => "true" },
  list: { expected: "a list of strings", example: (value: string) => `["${value}"]` },
} as const;

function hasType({ type }: Option, value: unknown): value is OptionValue {
  if (type !== "list") return typeof value === type;
  return Array.isArray(value) && value.every((part) => typeof part === "string");
}

function unknownKeyError(
  at: string,
  key: string,
  value: unknown,
  known: readonly string[],
): Misuse {
  const isTable = typeof value === "object" && !Array.isArray(value);
  const meant = findNearest(key.replaceAll("-", "_"), known);
  const list = "berth help serve lists the settings";
  const hint = isTable ? "settings must not be in a TOML table" : list;
  return new Misuse(
    `${at}: unknown key ${key}`,
    meant === null ? hint : `did you mean ${meant}? ${hint}`,
  );
}

function parseToml(path: string, text: string): object {
  try {
    return Bun.TOML.parse(text);
  } catch (error) {
    const reason = (error instanceof Error ? error.message : String(error)).replace(
      /^TOML Parse error: /,
      "",
    );
    throw new Misuse(
      `${path}${lineSuffix(lineOfSyntaxError(text))}: ${reason} (not valid TOML)`,
      'write each setting on one line, for example listen = "0.0.0.0:8080"',
    );
  }
}

const lineSuffix = (line: number | null): string => (line === null ? "" : `:${line}`);

/** The line a key is set on, from 1 on; null: it is written in a way that is not looked for. */
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

/** More than any settings file has: each of them is tried. */
const MOST_LINES = 2_000;

/**
 * The runtime does not say where: what is wrong begins with the line after the longest beginning of
 * the file that is good TOML.
 */
function lineOfSyntaxError(text: string): number | null {
  const lines = text.split("\n");
  if (lines.length > MOST_LINES) return null;
  for (let good = lines.length - 1; good > 0; good -= 1) {
    if (isToml(lines.slice(0, good).join("\n"))) return good + 1;
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
