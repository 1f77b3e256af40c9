import { Misuse, type Environment, type Option, type Resolved } from "../platform/options.ts";

/** One row of the command table: help, completions and dispatch are all made of these. */
export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly Option[];
  readonly examples?: readonly string[];
  /** Words that one of its flags takes, too many for the line of the flag. */
  readonly words?: { readonly title: string; readonly list: readonly string[] };
  /** Named on the first screen. */
  readonly everyday?: boolean;
  /** Started by Berth itself, not by people. */
  readonly hidden?: boolean;
  /** Words after the name; none unless it says so. */
  readonly arguments?: readonly string[];
  /** It runs with a settings file that is wrong, too, and says what is wrong with it. */
  readonly examinesSettings?: boolean;
  readonly run: (given: Given) => Promise<number>;
}

export interface Given {
  readonly values: ReadonlyMap<string, Resolved>;
  readonly words: readonly string[];
  readonly environment: Environment;
  readonly platform: NodeJS.Platform;
  /** Why the settings file was not read; null or absent: it was, or there is none. */
  readonly settingsFault?: Misuse | null;
}

export const DONE = 0;
export const FAILED = 1;
export const MISUSED = 2;
/** As a shell reports a process that Ctrl-C ended. */
export const INTERRUPTED = 130;
/** The data folder needs an operator; a service manager should not try again. */
export const NEEDS_OPERATOR = 78;

export function stringOf({ values }: Given, name: string): string | null {
  const value = values.get(name)?.value;
  return typeof value === "string" ? value : null;
}

/** A full path. An empty name would mean the working folder, which it never is. */
export function dataFolder(given: Given): string {
  const folder = stringOf(given, "data");
  if (folder === null || folder === "") {
    throw new Misuse("--data requires a folder", "for example --data /srv/berth");
  }
  return folder;
}

/** Which folder, and what stands for the machine's hardware if something must. */
export const place = (given: Given) => ({
  folder: dataFolder(given),
  named: stringOf(given, "identity"),
  environment: given.environment,
});

export function listOf({ values }: Given, name: string): readonly string[] {
  const value = values.get(name)?.value;
  return Array.isArray(value) ? (value as readonly string[]) : [];
}

export const isSet = ({ values }: Given, name: string): boolean => values.get(name)?.value === true;

/** It was understood and could not be done: exit code 1. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly hint: string;
  /** The server's, where the server refused. */
  readonly code: string | null;

  constructor(message: string, hint: string, code: string | null = null) {
    super(message);
    this.hint = hint;
    this.code = code;
  }
}
