import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { errorCode } from "../platform/disk.ts";
import {
  defaultDataFolder,
  hasServiceSettings,
  keyOf,
  Misuse,
  SERVICE_DATA,
  SERVICE_SETTINGS,
  twinOf,
  type ConfigFile,
  type Environment,
  type Option,
  type Value,
} from "../platform/options.ts";
import type { Command } from "./command.ts";
import { option, serverSettings } from "./flags.ts";
import { nearest } from "./nearest.ts";
import { printWarning } from "./terminal.ts";

/** What a command goes by besides its flags and the environment. */
export interface ReadSettings {
  readonly file: ConfigFile | null;
  /** The service's file, where nobody named another and the folder is the service's. */
  readonly servicePath: string | null;
  /** Why the file is not read; only a command that examines settings goes on with one. */
  readonly fault: Misuse | null;
}

type Flags = Readonly<Record<string, Value | undefined>>;

/** The one place that decides which settings file a command reads. */
export function readSettings(
  command: Command,
  flags: Flags,
  environment: Environment,
): ReadSettings {
  const named = flags["config"] ?? environment[twinOf(option.config)];
  const isNamed = typeof named === "string" && named !== "";
  const servicePath = isNamed ? null : serviceSettingsFor(command, flags, environment);
  const path = isNamed ? named : servicePath;
  if (path === null) return { file: null, servicePath, fault: null };
  let text: string | null = null;
  try {
    text = textOf(path, isNamed);
    return { file: parseConfig(path, text, serverSettings), servicePath, fault: null };
  } catch (error) {
    if (!(error instanceof Misuse)) throw error;
    if (text === null && isNamed) throw error;
    if (command.examinesSettings === true) return { file: null, servicePath, fault: error };
    // A running service does not depend on what the file says now, nor does a backup of its folder.
    const usesNoneOfIt = !command.options.some(({ name }) => name === option.listen.name);
    const isKnown = text !== null && leavesFolderAlone(text);
    if (isNamed || !usesNoneOfIt || !isKnown) throw error;
    printWarning(`${error.message}; the service will not start with it`);
    return { file: null, servicePath, fault: null };
  }
}

/** Null: the command reads no settings, its folder is not the service's, or there is no file. */
function serviceSettingsFor(
  { options }: Command,
  flags: Flags,
  environment: Environment,
): string | null {
  if (!options.some(({ name }) => name === option.config.name)) return null;
  const said = flags["data"] ?? (environment[twinOf(option.data)] || undefined);
  const folder = typeof said === "string" ? resolve(said) : defaultDataFolder(environment);
  return folder === SERVICE_DATA && hasServiceSettings() ? SERVICE_SETTINGS : null;
}

function textOf(path: string, isNamed: boolean): string {
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
const leavesFolderAlone = (text: string): boolean =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => /^["']?(?:data|identity)\b/.test(line))
    .every((line) => line === `data = ${JSON.stringify(SERVICE_DATA)}`);

/** A TOML file of settings. An unknown key, or a wrong value, is refused with its line. */
export function parseConfig(path: string, text: string, options: readonly Option[]): ConfigFile {
  const known = new Map(options.filter(({ setting }) => setting).map((one) => [keyOf(one), one]));
  const values = new Map<string, Value>();
  for (const [written, value] of Object.entries(parseToml(path, text))) {
    const at = `${path}${lineSuffix(lineOfKey(text, written))}`;
    const key = written.replaceAll("-", "_");
    const found = known.get(key);
    if (found === undefined) throw unknownKey(at, written, value, [...known.keys()]);
    // A count is a number in TOML and digits everywhere else.
    const given = Number.isInteger(value) && found.type === "string" ? String(value) : value;
    if (!fits(found, given)) throw wrongType(at, key, found);
    const wrong = found.check?.(given) ?? null;
    if (wrong !== null) throw new Misuse(`${at}: ${key} ${wrong.wrong}`, wrong.hint);
    values.set(key, given);
  }
  return { path, values };
}

/** In the words of the setting itself, where nothing of another type could be right. */
function wrongType(at: string, key: string, { type, value = "", check }: Option): Misuse {
  const wrong = type === "string" ? (check?.("") ?? null) : null;
  if (wrong !== null) return new Misuse(`${at}: ${key} ${wrong.wrong}`, wrong.hint);
  const { expected, example } = FORMS[type];
  return new Misuse(`${at}: ${key} must be ${expected}`, `for example ${key} = ${example(value)}`);
}

const FORMS = {
  string: { expected: "a string", example: (value: string) => `"${value}"` },
  boolean: { expected: "true or false", example: () => "true" },
  list: { expected: "a list of strings", example: (value: string) => `["${value}"]` },
} as const;

function fits({ type }: Option, value: unknown): value is Value {
  if (type !== "list") return typeof value === type;
  return Array.isArray(value) && value.every((part) => typeof part === "string");
}

function unknownKey(at: string, key: string, value: unknown, known: readonly string[]): Misuse {
  const isTable = typeof value === "object" && !Array.isArray(value);
  const meant = nearest(key.replaceAll("-", "_"), known);
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
  const index = text.split("\n").findIndex((line) => keyOn(line) === key);
  return index < 0 ? null : index + 1;
}

/** The key, or the name of the table, that a line begins with; quoted or not. */
function keyOn(line: string): string | null {
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
