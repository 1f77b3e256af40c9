// A client of a server that will be killed. It sends changes, one call at a time, and records in
// the expected state what it sent and what it was answered.
import { HOUR } from "../../../src/domain/time.ts";
import type { RegistrationReply } from "../../../src/http/routes/slots/registrations.ts";
import {
  borrowCall,
  callServer,
  COUNTING_FEATURE,
  unregisterCall,
  slotOrNew,
  PRODUCT,
  releaseFeatureCall,
  registerFeatureCall,
  type CallAnswer,
  type ChangeCall,
  type ServerRun,
} from "./calls.ts";
import type { KillResults } from "./results.ts";
import {
  isConsistentSlot,
  ExpectedUser,
  type ExpectedState,
  type ExpectedSlot,
  type CounterName,
} from "./expected-state.ts";

/** A call with an idempotency key, as it was sent, to repeat it after a restart. */
type KeyedCall =
  | {
      readonly kind: "count";
      readonly which: CounterName;
      readonly key: string;
      isCounted: boolean;
    }
  | {
      readonly kind: "borrow";
      readonly key: string;
      readonly user: ExpectedUser;
      readonly slot: ExpectedSlot;
    };

const PADDING = "x".repeat(4_000);

export class KillClient {
  readonly users: readonly ExpectedUser[];
  /**
   * What this client adds to a counter: a unique power of two, so that a total shows who was
   * counted.
   */
  readonly weight: number;
  readonly #index: number;
  readonly #getExpectedState: () => ExpectedState;
  readonly #results: KillResults;
  readonly #random: () => number;
  #callCount = 0;
  #unansweredCall: KeyedCall | null = null;
  #answeredCount: {
    readonly which: CounterName;
    readonly key: string;
    readonly total: number;
  } | null = null;

  constructor(
    index: number,
    users: number,
    getExpectedState: () => ExpectedState,
    results: KillResults,
    random: () => number,
  ) {
    this.#index = index;
    this.weight = 2 ** index;
    this.users = Array.from({ length: users }, (_, n) => new ExpectedUser(`user-${index}-${n}`));
    this.#getExpectedState = getExpectedState;
    this.#results = results;
    this.#random = random;
  }

  /** After a restart, records whether the unanswered call was counted. */
  reconcileCount(which: CounterName, counted: ReadonlySet<number>): void {
    const pending = this.#unansweredCall;
    if (pending?.kind === "count" && pending.which === which)
      pending.isCounted ||= counted.has(this.weight);
  }

  /** Sends calls until the server does not answer or the run is over. */
  async run(run: ServerRun): Promise<void> {
    const pending = this.#unansweredCall;
    // Most applications repeat a call without an answer, and some never do.
    if (pending !== null && this.#random() < 0.8) {
      if (!(await this.#repeatUnanswered(run, pending))) return;
    }
    this.#unansweredCall = null;
    while (!run.isOver) if (!(await this.#callOnce(run))) return;
  }

  async #callOnce(run: ServerRun): Promise<boolean> {
    this.#callCount += 1;
    const user =
      this.users[Math.floor(this.#random() * this.users.length)] ?? new ExpectedUser("unknown");
    const percentile = this.#random() * 100;
    if (percentile < 26) return this.#register(run, user, this.#makeInfo(run));
    if (percentile < 38) return this.#register(run, user, user.slot?.info ?? "first");
    if (percentile < 50) return this.#borrow(run, user);
    if (percentile < 60) return this.#change(run, unregisterCall(user));
    if (percentile < 70) return this.#change(run, registerFeatureCall(user));
    if (percentile < 76) return this.#change(run, releaseFeatureCall(user));
    if (percentile < 94) return this.#addConsumption(run);
    if (percentile < 98) return this.#repeatAnswered(run);
    return this.#index === 0 ? this.#createRequest(run) : this.#addConsumption(run);
  }

  #makeInfo(run: ServerRun): string {
    return `${this.#index}.${this.#callCount}${run.usesLongTexts ? PADDING : ""}`;
  }

  #chooseKey(): string | null {
    return this.#random() < 0.6 ? `key-${this.#index}.${this.#callCount}` : null;
  }

  #register(run: ServerRun, user: ExpectedUser, info: string): Promise<boolean> {
    const slotAfter = { ...slotOrNew(user), info, expiresAt: null };
    return this.#change(run, {
      user,
      path: "register",
      body: { product: PRODUCT, user: user.name, user_info: info },
      slotAfter,
      expectedRefusal: user.slot === null ? "floating_not_available" : null,
    });
  }

  async #borrow(run: ServerRun, user: ExpectedUser): Promise<boolean> {
    const until = Date.now() + Math.floor((2 + this.#random() * 200) * HOUR);
    const slot = {
      ...slotOrNew(user),
      info: this.#makeInfo(run),
      borrowedUntil: new Date(until).toISOString(),
      expiresAt: null,
    };
    const key = this.#chooseKey();
    if (key !== null) this.#unansweredCall = { kind: "borrow", key, user, slot };
    const wasAnswered = await this.#change(run, borrowCall(user, slot, key));
    if (wasAnswered) this.#unansweredCall = null;
    return wasAnswered;
  }

  /** Sends a change and records its outcome; false if no answer arrived. */
  async #change(
    run: ServerRun,
    { user, path, body, slotAfter, expectedRefusal, key }: ChangeCall,
  ): Promise<boolean> {
    const { slot } = user;
    user.beginCall(path, slotAfter);
    const answer = await callServer(run, this.#results, `/api/v4/${path}`, body, key);
    if (answer === null) return false;
    const code = (answer.body as { readonly code?: string }).code;
    if (answer.status === 200 && slotAfter !== null && (path === "register" || path === "borrow")) {
      const { user_info: info, ...row } = answer.body as RegistrationReply;
      user.recordAnswer({
        ...slotAfter,
        info,
        borrowedUntil: row.borrowed_until,
        registeredAt: row.registered_at,
        expiresAt: row.expires_at,
      });
      if (!isConsistentSlot(slotAfter, user.slot))
        this.#reportWrongAnswer(path, user.name, slot, answer);
      this.#results.counts.changes += 1;
    } else if (answer.status === 200 && expectedRefusal !== "user_not_registered") {
      user.recordAnswer(slotAfter);
      this.#results.counts.changes += 1;
    } else {
      if (
        answer.status !== 400 ||
        code !== expectedRefusal ||
        user.pendingCall?.wasShown === true
      ) {
        this.#reportWrongAnswer(path, user.name, slot, answer);
      }
      user.recordAnswer(slot);
    }
    return true;
  }

  #reportWrongAnswer(
    path: string,
    caller: string,
    context: unknown,
    { status, body }: CallAnswer,
  ): void {
    const answer = JSON.stringify(body).slice(0, 400);
    this.#results.recordViolation(
      "answers",
      `${path} of ${caller} with ${JSON.stringify(context)} was answered with ${status} ${answer}`,
    );
  }

  async #addConsumption(run: ServerRun): Promise<boolean> {
    const which: CounterName = this.#random() < 0.7 ? "license" : "feature";
    const key = this.#chooseKey();
    if (key !== null) this.#unansweredCall = { kind: "count", which, key, isCounted: false };
    const total = await this.#count(run, which, key);
    if (total === null) return false;
    this.#unansweredCall = null;
    if (key !== null) this.#answeredCount = { which, key, total };
    return true;
  }

  async #count(run: ServerRun, which: CounterName, key: string | null): Promise<number | null> {
    const counter = this.#getExpectedState().counters[which];
    const least = Math.max(counter.acknowledged, counter.highestShown) + this.weight;
    counter.pendingWeights.add(this.weight);
    const answer = await this.#sendCount(run, which, key);
    if (answer === null) return null;
    counter.recordAnswer(this.weight);
    this.#results.counts.counts += 1;
    const violation = counter.recordShown(answer, least);
    if (violation !== null) this.#results.recordViolation("answers", `${which}: ${violation}`);
    return answer;
  }

  /** Sends a count; returns the total in the answer, or null if none arrived. */
  async #sendCount(run: ServerRun, which: CounterName, key: string | null): Promise<number | null> {
    const featureField = which === "license" ? {} : { feature: COUNTING_FEATURE };
    const path = which === "license" ? "add_consumption" : "add_feature_consumption";
    const body = { product: PRODUCT, ...featureField, consumptions: String(this.weight) };
    const answer = await callServer(run, this.#results, `/api/v4/${path}`, body, key);
    if (answer === null) return null;
    if (answer.status !== 200) this.#reportWrongAnswer(path, `client ${this.#index}`, key, answer);
    return (answer.body as { readonly total_consumptions: number }).total_consumptions;
  }

  async #repeatUnanswered(run: ServerRun, pending: KeyedCall): Promise<boolean> {
    this.#results.counts.repeats += 1;
    if (pending.kind === "borrow")
      return this.#change(run, borrowCall(pending.user, pending.slot, pending.key));
    const { which, key, isCounted } = pending;
    if (!isCounted) return (await this.#count(run, which, key)) !== null;
    const total = await this.#sendCount(run, which, key);
    if (total === null) return false;
    const { acknowledged } = this.#getExpectedState().counters[which];
    if (total < this.weight || total > acknowledged) {
      this.#results.recordViolation(
        "repeats",
        `${which}, key ${key}: the repeated call shows a total of ${total}; ${acknowledged} is acknowledged`,
      );
    }
    return true;
  }

  async #repeatAnswered(run: ServerRun): Promise<boolean> {
    if (this.#answeredCount === null) return true;
    const { which, key, total } = this.#answeredCount;
    const repeatedTotal = await this.#sendCount(run, which, key);
    if (repeatedTotal === null) return false;
    this.#results.counts.repeats += 1;
    if (repeatedTotal !== total) {
      this.#results.recordViolation(
        "repeats",
        `${which}, key ${key}: the repeated call shows a total of ${repeatedTotal}, the first ${total}`,
      );
    }
    return true;
  }

  async #createRequest(run: ServerRun): Promise<boolean> {
    const counter = this.#getExpectedState().counters.license;
    const least = Math.max(counter.acknowledged, counter.highestShown);
    const path = "/api/v4/license/generate";
    const answer = await callServer(run, this.#results, path, { product: PRODUCT });
    if (answer === null) return false;
    if (answer.status !== 200) this.#reportWrongAnswer(path, "the site", null, answer);
    const { request_id: id, payload } = answer.body as { request_id: string; payload: string };
    const claims = JSON.parse(Buffer.from(payload.split(".")[1] ?? "", "base64url").toString()) as {
      readonly audit: { readonly seq: number; readonly sum: string };
      readonly licenses: readonly { readonly total_consumptions: number }[];
    };
    const violation = counter.recordShown(claims.licenses[0]?.total_consumptions ?? -1, least);
    if (violation !== null)
      this.#results.recordViolation("answers", `license/generate: ${violation}`);
    this.#getExpectedState().requests.push({ id, audit: claims.audit });
    this.#results.counts.requests += 1;
    return true;
  }
}
