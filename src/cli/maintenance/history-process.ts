import { err, ok } from "../../domain/result.ts";
import { MINUTE } from "../../domain/time.ts";
import { JobQueue } from "../../operations/job-queue.ts";
import type { HistoryFault, HistoryProcess } from "../../operations/usage/history-process.ts";
import type { SiteHistory } from "../../operations/usage/site-history.ts";
import type { Environment } from "../../platform/environment.ts";
import type { HistoryJobHead, HistoryJobInput } from "../commands/usage/history-job.ts";
import { EXIT_OK } from "../frame/command.ts";
import { parseJsonRefusal } from "../frame/json-refusal.ts";
import { option } from "../frame/flags.ts";
import { envName } from "../frame/options.ts";
import { runChild } from "./child-command.ts";
import { toMaintenanceFault } from "./maintenance-fault.ts";
import { withoutBerthVariables } from "./maintenance.ts";

/** A disk that does not answer must not block other jobs. */
const TIME_LIMIT = 30 * MINUTE;

/** So many lines of the audit log are read in a tenth of a second, in short steps. */
const MAX_LINES_IN_SERVER = 5_000;

const LF = 10;

/** Computes replies with the hidden command `history-job`. */
export function createHistoryProcess(
  folder: string,
  environment: Environment,
  history: SiteHistory,
): HistoryProcess {
  const queue = new JobQueue();
  const childEnvironment = {
    ...withoutBerthVariables(environment),
    [envName(option.json)]: "true",
  };
  let share: number | null = null;
  return {
    isNeeded: () => history.auditLogSource().lastSeq > MAX_LINES_IN_SERVER,
    async reply(request, { isCompressed, signal }) {
      return queue.runJob<Uint8Array<ArrayBuffer>, HistoryFault>(signal, async (cancel) => {
        // What was acknowledged is in the files then.
        const now = await history.read((_state, { at }) => at);
        if (!now.ok) return now;
        const job: HistoryJobInput = { folder, now: now.value, isCompressed, request };
        const timeout = AbortSignal.timeout(TIME_LIMIT);
        const signals = AbortSignal.any([cancel, timeout]);
        share = 0;
        const exit = await runChild(["history-job"], childEnvironment, signals, {
          input: JSON.stringify(job),
          onErrorLine: (line) => (share = Number(line)),
        }).finally(() => (share = null));
        if (timeout.aborted && !cancel.aborted) {
          const minutes = TIME_LIMIT / MINUTE;
          const reason = `it took longer than ${minutes} minutes and was stopped`;
          return err({ code: "maintenance_failed", reason });
        }
        if (!exit.ok) return exit;
        const { exitCode, stdout } = exit.value;
        if (exitCode !== EXIT_OK) {
          const refusal = parseJsonRefusal(new TextDecoder().decode(stdout));
          return err(toMaintenanceFault({ exitCode, refusal }));
        }
        const lineEnd = stdout.indexOf(LF);
        const head = JSON.parse(
          new TextDecoder().decode(stdout.subarray(0, lineEnd)),
        ) as HistoryJobHead;
        if (head.unreadableLine !== null) history.noteUnreadableLine(head.unreadableLine);
        return head.fault === null ? ok(stdout.subarray(lineEnd + 1)) : err(head.fault);
      });
    },
    progress: () => (share === null ? null : { share, waiting: queue.waitingCount }),
    stop: () => queue.stop(),
  };
}
