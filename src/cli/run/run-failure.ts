import { Failure } from "../frame/command.ts";

/** The exit codes of `sysexits.h`, and those of a shell that cannot start a command. */
export const EXIT_RUN_MISUSE = 64;
const EXIT_NO_SERVER = 69;
const EXIT_NO_SLOT = 75;
const EXIT_REFUSED = 77;
const EXIT_CANNOT_START = 126;
const EXIT_NOT_FOUND = 127;

const EXIT_CODES = {
  no_server: EXIT_NO_SERVER,
  tls_failed: EXIT_NO_SERVER,
  no_slot: EXIT_NO_SLOT,
  refused: EXIT_REFUSED,
  cannot_start: EXIT_CANNOT_START,
  not_found: EXIT_NOT_FOUND,
} as const;

/** Why `berth run` did not run its command. */
export class RunFailure extends Failure {
  override readonly name = "RunFailure";
  override readonly exitCode: number;

  constructor(reason: keyof typeof EXIT_CODES, message: string, hint: string) {
    super(message, hint);
    this.exitCode = EXIT_CODES[reason];
  }
}
