import { SECOND } from "../../domain/time.ts";
import type { Refused, Slot, Unanswered } from "./claim-reply.ts";
import { TAKEOVER_TIME, type LicenseClient } from "./license-client.ts";
import { pause, withJitter } from "./pause.ts";
import { RunFailure } from "./run-failure.ts";

export interface ClaimOptions {
  readonly product: string;
  /** How long to wait for a slot, in milliseconds; 0: not at all. */
  readonly wait: number;
  /** The longest that one call waits, in seconds: shorter calls show the position more often. */
  readonly secondsPerCall: number;
  readonly signal: AbortSignal;
  readonly report: (text: string) => void;
}

/** Refusals that end when slots are released; all others would be repeated. */
const CAN_BE_WAITED_FOR: ReadonlySet<string> = new Set(["floating_not_available", "slots_capped"]);

/** A pause after a refusal of a server that has no queue, or whose queue is full. */
const POLL_PAUSE = 5 * SECOND;
const MAX_PAUSE = 15 * SECOND;

/**
 * Takes a slot, and waits for it as long as that may take. A call holds the place in the queue, so
 * the next call follows at once, unless the server answered without waiting.
 */
export async function claimSlot(client: LicenseClient, options: ClaimOptions): Promise<Slot> {
  const { product, wait, secondsPerCall, signal, report } = options;
  const startedAt = performance.now();
  const deadline = startedAt + wait;
  // Without a wait, a server has all the time that it may take to answer.
  const end = wait === 0 ? Infinity : deadline;
  let isReached = false;
  let failures = 0;
  for (;;) {
    const sentAt = performance.now();
    const remaining = Math.floor(Math.max(0, deadline - sentAt) / SECOND);
    // The first call tells the position at once, and whether the server answers at all.
    const seconds = isReached ? Math.min(remaining, secondsPerCall) : 0;
    const outcome = await client.register(wait === 0 ? null : seconds, signal, end);
    if (outcome.kind === "granted") return outcome.slot;
    const answeredAt = performance.now();
    const hasEnded = answeredAt >= deadline;
    if (outcome.kind === "unanswered") {
      if (outcome.tlsFaults.length > 0) throw tlsFailed(outcome);
      // A takeover is waited for in any case: it is no reason to fail a job.
      const lastTry = outcome.isTakeover ? Math.max(deadline, startedAt + TAKEOVER_TIME) : deadline;
      if (answeredAt >= lastTry) throw noServer(outcome);
      isReached = false;
      failures += 1;
      report(`waiting for a server: ${outcome.reasons.join("; ")}`);
      await pause(Math.min(backoff(failures), lastTry - answeredAt), signal);
      continue;
    }
    if (!CAN_BE_WAITED_FOR.has(outcome.code)) throw refused(outcome);
    if (hasEnded) throw noSlot(product, wait, outcome);
    failures = 0;
    report(describeWait(product, outcome));
    const wasHeld = isReached && seconds > 0 && answeredAt - sentAt >= SECOND;
    const isQueued = outcome.queue !== null && (wasHeld || !isReached);
    isReached = true;
    if (isQueued) continue;
    const interval = withJitter(outcome.retryAfter ?? POLL_PAUSE);
    await pause(Math.min(interval, MAX_PAUSE, deadline - answeredAt), signal);
  }
}

/** 1, 2, 4, 8, then 15 seconds, up to a third less. */
export const backoff = (failures: number): number =>
  withJitter(Math.min(2 ** (failures - 1) * SECOND, MAX_PAUSE));

function describeWait(product: string, { message, queue }: Refused): string {
  if (queue === null) return `waiting for a slot of ${product}: ${message}`;
  const { position, length, eta } = queue;
  const likely = eta === null ? "" : `, likely by ${formatClock(eta.p90)}`;
  return `waiting for a slot of ${product}: position ${position} of ${length}${likely}`;
}

/** The time of day here, with the day if it is not today; the time as it is if it is none. */
export function formatClock(time: string): string {
  try {
    const zone = Temporal.Now.timeZoneId();
    // Rounded up: a slot that is expected before 11:30:40 is not expected before 11:30.
    const at = Temporal.Instant.from(time)
      .toZonedDateTimeISO(zone)
      .round({ smallestUnit: "minute", roundingMode: "ceil" });
    const isToday = at.toPlainDate().equals(Temporal.Now.plainDateISO(zone));
    const clock = at.toPlainTime().toString({ smallestUnit: "minute" });
    return isToday ? clock : `${at.toPlainDate().toString()} ${clock}`;
  } catch {
    return time;
  }
}

const noServer = ({ reasons }: Unanswered): RunFailure =>
  new RunFailure(
    "no_server",
    `no server answered: ${reasons.join("; ")}`,
    "name the server's address with --server or BERTH_SERVER; --wait also waits for a server",
  );

const tlsFailed = ({ reasons, tlsFaults }: Unanswered): RunFailure => {
  const hints = new Set(tlsFaults.map(({ hint }) => hint));
  return new RunFailure("tls_failed", reasons.join("; "), [...hints].join("; "));
};

const noSlot = (product: string, wait: number, { message, code, hint }: Refused): RunFailure =>
  new RunFailure(
    "no_slot",
    wait === 0
      ? `no slot of ${product} is free: ${message} (${code})`
      : `no slot of ${product} became free in time: ${message} (${code})`,
    wait === 0 ? "wait for a slot with --wait, for example --wait 2h" : hint,
  );

/** What helps here; the hints of the server are for commands that administer it. */
const HINTS = new Map([
  ["unauthorized", "log in with --login NAME and --password-file FILE"],
  ["tls_required", "name the TLS address of the server, for example --server https://HOST:8443"],
]);

const refused = ({ server, message, code, hint }: Refused): RunFailure =>
  new RunFailure("refused", `${server} refused: ${message} (${code})`, HINTS.get(code) ?? hint);
