import { MINUTE } from "../../domain/time.ts";
import { messageOfError } from "../../platform/error-message.ts";
import { log } from "../../platform/log.ts";
import { FolderRefused } from "../../store/folder/refusal.ts";
import { StorageError, type StorageFault } from "../../store/journal/storage-fault.ts";
import { LogUnavailable } from "../../store/log/shared-log.ts";

/** A database that is away for an hour fails five times a second, each time with another text. */
const REPEAT_MS = MINUTE;

const CANNOT_LEAD = "this host can neither lead nor follow";

/** What keeps a host from leading and from following. The log gets its beginning and its end. */
export class LeadershipProblem {
  readonly #bootMs: () => number;
  #text: string | null = null;
  #isLogAway = false;
  /** The last one that was written to the log; null: that it ended was written, too. */
  #logged: { readonly text: string; readonly isLogAway: boolean } | null = null;
  #loggedAt = -Infinity;
  #wasLogAway = false;

  constructor(bootMs: () => number) {
    this.#bootMs = bootMs;
  }

  /** Null: there is none. */
  get text(): string | null {
    return this.#text;
  }

  /** Whether the problem is that the log cannot be used: no host can answer. */
  get isLogAway(): boolean {
    return this.#isLogAway;
  }

  /** `cause`: what is known besides of a log that is away. */
  note(error: unknown, cause: string | null = null): void {
    this.#isLogAway = error instanceof LogUnavailable;
    this.#text = `${describe(error)}${this.#isLogAway && cause !== null ? `: ${cause}` : ""}`;
    if (this.#text === this.#logged?.text) return;
    const isSameKind = this.#isLogAway === this.#wasLogAway;
    if (isSameKind && this.#bootMs() - this.#loggedAt < REPEAT_MS) return;
    this.#logged = { text: this.#text, isLogAway: this.#isLogAway };
    this.#loggedAt = this.#bootMs();
    this.#wasLogAway = this.#isLogAway;
    if (this.#isLogAway) log.warn("the log of the pair cannot be used", { problem: this.#text });
    else log.error(CANNOT_LEAD, { problem: this.#text, ...explain(error) });
  }

  /** A step succeeded. */
  end(): void {
    this.#text = null;
    this.#isLogAway = false;
    if (this.#logged === null) return;
    if (this.#logged.isLogAway) log.info("the log of the pair can be used again");
    else log.info("this host can lead and follow again");
    this.#logged = null;
  }
}

const DISK_PROBLEMS: Partial<Record<StorageFault["code"], string>> = {
  storage_full: "the disk of this host is full, so it cannot copy the lines of the pair",
  storage_failed: "the disk of this host failed, so it cannot copy the lines of the pair",
};

const describe = (error: unknown): string =>
  (error instanceof StorageError ? DISK_PROBLEMS[error.fault.code] : undefined) ??
  messageOfError(error);

/** What helps the operator; of an unexpected error, where it happened. */
function explain(error: unknown): object {
  if (error instanceof FolderRefused) return { hint: error.hint };
  return error instanceof StorageError ? {} : { error };
}
