import { err, ok, type Result } from "../../domain/result.ts";
import type { HandOverFault } from "../../faults/fault-types.ts";
import { log } from "../../platform/log.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import { ignoreUnavailable, LogRefused, type LogLeader } from "../../store/log/shared-log.ts";
import { findSuccessor, SUCCESSOR_MS, RecentProgress, waitForSuccessor } from "./hand-over.ts";
import { HostReports } from "./host-reports.ts";
import { LeadershipProblem } from "./leadership-problem.ts";
import { LeadershipListeners, type LeadershipListener } from "./leadership-listeners.ts";
import type { LeadershipOptions, LeadershipStatus, Role } from "./leadership-types.ts";
import { ObservedTerm, Term } from "./term.ts";
import { requireMember } from "./require-member.ts";
import type { Pair } from "../../domain/model/pair/pair.ts";

/** How long replies are sent after the last change of a planned end is durable. */
const REPLIES_MS = 20;
/** The log can still be used, or can be used again. */
const CAN_LEAD_AFTER = new Set(["standby", "log_unavailable"]);

/**
 * Decides which of the two hosts answers. The row of the leader in the log is the only thing they
 * agree by. A host answers only as long as its term certainly lasts.
 */
export class Leadership {
  readonly #options: LeadershipOptions;
  readonly #reports: HostReports;
  readonly #sleep: typeof Bun.sleep;
  readonly #progress = new RecentProgress();
  readonly #term: Term;
  readonly #observed = new ObservedTerm();
  readonly #listeners = new LeadershipListeners();
  #role: Role = UNKNOWN_LEADER;
  #observedEpoch: number | null = null;
  readonly #failed = new FailedAttempt();
  #timer: Timer | null = null;
  #step: Promise<void> = Promise.resolve();
  /** Resolves when the store refuses changes and none is under way. */
  #settled: Promise<void> = Promise.resolve();
  /** Since the start of this process; it may have been this one. */
  #hasSeenLeader = false;
  /** Aborted: this host is about to end. */
  readonly #stopping = new AbortController();
  #isEnding = false;
  readonly #problem: LeadershipProblem;

  constructor(options: LeadershipOptions) {
    this.#options = options;
    this.#sleep = options.sleep ?? Bun.sleep;
    const { bootMs, termMs } = options;
    this.#term = new Term({ termMs, bootMs, onLapse: () => this.checkTerm() });
    this.#reports = new HostReports(options);
    this.#problem = new LeadershipProblem(bootMs);
  }

  get role(): Role {
    return this.mayAnswer() || this.#role.role === "standby" ? this.#role : UNKNOWN_LEADER;
  }

  get problem(): string | null {
    return this.#problem.text;
  }

  /** Without a statement: from what was read in the last seconds. */
  status(): LeadershipStatus {
    const { host, url } = this.#options;
    return {
      host,
      role: this.#role.role,
      mayAnswer: this.mayAnswer(),
      epoch: this.#role.role === "leader" ? this.#role.epoch : this.#observedEpoch,
      leader: this.#role.role === "leader" ? host : this.#role.leader,
      leaderUrl: this.#role.role === "leader" ? url : this.#role.url,
      problem: this.#problem.text,
      isLogAway: this.#problem.isLogAway,
      hosts: this.#reports.hosts,
      database: this.#reports.database,
    };
  }

  /** Checked before a reply is sent, after everything that the request waited for. */
  mayAnswer(): boolean {
    return this.#role.role === "leader" && this.#term.isLasting;
  }

  /** Checked before a request is handled. Before a planned end, those under way are answered. */
  mayAccept(): boolean {
    return !this.#isEnding && this.mayAnswer();
  }

  /** In the order in which they were added; `end` in the same order. */
  addListener(listener: LeadershipListener): void {
    this.#listeners.add(listener);
  }

  start(): void {
    this.#schedule(0);
    this.#reports.start();
  }

