// The load of a site in use. Clients register, renew, borrow and release slots and add consumption,
// each by its own seeded sequence, and log every request with the times it was sent and answered.
// In between they send long heartbeats, so that the journal grows and checkpoints are made.
import { HOUR, MINUTE } from "../../../src/domain/time.ts";
import { featureTerms, consumptionTerms } from "../../support/scenario.ts";
import { createRandom } from "../../support/suite-harness.ts";

const PRODUCT = "cad";
export const MODULE_FEATURE = "module";
export const METER_FEATURE = "meter";
/**
 * As long as allowed, and twice as long in the journal, where each is escaped: the longer the lines,
 * the sooner the next checkpoint.
 */
const LONG_INFO = '"'.repeat(4_000);
const HEARTBEATS_PER_REQUEST = 9;
/** Enough for a checkpoint every second or two; without a pause the load would take all processors. */
const PAUSE_MS = 20;
/**
 * A checkpoint has a low priority. On a busy machine the load would outrun it until nothing else
 * gets done, so from here on it is slow until a checkpoint starts or ends. A fifth of it fills a
 * segment.
 */
const REQUESTS_PER_CHECKPOINT_STEP = 6_000;
/** Between two slow requests of a client: the journal still grows beside every backup. */
const SLOW_PAUSE_MS = 100;
const AMPLE_POOL = { slots: 1_000_000, timeoutMinutes: 24 * 60 };

/** Nothing expires and no slot is missing while the suite runs. */
export const TERMS = {
  product: PRODUCT,
  ...AMPLE_POOL,
  borrowHours: 1_000,
  consumption: consumptionTerms({ max: null }),
  features: [
    featureTerms(MODULE_FEATURE, { floating: AMPLE_POOL }),
    featureTerms(METER_FEATURE, { consumption: consumptionTerms({ max: null }) }),
  ],
};

export interface ClientRequest {
  readonly operation: string;
  readonly user: string;
  readonly info: string;
  readonly borrowedUntil: string | null;
  readonly count: number;
  readonly sentAt: number;
  /** Infinity until it is answered. */
  answeredAt: number;
}

/** A user's slot, as the list of registrations shows it. */
export interface HeldSlot {
  readonly info: string;
  readonly borrowedUntil: string | null;
  readonly hasModule: boolean;
}

export type SlotsByUser = Map<string, HeldSlot>;

/**
 * Applies a granted request to a client's slots: by the client itself, and when a backup is judged.
 */
export function applyRequest(
  slots: SlotsByUser,
  { operation, user, info, borrowedUntil }: ClientRequest,
): void {
  const before = slots.get(user) ?? { info: "", borrowedUntil: null, hasModule: false };
  if (operation === "register") slots.set(user, { ...before, info });
  if (operation === "borrow") slots.set(user, { ...before, info, borrowedUntil });
  if (operation === "featureRegister") slots.set(user, { ...before, hasModule: true });
  if (operation === "featureRelease") slots.set(user, { ...before, hasModule: false });
  if (operation === "unregister") slots.delete(user);
}

interface AnswerTiming {
  readonly sentAt: number;
  readonly durationMs: number;
}

export class ClientLoad {
  readonly #url: string;
  readonly #seed: number;
  #isStopped = false;
  #pause: PromiseWithResolvers<void> | null = null;
  #remaining = REQUESTS_PER_CHECKPOINT_STEP;
  #limit = Promise.withResolvers<void>();
  /**
   * Each client's requests in order; a client sends a request after the previous one is answered.
   */
  readonly requestLogs: ClientRequest[][] = [];
  readonly answers: AnswerTiming[] = [];
  readonly failures: string[] = [];
  readonly #running: Promise<void>[] = [];

  constructor(url: string, seed: number) {
    this.#url = url;
    this.#seed = seed;
  }

