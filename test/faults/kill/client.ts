// The load while a server is killed: applications that change something, one call at a time each,
// and note in the ledger what they asked and what they were told.
import { HOUR } from "../../../src/domain/time.ts";
import type { RegistrationReply } from "../../../src/http/routes/admin.ts";
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

/** A call that is safe to repeat, as it was made. */
type KeyedCall =
  | {
      readonly what: "count";
      readonly which: CounterName;
      readonly key: string;
      isCounted: boolean;
    }
  | {
      readonly what: "borrow";
      readonly key: string;
      readonly user: ExpectedUser;
      readonly slot: ExpectedSlot;
    };

const PADDING = "x".repeat(4_000);

export class KillClient {
  readonly users: readonly ExpectedUser[];
  /** What it adds to a counter: nobody else's, so that a total tells who was counted. */
  readonly weight: number;
  readonly #index: number;
  readonly #ledger: () => ExpectedState;
  readonly #figures: KillResults;
  readonly #random: () => number;
  #calls = 0;
  #unanswered: KeyedCall | null = null;
  #answered: { readonly which: CounterName; readonly key: string; readonly total: number } | null =
    null;

  constructor(
    index: number,
    users: number,
    ledger: () => ExpectedState,
    figures: KillResults,
    random: () => number,
  ) {
    this.#index = index;
    this.weight = 2 ** index;
    this.users = Array.from({ length: users }, (_, n) => new ExpectedUser(`user-${index}-${n}`));
    this.#ledger = ledger;
    this.#figures = figures;
    this.#random = random;
  }

  /** After a restart: which of the unanswered counts turned out to be counted. */
  reconcileCount(which: CounterName, counted: ReadonlySet<number>): void {
    const open = this.#unanswered;
    if (open?.what === "count" && open.which === which) open.isCounted ||= counted.has(this.weight);
  }

  /** Calls until the server is gone or nobody wants any more. */
  async run(life: ServerRun): Promise<void> {
    const open = this.#unanswered;
    // Most callers try again what they heard nothing of, and some never do.
    if (open !== null && this.#random() < 0.8) {
      if (!(await this.#repeatUnanswered(life, open))) return;
    }
    this.#unanswered = null;
    while (!life.isOver) if (!(await this.#callOnce(life))) return;
  }

  async #callOnce(life: ServerRun): Promise<boolean> {
    this.#calls += 1;
    const user =
      this.users[Math.floor(this.#random() * this.users.length)] ?? new ExpectedUser("nobody");
    const dice = this.#random() * 100;
    if (dice < 26) return this.#register(life, user, this.#text(life));
    if (dice < 38) return this.#register(life, user, user.slot?.info ?? "first");
    if (dice < 50) return this.#borrow(life, user);
    if (dice < 60) return this.#change(life, unregisterCall(user));
    if (dice < 70) return this.#change(life, registerFeatureCall(user));
    if (dice < 76) return this.#change(life, releaseFeatureCall(user));
    if (dice < 94) return this.#countSomething(life);
    if (dice < 98) return this.#repeatAnswered(life);
    return this.#index === 0 ? this.#request(life) : this.#countSomething(life);
  }

  #text(life: ServerRun): string {
    return `${this.#index}.${this.#calls}${life.usesLongTexts ? PADDING : ""}`;
  }

  #key(): string | null {
    return this.#random() < 0.6 ? `key-${this.#index}.${this.#calls}` : null;
  }

  #register(life: ServerRun, user: ExpectedUser, info: string): Promise<boolean> {
    const after = { ...slotOrNew(user), info, expiresAt: null };
    return this.#change(life, {
      user,
      path: "register",
      body: { product: PRODUCT, user: user.name, user_info: info },
      slotAfter: after,
      expectedRefusal: user.slot === null ? "floating_not_available" : null,
    });
  }

