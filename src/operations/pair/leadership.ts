import type { HardwareDigest } from "../../domain/hardware-digest.ts";
import { log } from "../../platform/log.ts";
import { LogUnavailable, type HostLog } from "../../store/log/shared-log.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import type { Store } from "../../store/store.ts";

export interface LeadershipOptions {
  readonly store: Pick<Store, "follow" | "lead" | "stopLeading" | "status">;
  readonly log: HostLog;
  readonly host: string;
  readonly hardwareId: string;
  readonly hardware: readonly HardwareDigest[];
  /** How long the leader may answer after its last renewal; another host waits as long. */
  readonly termMs: number;
  readonly pollMs: number;
  /** Milliseconds of a clock that never jumps, and that continues while the machine sleeps. */
  readonly bootMs: () => number;
}

/** What this host is in the pair. */
export type Role =
  | { readonly role: "leader"; readonly epoch: number }
  /** `url`: where clients reach the leader; null: it is not known. */
  | { readonly role: "standby"; readonly leader: string | null; readonly url: string | null };

const UNKNOWN_LEADER: Role = { role: "standby", leader: null, url: null };

/** Of the term: the leader stops before the other host may begin, also if its clock runs slower. */
const MARGIN_SHARE = 0.2;
const MAX_MARGIN_MS = 2_000;
const RENEWAL_SHARE = 0.2;
/** How long only the heir may lead after a hand-over. */
const HEIR_MS = 5_000;

/**
 * Decides which of the two hosts answers. The row of the leader in the log is the only thing they
 * agree by. A host answers only as long as its term certainly lasts.
 */
export class Leadership {
  readonly #options: LeadershipOptions;
  #role: Role = UNKNOWN_LEADER;
  #answersUntil = -Infinity;
  #renewAt = -Infinity;
  #timer: Timer | null = null;
  #step: Promise<void> = Promise.resolve();
  #isStopped = false;
  #onLead: () => Promise<void> = async () => {};
  /** Why the log could not be used; null: it could. */
  #problem: string | null = null;

  constructor(options: LeadershipOptions) {
    this.#options = options;
  }

  get role(): Role {
    return this.mayAnswer() || this.#role.role === "standby" ? this.#role : UNKNOWN_LEADER;
  }

  get problem(): string | null {
    return this.#problem;
  }

  /** Checked before a request is handled and again before its reply is sent. */
  mayAnswer(): boolean {
    return this.#role.role === "leader" && this.#options.bootMs() < this.#answersUntil;
  }

  /** `onLead` is called when this host leads, before its first reply. */
  start(onLead: () => Promise<void>): void {
    this.#onLead = onLead;
    this.#schedule(0);
  }

  /** Gives the leadership to the other host. */
  async handOver(heir: string): Promise<void> {
    await this.#exclusively(async () => {
      if (this.#role.role !== "leader") return;
      const { epoch } = this.#role;
      await this.#stopLeading({ code: "standby" });
      await this.#options.log.release(epoch, heir, HEIR_MS);
    });
  }

  /** Stops leading; the other host may lead at once. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer ?? undefined);
    await this.#exclusively(async () => {
      if (this.#role.role !== "leader") return;
      const { epoch } = this.#role;
      await this.#stopLeading({ code: "standby" });
      // If the log cannot be reached, the term ends by itself.
      await this.#options.log.release(epoch, null, 0).catch(() => {});
    });
  }

  /** One step: follows or renews, and leads if it may. */
  step(): Promise<void> {
    return this.#exclusively(() => (this.#role.role === "leader" ? this.#renew() : this.#follow()));
  }

  #schedule(delay: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      void this.step().finally(() => this.#schedule(this.#options.pollMs));
    }, delay);
  }

  /** One thing at a time; a failure of the log is noted, and tried again with the next step. */
  #exclusively(work: () => Promise<void>): Promise<void> {
    this.#step = this.#step.then(work).then(
      () => this.#note(null),
      (error: unknown) => {
        if (!(error instanceof LogUnavailable)) throw error;
        this.#note(error.message);
      },
    );
    return this.#step;
  }

  async #renew(): Promise<void> {
    const { store, log: shared, bootMs, termMs } = this.#options;
    const { fault } = store.status();
    if (fault !== null || this.#role.role !== "leader") return this.#stopLeading(fault);
    const sentAt = bootMs();
    if (sentAt >= this.#answersUntil) return this.#stopLeading({ code: "log_unavailable" });
    if (sentAt < this.#renewAt) return;
    const isRenewed = await shared.renew(this.#role.epoch, termMs);
    if (isRenewed) this.#extend(sentAt);
    else await this.#stopLeading({ code: "standby" });
  }

  async #follow(): Promise<void> {
    const { store, log: shared, bootMs, termMs } = this.#options;
    const { host, hardwareId, hardware } = this.#options;
    await store.follow();
    const { holder, url, remainingMs } = await shared.readLeader();
    this.#role = { role: "standby", leader: holder, url };
    if (this.#isStopped || (remainingMs > 0 && holder !== host)) return;
    const sentAt = bootMs();
    const claimed = await shared.claim(termMs);
    if (claimed === null) return;
    const { epoch } = claimed;
    const led = await store.lead(epoch, {
      type: "ChangeLeader",
      log: shared.id,
      epoch,
      host,
      hardwareId,
      hardware,
    });
    if (!led.ok) return log.warn("this host could not lead", { fault: led.fault });
    await this.#onLead();
    this.#extend(sentAt);
    this.#role = { role: "leader", epoch };
    log.info("this host leads the pair", { epoch });
  }

  #extend(sentAt: number): void {
    const { termMs } = this.#options;
    this.#answersUntil = sentAt + termMs - Math.min(MAX_MARGIN_MS, termMs * MARGIN_SHARE);
    this.#renewAt = sentAt + termMs * RENEWAL_SHARE;
  }

  async #stopLeading(fault: StorageFault | null): Promise<void> {
    this.#role = UNKNOWN_LEADER;
    this.#answersUntil = -Infinity;
    await this.#options.store.stopLeading(fault ?? { code: "standby" });
    log.warn("this host no longer leads the pair", { reason: fault?.code ?? "stopped" });
  }

  #note(problem: string | null): void {
    if (problem !== null && this.#problem === null) {
      log.warn("the log of the pair cannot be reached", { problem });
    }
    this.#problem = problem;
  }
}