  start(clients: number): void {
    for (let client = 0; client < clients; client += 1) {
      const requestLog: ClientRequest[] = [];
      this.requestLogs.push(requestLog);
      this.#running.push(
        this.#sendRequests(client, requestLog).catch((error: unknown) => {
          this.failures.push(`client ${client}: ${String(error)}`);
        }),
      );
    }
  }

  /** No client sends a new request until `resume`. */
  pause(): void {
    this.#pause ??= Promise.withResolvers();
  }

  resume(): void {
    this.#pause?.resolve();
    this.#pause = null;
  }

  /** A checkpoint has started or ended: the load may go on. */
  renewLimit(): void {
    this.#remaining = REQUESTS_PER_CHECKPOINT_STEP;
    this.#limit.resolve();
    this.#limit = Promise.withResolvers();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.resume();
    this.renewLimit();
    await Promise.all(this.#running);
  }

  async #sendRequests(client: number, requestLog: ClientRequest[]): Promise<void> {
    const random = createRandom(this.#seed + client);
    const slots: SlotsByUser = new Map();
    let heartbeats = 0;
    while (!this.#isStopped) {
      await this.#pause?.promise;
      const request = planRequest(random, client, requestLog.length, slots);
      requestLog.push(request);
      await this.#call(request.operation, fieldsOf(request));
      request.answeredAt = performance.now();
      applyRequest(slots, request);
      for (let beat = 0; beat < HEARTBEATS_PER_REQUEST && !this.#isStopped; beat += 1) {
        heartbeats += 1;
        // Different each time: an unchanged text is not written again.
        const info = `${heartbeats} ${LONG_INFO}`;
        await this.#call("register", { user: `heartbeat-${client}`, user_info: info });
      }
      await Bun.sleep(PAUSE_MS);
    }
  }

  async #call(operation: string, fields: object): Promise<void> {
    await this.#pause?.promise;
    if (this.#remaining > 0) this.#remaining -= 1;
    else await Promise.race([this.#limit.promise, Bun.sleep(SLOW_PAUSE_MS)]);
    const sentAt = performance.now();
    const response = await fetch(`${this.#url}/api/v4/${operation}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ product: PRODUCT, ...fields }),
    });
    const text = await response.text();
    this.answers.push({ sentAt, durationMs: performance.now() - sentAt });
    if (response.status !== 200)
      throw new Error(`${operation} was answered with ${response.status} ${text}`);
  }
}

const MAX_SLOTS_PER_CLIENT = 24;

/** The number of the client that a user belongs to. */
export const CLIENT_USER_PATTERN = /^client-(\d+)-/;

/** Every request changes something by which a backup shows whether it contains the request. */
function planRequest(
  random: () => number,
  client: number,
  index: number,
  slots: SlotsByUser,
): ClientRequest {
  const percentile = Math.floor(random() * 100);
  const users = [...slots.keys()];
  const user = users[Math.floor(random() * users.length)] ?? "";
  const shortInfo = `request ${index}`;
  // One in ten is as long as allowed, so that the audit log grows, too.
  const info = percentile % 10 === 0 ? shortInfo.padEnd(4_000, ".") : shortInfo;
  const until = new Date(Date.now() + HOUR + (index % 50_000) * MINUTE).toISOString();
  const defaults = { user, info: "", borrowedUntil: null, count: 0 };
  const makeRequest = (operation: string, fields: Partial<ClientRequest>): ClientRequest => ({
    ...defaults,
    operation,
    sentAt: performance.now(),
    answeredAt: Infinity,
    ...fields,
  });
  if (users.length === 0 || (percentile < 25 && users.length < MAX_SLOTS_PER_CLIENT)) {
    return makeRequest("register", { user: `client-${client}-${index}`, info });
  }
  if (percentile < 45) return makeRequest("register", { info });
  if (percentile < 55) return makeRequest("borrow", { info, borrowedUntil: until });
  if (percentile < 65) return makeRequest("add_consumption", { count: 1 + (percentile % 5) });
  if (percentile < 70)
    return makeRequest("add_feature_consumption", { count: 1 + (percentile % 3) });
  if (percentile < 85) {
    const operation = slots.get(user)?.hasModule === true ? "featureRelease" : "featureRegister";
    return makeRequest(operation, {});
  }
  return makeRequest("unregister", {});
}

function fieldsOf({ operation, user, info, borrowedUntil, count }: ClientRequest): object {
  if (operation === "register") return { user, user_info: info };
  if (operation === "borrow") return { user, user_info: info, borrowed_until: borrowedUntil };
  if (operation === "unregister") return { user };
  if (operation === "add_consumption") return { consumptions: String(count) };
  if (operation === "add_feature_consumption")
    return { feature: METER_FEATURE, consumptions: String(count) };
  return { user, feature: MODULE_FEATURE };
}
