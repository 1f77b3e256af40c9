import { err, ok, type Result } from "../../domain/result.ts";
import type { HandOverFault } from "../../faults/fault-types.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import { LogUnavailable, type HostRow, type SharedLog } from "../../store/log/shared-log.ts";
import { MAX_SKEW_MS } from "./clock-skew.ts";
import type { HostReports } from "./host-reports.ts";
import type { LeadershipOptions } from "./leadership-types.ts";

/** A host reports every two seconds. */
const SILENT_MS = 6_000;
/** A host that follows reads the log several times in this time. */
const MAX_LAG_MS = 3_000;

/** How long only the successor may lead after a hand-over. */
export const SUCCESSOR_MS = 5_000;
/** How often it is looked whether the successor leads. */
const WAIT_MS = 50;

/** How far the log had come at a time of the boot clock. */
interface Progress {
  readonly at: number;
  readonly seq: number;
}

/** How far this host was in the last seconds, to judge how far another one is behind. */
export class RecentProgress {
  #readings: Progress[] = [];

  add(reading: Progress): void {
    const last = this.#readings.at(-1);
    if (last !== undefined && reading.at - last.at < 100) return;
    this.#readings.push(reading);
    const oldest = reading.at - SILENT_MS - MAX_LAG_MS - 1_000;
    if ((this.#readings[0]?.at ?? oldest) < oldest) {
      this.#readings = this.#readings.filter(({ at }) => at >= oldest);
    }
  }

  /** The line that was the last one at that time; 0: it is not known. */
  seqAt(time: number): number {
    return this.#readings.findLast(({ at }) => at <= time)?.seq ?? 0;
  }
}

interface HandOverFacts {
  readonly host: string;
  /** The hosts that were admitted. */
  readonly members: readonly string[];
  readonly hosts: readonly HostRow[];
  readonly progress: RecentProgress;
  /** When the rows were read, by the boot clock. */
  readonly readAt: number;
}

interface Successor {
  readonly successor: string;
}

/** Which host can take over now, by its newest report, or why none can. */
export async function findSuccessor(
  { host, store, bootMs }: Pick<LeadershipOptions, "host" | "store" | "bootMs">,
  reports: HostReports,
  progress: RecentProgress,
): Promise<Result<Successor, HandOverFault | StorageFault>> {
  try {
    const hosts = await reports.refresh();
    const members = store.peek(({ pair }) => [...(pair?.hosts.keys() ?? [])]);
    const chosen = chooseSuccessor({ host, members, hosts, progress, readAt: bootMs() });
    return "successor" in chosen ? ok(chosen) : err(chosen);
  } catch (error) {
    if (!(error instanceof LogUnavailable)) throw error;
    return err({ code: "log_unavailable" });
  }
}

export function chooseSuccessor(facts: HandOverFacts): Successor | HandOverFault {
  const { host, members, hosts, progress, readAt } = facts;
  const leader = hosts.find((row) => row.host === host);
  const successor = members.find((name) => name !== host);
  if (successor === undefined) return { code: "hand_over_refused", reason: "alone", host: null };
  const other = hosts.find((row) => row.host === successor);
  const refuse = (reason: HandOverFault["reason"]): HandOverFault => ({
    code: "hand_over_refused",
    reason,
    host: successor,
  });
  if (other === undefined || other.ageMs > SILENT_MS) return refuse("silent");
  if (other.head.seq < progress.seqAt(readAt - other.ageMs - MAX_LAG_MS)) return refuse("behind");
  const skew = Math.abs(other.clockAheadMs - (leader?.clockAheadMs ?? 0));
  if (skew > MAX_SKEW_MS) return refuse("skew");
  return { successor };
}

interface WaitOptions {
  readonly log: SharedLog;
  readonly bootMs: () => number;
  readonly sleep: (milliseconds: number) => Promise<void>;
}

/** Whether the successor leads before its time is over; `end` is the last line of the leader before. */
export async function waitForSuccessor(
  { log, bootMs, sleep }: WaitOptions,
  successor: string,
  end: number,
): Promise<boolean> {
  const deadline = bootMs() + SUCCESSOR_MS;
  while (bootMs() < deadline) {
    const row = await log.readLeader().catch(() => null);
    // Its first line is in the log: it answers.
    if (row?.holder === successor && row.seq > end) return true;
    await sleep(WAIT_MS);
  }
  return false;
}
