import type { ExhaustiveBug } from "../detect-bugs.ts";

const PAIR = "test/exhaustive/pair/pair.slow.ts";

export const PAIR_BUGS: readonly ExhaustiveBug[] = [
  {
    name: "a leader answers for two terms after its last renewal",
    in: "Term.extend",
    find: "sentAt + termMs - Math.min(MAX_MARGIN_MS, termMs * MARGIN_SHARE)",
    replace: "sentAt + 2 * termMs",
    caughtBy: PAIR,
    breaks: "a grant after the end of a term",
  },
  {
    name: "a leader answers for a term from the reply to its renewal on",
    in: "Leadership.#extendTerm",
    find: "this.#term.extend(sentAt)",
    replace: "this.#term.extend(bootMs())",
    caughtBy: PAIR,
    breaks: "a grant after the end of a term",
  },
  {
    name: "a host that follows claims a term that it has only just seen",
    in: "ObservedTerm.note",
    find: "receivedAt + termMs",
    replace: "receivedAt",
    caughtBy: PAIR,
    breaks: "two hosts answer at the same time",
  },
  {
    name: "a host grants slots until it notices that its term is over",
    in: "Leadership.mayAnswer",
    find: 'this.#role.role === "leader" && this.#term.isLasting',
    replace: 'this.#role.role === "leader"',
    caughtBy: PAIR,
    breaks: "a grant after the end of a term",
  },
  {
    name: "a change is acknowledged although nobody knows whether the log has it",
    in: "LogBatchWriter.#append",
    find: 'throw new StorageError({ code: "log_unavailable" }, $error);',
    replace: "return;",
    caughtBy: PAIR,
    breaks: "an acknowledged change is not in the log",
  },
  {
    name: "a host keeps a change that the log refused",
    in: "LogBatchWriter.#append",
    find: "!isAppended",
    replace: "false",
    caughtBy: PAIR,
    breaks: "cannot follow the log",
  },
  {
    name: "a host does not apply the changes of the other one",
    in: "LiveState.applyLine",
    find: "for (const $event of $line.events) evolve(this.#state, $event);",
    replace: ";",
    caughtBy: PAIR,
    breaks: "a read is stale",
  },
];
