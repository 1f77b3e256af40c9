// A client of a pair. It knows both addresses, calls the host that answered last, and records what
// it sent and what it was answered. A call without an answer it repeats, or gives up.
import { HOUR } from "../../../src/domain/time.ts";
import type { RegistrationReply } from "../../../src/http/routes/slots/registrations.ts";
import {
  borrowCall,
  PRODUCT,
  slotOrNew,
  unregisterCall,
  type ChangeCall,
} from "../../faults/kill/calls.ts";
import {
  ExpectedUser,
  isConsistentSlot,
  type MaybeSlot,
} from "../../faults/kill/expected-state.ts";
import { callHost, codeOf, isAnswered, type CallAnswer, type HostAddress } from "./calls.ts";
import type { PairRecord } from "./pair-record.ts";

const USERS = 4;
/** So that a load of many clients leaves the machine time for two hosts and a database. */
const PAUSE_MS = 8;
const REPEAT_PAUSE_MS = 20;
const REPEATED_SHARE = 0.8;

export interface ClientOptions {
  readonly index: number;
  readonly hosts: readonly [HostAddress, HostAddress];
  readonly timeoutMs: number;
  readonly random: () => number;
  readonly record: () => PairRecord;
}

export class PairClient {
  readonly users: readonly ExpectedUser[];
  /** What it adds to the counter: a power of two, so that a total shows which calls counted. */
  readonly weight: number;
  readonly #options: ClientOptions;
  #preferred = 0;
  #callCount = 0;
  #isRunning = false;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.weight = 2 ** options.index;
    this.users = Array.from(
      { length: USERS },
      (_, n) => new ExpectedUser(`user-${options.index}-${n}`),
    );
  }

  /** Calls until `stop`. */
  async run(): Promise<void> {
    this.#isRunning = true;
    while (this.#isRunning) {
      await this.#callOnce();
      await Bun.sleep(PAUSE_MS);
    }
  }

  stop(): void {
    this.#isRunning = false;
  }

  async #callOnce(): Promise<void> {
    const { random } = this.#options;
    this.#callCount += 1;
    const percentile = random() * 100;
    // A user whose last call was given up waits until the state is compared.
    const certain = this.users.filter(({ pendingCall }) => pendingCall === null);
    const user = certain[Math.floor(random() * certain.length)];
    if (user === undefined || percentile < 30) return this.#addConsumption();
    if (percentile < 65) return this.#register(user);
    if (percentile < 80) return this.#borrow(user);
    return this.#change(unregisterCall(user));
  }

  #makeInfo(): string {
    return `${this.#options.index}.${this.#callCount}`;
  }

  #register(user: ExpectedUser): Promise<void> {
    const info = this.#makeInfo();
    return this.#change({
      user,
      path: "register",
      body: { product: PRODUCT, user: user.name, user_info: info },
      slotAfter: { ...slotOrNew(user), info, expiresAt: null },
      expectedRefusal: user.slot === null ? "floating_not_available" : null,
    });
  }

  #borrow(user: ExpectedUser): Promise<void> {
    const until = Date.now() + Math.floor((48 + this.#options.random() * 200) * HOUR);
    const slot = {
      ...slotOrNew(user),
      info: this.#makeInfo(),
      borrowedUntil: new Date(until).toISOString(),
      expiresAt: null,
    };
    return this.#change(borrowCall(user, slot, `borrow-${this.#makeInfo()}`));
  }

  async #change({ user, path, body, slotAfter, expectedRefusal, key }: ChangeCall): Promise<void> {
    const { slot } = user;
    const record = this.#options.record();
    user.beginCall(path, slotAfter);
    if (slotAfter === null) record.beginRelease(user.name);
    const { answer, attempts } = await this.#call(`/api/v4/${path}`, body, key ?? null);
    if (answer === null) return;
    const code = codeOf(answer);
    if (answer.status === 200 && (path === "register" || path === "borrow")) {
      const shown = shownSlot(slotAfter, answer.body as RegistrationReply);
      user.recordAnswer(shown);
      record.recordGrant(user.name, answer);
      if (!isConsistentSlot(slotAfter, shown)) this.#reportWrongAnswer(path, slot, answer);
    } else if (answer.status === 200 && expectedRefusal === null) {
      user.recordAnswer(slotAfter);
      record.recordChange(answer);
    } else if (code === "user_not_registered" && path === "unregister") {
      // Only if it held no slot, or if an earlier attempt has happened.
      if (slot !== null && attempts === 1) this.#reportWrongAnswer(path, slot, answer);
      user.recordAnswer(null);
    } else {
      // After its clock was set back, a host lends no slot that only the wrong time freed.
      const expected = code === "clock_suspect" ? "floating_not_available" : code;
      if (answer.status !== 400 || expected !== expectedRefusal) {
        this.#reportWrongAnswer(path, slot, answer);
      }
      record.results.counts.refusals += 1;
      user.recordAnswer(slot);
    }
  }

  async #addConsumption(): Promise<void> {
    const record = this.#options.record();
    const { counter } = record;
    // One that was given up counts or not.
    if (counter.pendingWeights.has(this.weight)) return;
    const least = Math.max(counter.acknowledged, counter.highestShown) + this.weight;
    counter.pendingWeights.add(this.weight);
    const body = { product: PRODUCT, consumptions: String(this.weight) };
    const key = `count-${this.#makeInfo()}`;
    const { answer } = await this.#call("/api/v4/add_consumption", body, key);
    if (answer === null) return;
    if (answer.status !== 200) return this.#reportWrongAnswer("add_consumption", null, answer);
    counter.recordAnswer(this.weight);
    record.recordTotal(answer, least);
    record.results.counts.consumptions += 1;
    record.recordChange(answer);
  }

  /** Calls until a host answers as the leader; null: given up, so that the outcome is unknown. */
  async #call(
    path: string,
    body: object,
    key: string | null,
  ): Promise<{ readonly answer: CallAnswer | null; readonly attempts: number }> {
    const { hosts, timeoutMs, random } = this.#options;
    const { counts } = this.#options.record().results;
    const isRepeated = random() < REPEATED_SHARE;
    for (let attempts = 1; ; attempts += 1) {
      const host = hosts[this.#preferred % 2] ?? hosts[0];
      const answer = await callHost(host, { path, body, key, timeoutMs });
      if (isAnswered(answer)) return { answer, attempts };
      if (attempts === 1) counts.unanswered += 1;
      this.#preferred += 1;
      if (!isRepeated || !this.#isRunning) return { answer: null, attempts };
      counts.repeats += 1;
      await Bun.sleep(REPEAT_PAUSE_MS);
    }
  }

  #reportWrongAnswer(path: string, slot: MaybeSlot, { host, status, body }: CallAnswer): void {
    const answer = JSON.stringify(body).slice(0, 400);
    this.#options
      .record()
      .results.recordViolation(
        "answers",
        `${path} with ${JSON.stringify(slot)} was answered by ${host} with ${status} ${answer}`,
      );
  }
}

const shownSlot = (slotAfter: MaybeSlot, reply: RegistrationReply): MaybeSlot =>
  slotAfter && {
    ...slotAfter,
    info: reply.user_info,
    borrowedUntil: reply.borrowed_until,
    registeredAt: reply.registered_at,
    expiresAt: reply.expires_at,
  };