  /** Gives the leadership to the other host, and resolves when that host leads. */
  async handOver(): Promise<Result<{ readonly leader: string }, HandOverFault | StorageFault>> {
    if (!this.mayAnswer()) return err({ code: "standby" });
    const chosen = await findSuccessor(this.#options, this.#reports, this.#progress);
    if (!chosen.ok) return chosen;
    const { successor } = chosen.value;
    const end = await this.#release(successor, SUCCESSOR_MS);
    if (!end.ok) return end;
    return (await waitForSuccessor({ ...this.#options, sleep: this.#sleep }, successor, end.value))
      ? ok({ leader: successor })
      : err({ code: "hand_over_refused", reason: "not_taken", host: successor });
  }

  /** Stops leading; the other host may lead at once. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer ?? undefined);
    await this.#release(null, 0);
    await this.#reports.stop();
  }

  /** One step: follows or renews, and leads if it may. */
  step(): Promise<void> {
    return this.#exclusively(() => (this.#role.role === "leader" ? this.#renew() : this.#follow()));
  }

  /** Ends the term of this host when its time is over, also while a statement is waited for. */
  checkTerm(): void {
    if (this.#role.role !== "leader" || this.mayAnswer()) return;
    this.#endTerm({ code: "log_unavailable" });
  }

  #schedule(delay: number): void {
    if (this.#stopping.signal.aborted) return;
    this.#timer = setTimeout(() => {
      void this.step().then(() => this.#schedule(this.#options.pollMs));
    }, delay);
  }

  /** One thing at a time. What fails is noted, and the next step tries again. */
  #exclusively(work: () => Promise<void>): Promise<void> {
    this.#step = this.#step.then(work).then(
      () => {
        const { store, bootMs } = this.#options;
        const { aborted: isStopped } = this.#stopping.signal;
        if (!isStopped && this.#failed.isOver(bootMs(), store.status().seq)) this.#problem.end();
      },
      (error: unknown) => this.#problem.note(error, this.#reports.standbyProblem),
    );
    return this.#step;
  }

  async #renew(): Promise<void> {
    const { store, bootMs } = this.#options;
    if (this.#role.role !== "leader") return;
    const { epoch } = this.#role;
    const { fault, seq } = store.status();
    this.#progress.add({ at: bootMs(), seq });
    if (fault !== null) return this.#giveUp(epoch, fault);
    this.checkTerm();
    if (this.mayAnswer() && this.#term.isRenewalDue) await this.#extendTerm(epoch);
  }

  /** Extends the term in the log; this host answers as if the renewal came when it was sent. */
  async #extendTerm(epoch: number): Promise<void> {
    const { log: shared, bootMs, termMs } = this.#options;
    const sentAt = bootMs();
    const isRenewed = await shared.renew(epoch, termMs);
    // The term may have ended while the reply was on its way.
    if (this.#role.role !== "leader" || this.#role.epoch !== epoch) return;
    if (isRenewed) this.#term.extend(sentAt);
    else this.#endTerm({ code: "standby" });
  }

  async #follow(): Promise<void> {
    const { store, log: shared, host, bootMs, termMs } = this.#options;
    await this.#settled;
    // A stop does not wait until this host has read all lines of a week.
    const row = (await store.follow(this.#stopping.signal)) ?? (await shared.readLeader());
    this.#observedEpoch = row.epoch;
    this.#observed.note(row, bootMs());
    this.#hasSeenLeader ||= row.remainingMs > 0;
    this.#role = findOtherLeader(
      row,
      host,
      store.peek(({ pair }) => pair),
    );
    if (!this.#mayClaim(row)) return;
    const isStart = !this.#hasSeenLeader;
    const sentAt = bootMs();
    const claimed = await shared.claimTerm(termMs, row.term);
    this.#hasSeenLeader = true;
    if (claimed === null) return;
    this.#options.clock?.lead(isStart);
    await this.#lead(claimed.epoch, sentAt);
  }

  #mayClaim({ holder, isOwn, successor }: LogLeader): boolean {
    const { host, store, log, bootMs } = this.#options;
    if (this.#stopping.signal.aborted || !this.#failed.isNextDue(bootMs())) return false;
    // It may be a term of this process, if the outcome of a write or of a claim is not known.
    const isOver = holder === null || isOwn || this.#observed.hasLapsed(bootMs());
    if (!isOver || (successor !== null && successor !== host)) return false;
    const { fault } = store.status();
    if (fault !== null && !CAN_LEAD_AFTER.has(fault.code)) return false;
    const { pair, endedPair } = store.peek((state) => state);
    if (pair === null && endedPair?.log === log.id)
      throw new Error(`the pair has ended: host ${endedPair.host} serves alone`);
    requireMember(pair, this.#options);
    return true;
  }

  /** The term was claimed at `sentAt`. Nothing is answered before everything here succeeded. */
  async #lead(epoch: number, sentAt: number): Promise<void> {
    const { store, log: shared, host, hardwareId, hardware, bootMs, termMs } = this.#options;
    const names = { log: shared.id, host, hardwareId, hardware };
    try {
      const led = await store.lead(epoch, { type: "ChangeLeader", epoch, ...names });
      const { appendError, seq } = store.status();
      if (!led.ok && appendError instanceof LogRefused) {
        this.#failed.noteRefusal(seq);
        throw appendError;
      }
      if (!led.ok) return await this.#giveUp(epoch, led.fault);
      await this.#listeners.begin(epoch);
      this.#term.extend(sentAt);
      // Before it answers: what was done first may have taken the whole term.
      if (this.#term.isRenewalDue) {
        const renewedAt = bootMs();
        if (!(await shared.renew(epoch, termMs)))
          return await this.#giveUp(epoch, { code: "standby" });
        this.#term.extend(renewedAt);
      }
    } catch (error) {
      await this.#giveUp(epoch, { code: "internal_error" });
      throw error;
    }
    const { fault } = store.status();
    if (fault !== null) return this.#giveUp(epoch, fault);
    this.#role = { role: "leader", epoch };
    log.info("this host leads the pair", { epoch });
  }

  /** From here on this host answers nothing. */
  #endTerm(fault: { readonly code: string }): void {
    const { store } = this.#options;
    const { appendError } = store.status();
    const problem = appendError === null ? {} : { problem: appendError.message };
    if (this.#role.role === "leader")
      log.warn("this host no longer leads the pair", { reason: fault.code, ...problem });
    this.#term.end();
    this.#role = UNKNOWN_LEADER;
    this.#isEnding = false;
    this.#options.clock?.follow();
    const isOfStore = fault.code === "log_unavailable" || fault.code === "storage_full";
    this.#settled = store.stopLeading({ code: isOfStore ? fault.code : "standby" });
    this.#settled.catch(() => {});
    this.#listeners.end();
  }

  /** Ends the term, also in the log, unless this host can go on with a new epoch. */
  async #giveUp(epoch: number, fault: { readonly code: string }): Promise<void> {
    this.#endTerm(fault);
    await this.#settled;
    // The outcome of a write is not known: only this host can find it out at once.
    if (fault.code === "log_unavailable") return;
    const { bootMs, termMs } = this.#options;
    if (fault.code !== "standby") this.#failed.delayNext(bootMs() + termMs);
    // If the log cannot be reached, the term ends by itself.
    await this.#options.log.release(epoch, null, 0).catch(ignoreUnavailable);
  }

  /** Accepts nothing new. What was decided before is made durable and answered. */
  async #finishRequests(): Promise<void> {
    await this.#listeners.finish();
    this.#isEnding = true;
    this.#settled = this.#options.store.stopLeading({ code: "standby" });
    await this.#settled.catch(() => {});
    await this.#sleep(REPLIES_MS);
  }

  /** Returns the last line of this term. Another hand-over may have ended it. */
  async #release(successor: string | null, successorMs: number) {
    let end: Result<number, StorageFault> = err({ code: "standby" });
    const { log, store } = this.#options;
    await this.#exclusively(async () => {
      if (this.#role.role !== "leader") return;
      const { epoch } = this.#role;
      end = err({ code: "log_unavailable" });
      await this.#finishRequests();
      this.#endTerm({ code: "standby" });
      await this.#settled;
      await log.release(epoch, successor, successorMs);
      end = ok(store.status().seq);
    });
    return end as Result<number, StorageFault>;
  }
}

/** The last attempt to lead that failed: when another one may follow, and until when it counts. */
class FailedAttempt {
  #claimsFrom = -Infinity;
  /** The last line when the database refused the next one; null: it has more by now. */
  #refusedAfter: number | null = null;

  /** Until then the other host has a chance. */
  delayNext(until: number): void {
    this.#claimsFrom = until;
  }

  /** The database refused the line after this one. */
  noteRefusal(seq: number): void {
    this.#refusedAfter = seq;
  }

  isNextDue(now: number): boolean {
    return now >= this.#claimsFrom;
  }

  /** If not, why the attempt failed still counts, although this host can read the log. */
  isOver(now: number, seq: number): boolean {
    if (seq !== this.#refusedAfter) this.#refusedAfter = null;
    return this.isNextDue(now) && this.#refusedAfter === null;
  }
}

const UNKNOWN_LEADER: Role = { role: "standby", leader: null, url: null };

/**
 * Which other host leads, as a host on standby knows it after it read all lines. A host that has
 * the term leads only once its first line is in the log: the database may not accept it.
 */
function findOtherLeader(row: LogLeader, host: string, pair: Pair | null): Role {
  const { holder: leader, url, epoch, remainingMs } = row;
  const leads = remainingMs > 0 && leader !== host && pair?.epoch === epoch;
  return leads ? { role: "standby", leader, url } : UNKNOWN_LEADER;
}
