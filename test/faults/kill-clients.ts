// The load while a server is killed: applications that change something, one call at a time each,
// and note in the ledger what they asked and what they were told.
import { HOUR } from "../../src/domain/time.ts";
import type { RegistrationReply } from "../../src/http/routes/admin.ts";
import {
  borrowing,
  call,
  COUNTING,
  givingBack,
  kept,
  PRODUCT,
  releasingFeature,
  takingFeature,
  type Answer,
  type Change,
  type Life,
} from "./kill-calls.ts";
import type { Figures } from "./kill-figures.ts";
import { fits, User, type Ledger, type Slot, type Which } from "./kill-ledger.ts";

/** A call that is safe to repeat, as it was made. */
type Keyed =
  | { readonly what: "count"; readonly which: Which; readonly key: string; isCounted: boolean }
  | { readonly what: "borrow"; readonly key: string; readonly user: User; readonly slot: Slot };

const PADDING = "x".repeat(4_000);

export class Client {
  readonly users: readonly User[];
  /** What it adds to a counter: nobody else's, so that a total tells who was counted. */
  readonly weight: number;
  readonly #index: number;
  readonly #ledger: () => Ledger;
  readonly #figures: Figures;
  readonly #random: () => number;
  #calls = 0;
  #unanswered: Keyed | null = null;
  #answered: { readonly which: Which; readonly key: string; readonly total: number } | null = null;

  constructor(
    index: number,
    users: number,
    ledger: () => Ledger,
    figures: Figures,
    random: () => number,
  ) {
    this.#index = index;
    this.weight = 2 ** index;
    this.users = Array.from({ length: users }, (_, n) => new User(`user-${index}-${n}`));
    this.#ledger = ledger;
    this.#figures = figures;
    this.#random = random;
  }

  /** After a restart: which of the unanswered counts turned out to be counted. */
  settled(which: Which, counted: ReadonlySet<number>): void {
    const open = this.#unanswered;
    if (open?.what === "count" && open.which === which) open.isCounted ||= counted.has(this.weight);
  }

  /** Calls until the server is gone or nobody wants any more. */
  async run(life: Life): Promise<void> {
    const open = this.#unanswered;
    // Most callers try again what they heard nothing of, and some never do.
    if (open !== null && this.#random() < 0.8) {
      if (!(await this.#repeatUnanswered(life, open))) return;
    }
    this.#unanswered = null;
    while (!life.over) if (!(await this.#one(life))) return;
  }

  async #one(life: Life): Promise<boolean> {
    this.#calls += 1;
    const user = this.users[Math.floor(this.#random() * this.users.length)] ?? new User("nobody");
    const dice = this.#random() * 100;
    if (dice < 26) return this.#register(life, user, this.#text(life));
    if (dice < 38) return this.#register(life, user, user.held?.info ?? "first");
    if (dice < 50) return this.#borrow(life, user);
    if (dice < 60) return this.#change(life, givingBack(user));
    if (dice < 70) return this.#change(life, takingFeature(user));
    if (dice < 76) return this.#change(life, releasingFeature(user));
    if (dice < 94) return this.#countSomething(life);
    if (dice < 98) return this.#repeatAnswered(life);
    return this.#index === 0 ? this.#request(life) : this.#countSomething(life);
  }

  #text(life: Life): string {
    return `${this.#index}.${this.#calls}${life.padded ? PADDING : ""}`;
  }

  #key(): string | null {
    return this.#random() < 0.6 ? `key-${this.#index}.${this.#calls}` : null;
  }

  #register(life: Life, user: User, info: string): Promise<boolean> {
    const after = { ...kept(user), info, expiresAt: null };
    return this.#change(life, {
      user,
      path: "register",
      body: { product: PRODUCT, user: user.name, user_info: info },
      after,
      refusal: user.held === null ? "floating_not_available" : null,
    });
  }

