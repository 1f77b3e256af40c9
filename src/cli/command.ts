import { Misuse, type Environment, type Option, type ResolvedOption } from "../platform/options.ts";

/** One row of the command table: help, completions and dispatch are all made of these. */
export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly Option[];
  readonly examples?: readonly string[];
  /** Words that one of its flags takes, too many for the line of the flag. */
  readonly valueList?: { readonly title: string; readonly values: readonly string[] };
  /** Named on the first screen. */
  readonly isCommon?: boolean;
  /** Started by Berth itself, not by people. */
  readonly isHidden?: boolean;
  /** Words after the name; none unless it says so. */
  readonly arguments?: readonly string[];
  /** It runs with a settings file that is wrong, too, and says what is wrong with it. */
  readonly canRunWithInvalidSettings?: boolean;
  readonly run: (given: FlagValues) => Promise<number>;
}

export interface FlagValues {
  readonly values: ReadonlyMap<string, ResolvedOption>;
  readonly positionals: readonly string[];
  readonly environment: Environment;
  readonly platform: NodeJS.Platform;
  /** Why the settings file was not read; null or absent: it was, or there is none. */
  readonly settingsError?: Misuse | null;
}

export const EXIT_OK = 0;
export const EXIT_FAILURE = 1;
export const EXIT_USAGE = 2;
/** As a shell reports a process that Ctrl-C ended. */
export const EXIT_INTERRUPTED = 130;
/** The data folder needs an operator; a service manager should not try again. */
export const EXIT_NEEDS_OPERATOR = 78;

export function getStringFlag({ values }: FlagValues, name: string): string | null {
  const value = values.get(name)?.value;
  return typeof value === "string" ? value : null;
}

/** A full path. An empty name would mean the working folder, which it never is. */
export function getDataFolder(given: FlagValues): string {
  const folder = getStringFlag(given, "data");
  if (folder === null || folder === "") {
    throw new Misuse("--data requires a folder", "for example --data /srv/berth");
  }
  return folder;
}

/** Which folder, and what stands for the machine's hardware if something must. */
export const getAdminTarget = (given: FlagValues) => ({
  folder: getDataFolder(given),
  identityName: getStringFlag(given, "identity"),
  environment: given.environment,
});

export function getListFlag({ values }: FlagValues, name: string): readonly string[] {
  const value = values.get(name)?.value;
  return Array.isArray(value) ? (value as readonly string[]) : [];
}

export const isFlagSet = ({ values }: FlagValues, name: string): boolean =>
  values.get(name)?.value === true;

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
