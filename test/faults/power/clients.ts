// Client applications. Each makes one call at a time, until the server no longer answers.
import { ExpectedUser, ExpectedState, type SlotReply } from "./expected-state.ts";

export const PRODUCT = "cad";

type Random = () => number;

/** Thrown when a call gets no answer: the server has ended or the power was cut. */
export class ServerGoneError extends Error {}

/** Calls one server and records calls and answers in the expected state. */
export class PowerClients {
  readonly #url: string;
  readonly #expected: ExpectedState;
  readonly #abortController = new AbortController();
  #keyCount = 0;

  constructor(url: string, expected: ExpectedState) {
    this.#url = url;
    this.#expected = expected;
  }

  /** Makes calls for the first `count` users; resolves when none of them gets an answer. */
  async runLoad(count: number, random: Random): Promise<void> {
    const activeUsers = this.#expected.users.slice(0, count);
    await Promise.all(
      activeUsers.map((expectedUser) => this.#callUntilServerIsGone(expectedUser, random)),
    );
  }

  /** Ends the calls that wait for a server that has ended. */
  abortCalls(): void {
    this.#abortController.abort();
  }

  async #callUntilServerIsGone(expectedUser: ExpectedUser, random: Random): Promise<void> {
    try {
      for (;;) await this.#makeRandomCall(expectedUser, random);
    } catch (error) {
      if (!(error instanceof ServerGoneError)) throw error;
    }
  }

  #makeRandomCall(expectedUser: ExpectedUser, random: Random): Promise<void> {
    const choice = random();
    if (choice < 0.3) return this.#register(expectedUser, random);
    if (choice < 0.4) return this.#borrow(expectedUser, random);
    if (choice < 0.5) return this.#unregister(expectedUser);
    if (choice < 0.75) return this.#addConsumption(expectedUser, 1 + Math.floor(random() * 9));
    return choice < 0.9 ? this.#compareSlots() : this.#compareTotal();
  }

  async #register(expectedUser: ExpectedUser, random: Random): Promise<void> {
    // A heartbeat with unchanged user_info makes a different kind of journal line.
    const unchangedInfo = random() < 0.3 ? expectedUser.slot?.user_info : undefined;
    await this.#callForSlot(
      "register",
      expectedUser,
      unchangedInfo ?? uniqueInfo(expectedUser, random),
    );
  }

  #borrow(expectedUser: ExpectedUser, random: Random): Promise<void> {
    return this.#callForSlot("borrow", expectedUser, uniqueInfo(expectedUser, random));
  }

  async #callForSlot(operation: string, expectedUser: ExpectedUser, info: string): Promise<void> {
    expectedUser.beginCall(info);
    const body = { product: PRODUCT, user: expectedUser.user, user_info: info };
    expectedUser.recordAnswer(await this.#post<SlotReply>(operation, body));
  }

  async #unregister(expectedUser: ExpectedUser): Promise<void> {
    if (expectedUser.slot === null) return;
    expectedUser.beginCall(null);
    await this.#post("unregister", { product: PRODUCT, user: expectedUser.user });
    expectedUser.recordAnswer(null);
  }

  async #addConsumption(expectedUser: ExpectedUser, count: number): Promise<void> {
    const expected = this.#expected;
    const key = `${expectedUser.user}-${Date.now()}-${(this.#keyCount += 1)}`;
    const countCall = { key, count };
    expected.pendingCounts.set(key, countCall);
    await this.#postCount(countCall);
    expected.pendingCounts.delete(key);
    expected.acknowledgedTotal += count;
    expected.lastAcknowledgedCount = countCall;
  }

  async #postCount({ key, count }: { key: string; count: number }): Promise<void> {
    const body = { product: PRODUCT, consumptions: String(count) };
    const reply = await this.#post<{ total_consumptions: number }>("add_consumption", body, {
      "idempotency-key": key,
    });
    this.#expected.highestShownTotal = Math.max(
      this.#expected.highestShownTotal,
      reply.total_consumptions,
    );
  }

  async #compareSlots(): Promise<void> {
    const { users, figures } = this.#expected;
    const before = new Map(users.map(({ user, answerCount }) => [user, answerCount]));
    const slots = new Map((await this.readSlots()).map((slot) => [slot.user, slot]));
    for (const expectedUser of users) {
      expectedUser.recordRead(slots.get(expectedUser.user), before.get(expectedUser.user) ?? 0);
    }
    figures.reads += 1;
  }

  async #compareTotal(): Promise<void> {
    const total = await this.readTotal();
    this.#expected.highestShownTotal = Math.max(this.#expected.highestShownTotal, total);
    this.#expected.figures.reads += 1;
  }

  readSlots(): Promise<SlotReply[]> {
    return this.#get<SlotReply[]>("/api/admin/v1/registrations");
  }

  async readTotal(): Promise<number> {
    const path = `/api/v4/license?product=${PRODUCT}`;
    return (await this.#get<{ total_consumptions: number }>(path)).total_consumptions;
  }

  /** Whether the server found the end of an interrupted write when it started. */
  async hasTornTailNote(): Promise<boolean> {
    const status = await this.#get<{ storage: { recovery_notes: string[] } }>(
      "/api/admin/v1/status",
    );
    return status.storage.recovery_notes.some((note) => note.includes(".torn"));
  }

  /** Repeats every unanswered count and one answered count under their keys: each counts once. */
  async repeatCounts(): Promise<void> {
    const expected = this.#expected;
    const pending = [...expected.pendingCounts.values()];
    for (const countCall of pending) {
      await this.#postCount(countCall);
      expected.acknowledgedTotal += countCall.count;
      expected.pendingCounts.delete(countCall.key);
    }
    if (expected.lastAcknowledgedCount !== null)
      await this.#postCount(expected.lastAcknowledgedCount);
    const readTotal = await this.readTotal();
    if (readTotal === expected.acknowledgedTotal) expected.figures.repeated += pending.length;
    else
      expected.violations.push({
        promise: "once",
        detail: { acknowledged: expected.acknowledgedTotal, pending, total: readTotal },
      });
    expected.acknowledgedTotal = readTotal;
  }

  async #post<T>(
    operation: string,
    body: object,
    extraHeaders: Record<string, string> = {},
  ): Promise<T> {
    const text = await this.#call(`/api/v4/${operation}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...extraHeaders },
      body: JSON.stringify(body),
    });
    return (text.startsWith("{") ? JSON.parse(text) : text) as T;
  }

  async #get<T>(path: string): Promise<T> {
    return JSON.parse(await this.#call(path, {})) as T;
  }

  async #call(path: string, options: RequestInit): Promise<string> {
    let response: Response;
    let text: string;
    try {
      response = await fetch(`${this.#url}${path}`, {
        ...options,
        signal: this.#abortController.signal,
      });
      text = await response.text();
    } catch {
      throw new ServerGoneError(path);
    }
    // A 5xx reply promises nothing, so it counts as no answer.
    if (response.status >= 500) throw new ServerGoneError(path);
    if (response.status !== 200) {
      this.#expected.violations.push({ promise: "answers", detail: { path, options, text } });
      throw new ServerGoneError(path);
    }
    this.#expected.figures.answered += 1;
    return text;
  }
}

let textCount = 0;

/** Never the same text twice; sometimes long, so that a batch fills several disk blocks. */
function uniqueInfo(expectedUser: ExpectedUser, random: Random): string {
  const length = random() < 0.3 ? Math.floor(random() * 3_500) : 0;
  return `${expectedUser.user}.${(textCount += 1)}.${"x".repeat(length)}`;
}