  async #borrow(life: Life, user: User): Promise<boolean> {
    const until = Date.now() + Math.floor((2 + this.#random() * 200) * HOUR);
    const slot = {
      ...kept(user),
      info: this.#text(life),
      borrowedUntil: new Date(until).toISOString(),
      expiresAt: null,
    };
    const key = this.#key();
    if (key !== null) this.#unanswered = { what: "borrow", key, user, slot };
    const went = await this.#change(life, borrowing(user, slot, key));
    if (went) this.#unanswered = null;
    return went;
  }

  /** Asks, and notes what came of it. False: no answer. */
  async #change(life: Life, { user, path, body, after, refusal, key }: Change): Promise<boolean> {
    const { held } = user;
    user.ask(path, after);
    const answer = await call(life, this.#figures, `/api/v4/${path}`, body, key);
    if (answer === null) return false;
    const code = (answer.body as { readonly code?: string }).code;
    if (answer.status === 200 && after !== null && (path === "register" || path === "borrow")) {
      const { user_info: info, ...row } = answer.body as RegistrationReply;
      const told = { ...after, info, borrowedUntil: row.borrowed_until };
      user.answered({ ...told, registeredAt: row.registered_at, expiresAt: row.expires_at });
      if (!fits(after, user.held)) this.#wrong(path, user.name, held, answer);
      this.#figures.of.changes += 1;
    } else if (answer.status === 200 && refusal !== "user_not_registered") {
      user.answered(after);
      this.#figures.of.changes += 1;
    } else {
      if (answer.status !== 400 || code !== refusal || user.open?.shown === true) {
        this.#wrong(path, user.name, held, answer);
      }
      user.answered(held);
    }
    return true;
  }

  #wrong(path: string, name: string, held: unknown, { status, body }: Answer): void {
    const told = JSON.stringify(body).slice(0, 400);
    this.#figures.break(
      "answers",
      `${path} of ${name} with ${JSON.stringify(held)}: ${status} ${told}`,
    );
  }

  async #countSomething(life: Life): Promise<boolean> {
    const which: Which = this.#random() < 0.7 ? "license" : "feature";
    const key = this.#key();
    if (key !== null) this.#unanswered = { what: "count", which, key, isCounted: false };
    const total = await this.#count(life, which, key);
    if (total === null) return false;
    this.#unanswered = null;
    if (key !== null) this.#answered = { which, key, total };
    return true;
  }

  async #count(life: Life, which: Which, key: string | null): Promise<number | null> {
    const counter = this.#ledger().counters[which];
    const least = Math.max(counter.certain, counter.shown) + this.weight;
    counter.open.add(this.weight);
    const answer = await this.#ask(life, which, key);
    if (answer === null) return null;
    counter.answered(this.weight);
    this.#figures.of.counts += 1;
    const complaint = counter.show(answer, least);
    if (complaint !== null) this.#figures.break("answers", `${which}: ${complaint}`);
    return answer;
  }

  /** The total that was answered. */
  async #ask(life: Life, which: Which, key: string | null): Promise<number | null> {
    const counted = which === "license" ? {} : { feature: COUNTING };
    const path = which === "license" ? "add_consumption" : "add_feature_consumption";
    const body = { product: PRODUCT, ...counted, consumptions: String(this.weight) };
    const answer = await call(life, this.#figures, `/api/v4/${path}`, body, key);
    if (answer === null) return null;
    if (answer.status !== 200) this.#wrong(path, `client ${this.#index}`, key, answer);
    return (answer.body as { readonly total_consumptions: number }).total_consumptions;
  }

  async #repeatUnanswered(life: Life, open: Keyed): Promise<boolean> {
    this.#figures.of.repeats += 1;
    if (open.what === "borrow")
      return this.#change(life, borrowing(open.user, open.slot, open.key));
    const { which, key, isCounted } = open;
    if (!isCounted) return (await this.#count(life, which, key)) !== null;
    const total = await this.#ask(life, which, key);
    if (total === null) return false;
    const { certain } = this.#ledger().counters[which];
    if (total < this.weight || total > certain) {
      this.#figures.break("repeats", `${which}, key ${key}: ${total} is told of ${certain}`);
    }
    return true;
  }

  async #repeatAnswered(life: Life): Promise<boolean> {
    if (this.#answered === null) return true;
    const { which, key, total } = this.#answered;
    const again = await this.#ask(life, which, key);
    if (again === null) return false;
    this.#figures.of.repeats += 1;
    if (again !== total) {
      this.#figures.break("repeats", `${which}, key ${key}: ${again} is told, ${total} was`);
    }
    return true;
  }

  async #request(life: Life): Promise<boolean> {
    const counter = this.#ledger().counters.license;
    const least = Math.max(counter.certain, counter.shown);
    const path = "/api/v4/license/generate";
    const answer = await call(life, this.#figures, path, { product: PRODUCT });
    if (answer === null) return false;
    if (answer.status !== 200) this.#wrong(path, "the site", null, answer);
    const { request_id: id, payload } = answer.body as { request_id: string; payload: string };
    const claims = JSON.parse(Buffer.from(payload.split(".")[1] ?? "", "base64url").toString()) as {
      readonly audit: { readonly seq: number; readonly sum: string };
      readonly licenses: readonly { readonly total_consumptions: number }[];
    };
    const complaint = counter.show(claims.licenses[0]?.total_consumptions ?? -1, least);
    if (complaint !== null) this.#figures.break("answers", `license/generate: ${complaint}`);
    this.#ledger().requests.push({ id, audit: claims.audit });
    this.#figures.of.requests += 1;
    return true;
  }
}
