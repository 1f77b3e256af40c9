// A site at work: clients that take, keep, borrow and give back slots and count consumption, each
// after its own seeded plan, and a ledger of what was asked and answered, and when. In between they
// send heartbeats, long ones, so that the journal grows and checkpoints come.
import { HOUR, MINUTE } from "../../../src/domain/time.ts";
import { featureTerms, consumptionTerms } from "../../support/scenario.ts";
import { createRandom } from "../../support/suite-harness.ts";

const PRODUCT = "cad";
export const MODULE_FEATURE = "module";
export const METER_FEATURE = "meter";
/** Written with escapes in a journal line, so twice as long there. */
const LONG = '\\"'.repeat(120);
const BEATS = 4;
const lasting = { slots: 1_000_000, timeoutMinutes: 24 * 60 };

/** Nothing runs out or runs short while the rig runs. */
export const TERMS = {
  product: PRODUCT,
  ...lasting,
  borrowHours: 1_000,
  consumption: consumptionTerms({ max: null }),
  features: [
    featureTerms(MODULE_FEATURE, { floating: lasting }),
    featureTerms(METER_FEATURE, { consumption: consumptionTerms({ max: null }) }),
    featureTerms(LONG, { floating: lasting }),
  ],
};

export interface ClientRequest {
  readonly operation: string;
  readonly user: string;
  readonly info: string;
  readonly borrowedUntil: string | null;
  readonly count: number;
  readonly sentAt: number;
  /** Infinity: not yet. */
  answeredAt: number;
}

/** What somebody holds, as the registrations show it. */
export interface HeldSlot {
  readonly info: string;
  readonly borrowedUntil: string | null;
  readonly hasModule: boolean;
}

export type SlotsByUser = Map<string, HeldSlot>;

/** One change to what a client holds; the same whether it is planned or looked back at. */
export function applyRequest(
  held: SlotsByUser,
  { operation, user, info, borrowedUntil }: ClientRequest,
): void {
  const before = held.get(user) ?? { info: "", borrowedUntil: null, hasModule: false };
  if (operation === "register") held.set(user, { ...before, info });
  if (operation === "borrow") held.set(user, { ...before, info, borrowedUntil });
  if (operation === "featureRegister") held.set(user, { ...before, hasModule: true });
  if (operation === "featureRelease") held.set(user, { ...before, hasModule: false });
  if (operation === "unregister") held.delete(user);
}

interface AnswerTiming {
  readonly sentAt: number;
  readonly durationMs: number;
}

export class ClientLoad {
  readonly #url: string;
  readonly #seed: number;
  #stopped = false;
  #resting: PromiseWithResolvers<void> | null = null;
  /** Each client's requests in order; it sends one after the answer to the one before. */
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
      const ledger: ClientRequest[] = [];
      this.requestLogs.push(ledger);
      this.#running.push(
        this.#work(client, ledger).catch((error: unknown) => {
          this.failures.push(`client ${client}: ${String(error)}`);
        }),
      );
    }
  }

  /** Nobody asks for anything new until `goOn`. */
  pause(): void {
    this.#resting ??= Promise.withResolvers();
  }

  resume(): void {
    this.#resting?.resolve();
    this.#resting = null;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.resume();
    await Promise.all(this.#running);
  }

  async #work(client: number, ledger: ClientRequest[]): Promise<void> {
    const random = createRandom(this.#seed + client);
    const held: SlotsByUser = new Map();
    const beater = `beater-${client}-${LONG}`;
    await this.#call("register", { user: beater });
    while (!this.#stopped) {
      await this.#resting?.promise;
      const asked = plan(random, client, ledger.length, held);
      ledger.push(asked);
      await this.#call(asked.operation, fieldsOf(asked));
      asked.answeredAt = performance.now();
      applyRequest(held, asked);
      for (let beat = 0; beat < BEATS && !this.#stopped; beat += 1) {
        await this.#call("featureRegister", { user: beater, feature: LONG });
      }
    }
  }

  async #call(operation: string, fields: object): Promise<void> {
    await this.#resting?.promise;
    const at = performance.now();
    const response = await fetch(`${this.#url}/api/v4/${operation}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ product: PRODUCT, ...fields }),
    });
    const text = await response.text();
    this.answers.push({ sentAt: at, durationMs: performance.now() - at });
    if (response.status !== 200) throw new Error(`${operation}: ${response.status} ${text}`);
  }
}

const MOST_HELD = 24;

/** Whose client a user is of. */
export const CLIENT_USER_PATTERN = /^client-(\d+)-/;

/** Every one of them leaves a trace by which it can be told whether it is in a backup. */
function plan(
  random: () => number,
  client: number,
  place: number,
  held: SlotsByUser,
): ClientRequest {
  const dice = Math.floor(random() * 100);
  const users = [...held.keys()];
  const user = users[Math.floor(random() * users.length)] ?? "";
  const mark = `request ${place}`;
  // Now and then as long as it may be: the record grows, too.
  const info = dice % 10 === 0 ? mark.padEnd(4_000, ".") : mark;
  const until = new Date(Date.now() + HOUR + (place % 50_000) * MINUTE).toISOString();
  const nothing = { user, info: "", borrowedUntil: null, count: 0 };
  const asked = (operation: string, differing: Partial<ClientRequest>): ClientRequest => ({
    ...nothing,
    operation,
    sentAt: performance.now(),
    answeredAt: Infinity,
    ...differing,
  });
  if (users.length === 0 || (dice < 25 && users.length < MOST_HELD)) {
    return asked("register", { user: `client-${client}-${place}`, info });
  }
  if (dice < 45) return asked("register", { info });
  if (dice < 55) return asked("borrow", { info, borrowedUntil: until });
  if (dice < 65) return asked("add_consumption", { count: 1 + (dice % 5) });
  if (dice < 70) return asked("add_feature_consumption", { count: 1 + (dice % 3) });
  if (dice < 85) {
    const operation = held.get(user)?.hasModule === true ? "featureRelease" : "featureRegister";
    return asked(operation, {});
  }
  return asked("unregister", {});
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
