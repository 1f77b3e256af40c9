import type { Environment } from "../../platform/environment.ts";
import type { ConfigFile, Misuse, Option, ResolvedOption } from "./options.ts";

/** One row of the command table, from which help, completions and dispatch are derived. */
export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly Option[];
  readonly examples?: readonly string[];
  /** Values that one of its flags accepts, if they are too many for the help line of the flag. */
  readonly valueList?: { readonly title: string; readonly values: readonly string[] };
  /** Listed on the first help screen. */
  readonly isCommon?: boolean;
  /** Started by Berth itself, so help does not list it. */
  readonly isHidden?: boolean;
  /** Names of the positional arguments; absent: the command takes none. */
  readonly arguments?: readonly string[];
  /**
   * All words after `--` are the command line of another program. Standard output belongs to that
   * program, so errors are never printed there, and this is the exit code of a misuse.
   */
  readonly wrapsProgram?: { readonly misuseExitCode: number };
  /** Its settings are those of this command, whose help describes them. */
  readonly hasSettingsOf?: "serve";
  /** The command also runs with an invalid settings file, and reports what is wrong with it. */
  readonly canRunWithInvalidSettings?: boolean;
  /**
   * How a failure of this command is printed on standard output, and its exit code; absent: as the
   * failures of all other commands.
   */
  readonly describeFailure?: (refusal: FailedRefusal) => {
    readonly text: string;
    readonly exitCode: number;
  };
  readonly run: (invocation: Invocation) => Promise<number>;
}

/** What is known of a failure. */
export interface FailedRefusal {
  readonly statement: string;
  readonly hint: string;
}

/** One command line: its options, resolved, and what it was started with. */
export interface Invocation {
  readonly values: ReadonlyMap<string, ResolvedOption>;
  readonly positionals: readonly string[];
  readonly environment: Environment;
  readonly platform: NodeJS.Platform;
  /** The settings file; null: there is none, or it could not be used. */
  readonly settingsFile: ConfigFile | null;
  /** Why the settings file could not be used; null: it was read, or there is none. */
  readonly settingsError: Misuse | null;
}

export const EXIT_OK = 0;
export const EXIT_FAILURE = 1;
export const EXIT_USAGE = 2;
/** All else was done, but a person must decide something. */
export const EXIT_NEEDS_DECISION = 3;
/** The code with which a shell reports a process that was ended by Ctrl-C. */
export const EXIT_INTERRUPTED = 130;
/** The data folder needs an operator; a service manager should not try again. */
export const EXIT_NEEDS_OPERATOR = 78;

/** Commands by purpose. No group has the name of a command, because `berth help` accepts both. */
export interface CommandGroup {
  readonly name: string;
  readonly title: string;
  readonly commands: readonly Command[];
  /** How the commands belong together; printed after their list. */
  readonly about?: string;
}

/** The command line is valid, but the command was refused or failed: mostly exit code 1. */
export class Failure extends Error {
  override readonly name: string = "Failure";
  readonly hint: string;
  /** The code for `--json`; null: that of all failures. */
  readonly code: string | null;
  readonly exitCode: number = EXIT_FAILURE;

  constructor(message: string, hint: string, code: string | null = null) {
    super(message);
    this.hint = hint;
    this.code = code;
  }
}

/** The server refused what a command requested. Its code is printed after the message. */
export class ServerRefused extends Failure {
  override readonly name = "ServerRefused";
  /** The message without the code. */
  readonly statement: string;

  constructor(code: string, statement: string, hint: string) {
    super(`${statement} (${code})`, hint, code);
    this.statement = statement;
  }
}