  async #borrow(life: ServerRun, user: ExpectedUser): Promise<boolean> {
    const until = Date.now() + Math.floor((2 + this.#random() * 200) * HOUR);
    const slot = {
      ...slotOrNew(user),
      info: this.#text(life),
      borrowedUntil: new Date(until).toISOString(),
      expiresAt: null,
    };
    const key = this.#key();
    if (key !== null) this.#unanswered = { what: "borrow", key, user, slot };
    const went = await this.#change(life, borrowCall(user, slot, key));
    if (went) this.#unanswered = null;
    return went;
  }

  /** Asks, and notes what came of it. False: no answer. */
  async #change(
    life: ServerRun,
    { user, path, body, slotAfter, expectedRefusal, key }: ChangeCall,
  ): Promise<boolean> {
    const { slot } = user;
    user.beginCall(path, slotAfter);
    const answer = await callServer(life, this.#figures, `/api/v4/${path}`, body, key);
    if (answer === null) return false;
    const code = (answer.body as { readonly code?: string }).code;
    if (answer.status === 200 && slotAfter !== null && (path === "register" || path === "borrow")) {
      const { user_info: info, ...row } = answer.body as RegistrationReply;
      const told = { ...slotAfter, info, borrowedUntil: row.borrowed_until };
      user.recordAnswer({ ...told, registeredAt: row.registered_at, expiresAt: row.expires_at });
      if (!isConsistentSlot(slotAfter, user.slot))
        this.#reportWrongAnswer(path, user.name, slot, answer);
      this.#figures.counts.changes += 1;
    } else if (answer.status === 200 && expectedRefusal !== "user_not_registered") {
      user.recordAnswer(slotAfter);
      this.#figures.counts.changes += 1;
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
    name: string,
    held: unknown,
    { status, body }: CallAnswer,
  ): void {
    const told = JSON.stringify(body).slice(0, 400);
    this.#figures.recordViolation(
      "answers",
      `${path} of ${name} with ${JSON.stringify(held)}: ${status} ${told}`,
    );
  }

  async #countSomething(life: ServerRun): Promise<boolean> {
    const which: CounterName = this.#random() < 0.7 ? "license" : "feature";
    const key = this.#key();
    if (key !== null) this.#unanswered = { what: "count", which, key, isCounted: false };
    const total = await this.#count(life, which, key);
    if (total === null) return false;
    this.#unanswered = null;
    if (key !== null) this.#answered = { which, key, total };
    return true;
  }

  async #count(life: ServerRun, which: CounterName, key: string | null): Promise<number | null> {
    const counter = this.#ledger().counters[which];
    const least = Math.max(counter.acknowledged, counter.highestShown) + this.weight;
    counter.pendingWeights.add(this.weight);
    const answer = await this.#sendCount(life, which, key);
    if (answer === null) return null;
    counter.recordAnswer(this.weight);
    this.#figures.counts.counts += 1;
    const complaint = counter.recordShown(answer, least);
    if (complaint !== null) this.#figures.recordViolation("answers", `${which}: ${complaint}`);
    return answer;
  }

  /** The total that was answered. */
  async #sendCount(
    life: ServerRun,
    which: CounterName,
    key: string | null,
  ): Promise<number | null> {
    const counted = which === "license" ? {} : { feature: COUNTING_FEATURE };
    const path = which === "license" ? "add_consumption" : "add_feature_consumption";
    const body = { product: PRODUCT, ...counted, consumptions: String(this.weight) };
    const answer = await callServer(life, this.#figures, `/api/v4/${path}`, body, key);
    if (answer === null) return null;
    if (answer.status !== 200) this.#reportWrongAnswer(path, `client ${this.#index}`, key, answer);
    return (answer.body as { readonly total_consumptions: number }).total_consumptions;
  }

  async #repeatUnanswered(life: ServerRun, open: KeyedCall): Promise<boolean> {
    this.#figures.counts.repeats += 1;
    if (open.what === "borrow")
      return this.#change(life, borrowCall(open.user, open.slot, open.key));
    const { which, key, isCounted } = open;
    if (!isCounted) return (await this.#count(life, which, key)) !== null;
    const total = await this.#sendCount(life, which, key);
    if (total === null) return false;
    const { acknowledged } = this.#ledger().counters[which];
    if (total < this.weight || total > acknowledged) {
      this.#figures.recordViolation(
        "repeats",
        `${which}, key ${key}: ${total} is told of ${acknowledged}`,
      );
    }
    return true;
  }

  async #repeatAnswered(life: ServerRun): Promise<boolean> {
    if (this.#answered === null) return true;
    const { which, key, total } = this.#answered;
    const again = await this.#sendCount(life, which, key);
    if (again === null) return false;
    this.#figures.counts.repeats += 1;
    if (again !== total) {
      this.#figures.recordViolation(
        "repeats",
        `${which}, key ${key}: ${again} is told, ${total} was`,
      );
    }
    return true;
  }

  async #request(life: ServerRun): Promise<boolean> {
    const counter = this.#ledger().counters.license;
    const least = Math.max(counter.acknowledged, counter.highestShown);
    const path = "/api/v4/license/generate";
    const answer = await callServer(life, this.#figures, path, { product: PRODUCT });
    if (answer === null) return false;
    if (answer.status !== 200) this.#reportWrongAnswer(path, "the site", null, answer);
    const { request_id: id, payload } = answer.body as { request_id: string; payload: string };
    const claims = JSON.parse(Buffer.from(payload.split(".")[1] ?? "", "base64url").toString()) as {
      readonly audit: { readonly seq: number; readonly sum: string };
      readonly licenses: readonly { readonly total_consumptions: number }[];
    };
    const complaint = counter.recordShown(claims.licenses[0]?.total_consumptions ?? -1, least);
    if (complaint !== null)
      this.#figures.recordViolation("answers", `license/generate: ${complaint}`);
    this.#ledger().requests.push({ id, audit: claims.audit });
    this.#figures.counts.requests += 1;
    return true;
  }
}
