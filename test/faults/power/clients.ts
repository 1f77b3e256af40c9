// Applications at work, each one call at a time, until nobody answers any more.
import { ExpectedUser, ExpectedState, type SlotReply } from "./expected-state.ts";

export const PRODUCT = "cad";

type Random = () => number;

/** Nobody answers: the server or the machine is gone. */
export class ServerGoneError extends Error {}

/** Speaks to one server for the ledger. */
export class PowerClients {
  readonly #url: string;
  readonly #ledger: ExpectedState;
  readonly #hanging = new AbortController();
  #keys = 0;

  constructor(url: string, ledger: ExpectedState) {
    this.#url = url;
    this.#ledger = ledger;
  }

  /** The first few accounts at work; resolves when the last of them hears nothing any more. */
  async runLoad(count: number, random: Random): Promise<void> {
    const working = this.#ledger.users.slice(0, count);
    await Promise.all(working.map((account) => this.#live(account, random)));
  }

  /** The server is gone: nobody waits any longer. */
  abortCalls(): void {
    this.#hanging.abort();
  }

  async #live(account: ExpectedUser, random: Random): Promise<void> {
    try {
      for (;;) await this.#act(account, random);
    } catch (error) {
      if (!(error instanceof ServerGoneError)) throw error;
    }
  }

  #act(account: ExpectedUser, random: Random): Promise<void> {
    const lot = random();
    if (lot < 0.3) return this.#keep(account, random);
    if (lot < 0.4) return this.#borrow(account, random);
    if (lot < 0.5) return this.#giveBack(account);
    if (lot < 0.75) return this.#count(account, 1 + Math.floor(random() * 9));
    return lot < 0.9 ? this.#compareSlots() : this.#compareTotal();
  }

  async #keep(account: ExpectedUser, random: Random): Promise<void> {
    // A heartbeat that says nothing new is a line of its own kind.
    const same = random() < 0.3 ? account.slot?.user_info : undefined;
    await this.#take("register", account, same ?? textOf(account, random));
  }

  #borrow(account: ExpectedUser, random: Random): Promise<void> {
    return this.#take("borrow", account, textOf(account, random));
  }

  async #take(operation: string, account: ExpectedUser, info: string): Promise<void> {
    account.beginCall(info);
    const body = { product: PRODUCT, user: account.user, user_info: info };
    account.recordAnswer(await this.#post<SlotReply>(operation, body));
  }

  async #giveBack(account: ExpectedUser): Promise<void> {
    if (account.slot === null) return;
    account.beginCall(null);
    await this.#post("unregister", { product: PRODUCT, user: account.user });
    account.recordAnswer(null);
  }

  async #count(account: ExpectedUser, count: number): Promise<void> {
    const ledger = this.#ledger;
    const key = `${account.user}-${Date.now()}-${(this.#keys += 1)}`;
    const made = { key, count };
    ledger.pendingCounts.set(key, made);
    await this.#add(made);
    ledger.pendingCounts.delete(key);
    ledger.acknowledgedTotal += count;
    ledger.lastAcknowledgedCount = made;
  }

  async #add({ key, count }: { key: string; count: number }): Promise<void> {
    const body = { product: PRODUCT, consumptions: String(count) };
    const reply = await this.#post<{ total_consumptions: number }>("add_consumption", body, {
      "idempotency-key": key,
    });
    this.#ledger.highestShownTotal = Math.max(
      this.#ledger.highestShownTotal,
      reply.total_consumptions,
    );
  }

  async #compareSlots(): Promise<void> {
    const { users, figures } = this.#ledger;
    const before = new Map(users.map(({ user, answerCount }) => [user, answerCount]));
    const slots = new Map((await this.readSlots()).map((slot) => [slot.user, slot]));
    for (const account of users) {
      account.recordRead(slots.get(account.user), before.get(account.user) ?? 0);
    }
    figures.reads += 1;
  }

  async #compareTotal(): Promise<void> {
    const total = await this.readTotal();
    this.#ledger.highestShownTotal = Math.max(this.#ledger.highestShownTotal, total);
    this.#ledger.figures.reads += 1;
  }

  readSlots(): Promise<SlotReply[]> {
    return this.#get<SlotReply[]>("/api/admin/v1/registrations");
  }

  async readTotal(): Promise<number> {
    const path = `/api/v4/license?product=${PRODUCT}`;
    return (await this.#get<{ total_consumptions: number }>(path)).total_consumptions;
  }

  /** Did it find the end of an interrupted write when it started? */
  async hasTornTailNote(): Promise<boolean> {
    const status = await this.#get<{ storage: { recovery_notes: string[] } }>(
      "/api/admin/v1/status",
    );
    return status.storage.recovery_notes.some((note) => note.includes(".torn"));
  }

  /** What was never answered, and one that was, again under the same key: each counts once. */
  async repeatCounts(): Promise<void> {
    const ledger = this.#ledger;
    const open = [...ledger.pendingCounts.values()];
    for (const made of open) {
      await this.#add(made);
      ledger.acknowledgedTotal += made.count;
      ledger.pendingCounts.delete(made.key);
    }
    if (ledger.lastAcknowledgedCount !== null) await this.#add(ledger.lastAcknowledgedCount);
    const readTotal = await this.readTotal();
    if (readTotal === ledger.acknowledgedTotal) ledger.figures.repeated += open.length;
    else
      ledger.violations.push({
        promise: "once",
        detail: { counted: ledger.acknowledgedTotal, open, total: readTotal },
      });
    ledger.acknowledgedTotal = readTotal;
  }

  async #post<T>(operation: string, body: object, more: Record<string, string> = {}): Promise<T> {
    const text = await this.#call(`/api/v4/${operation}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...more },
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
      response = await fetch(`${this.#url}${path}`, { ...options, signal: this.#hanging.signal });
      text = await response.text();
    } catch {
      throw new ServerGoneError(path);
    }
    // A 5xx promises nothing, so it is no answer.
    if (response.status >= 500) throw new ServerGoneError(path);
    if (response.status !== 200) {
      this.#ledger.violations.push({ promise: "answers", detail: { path, options, text } });
      throw new ServerGoneError(path);
    }
    this.#ledger.figures.answered += 1;
    return text;
  }
}

let texts = 0;

/** Never the same twice, and sometimes long, so that a batch is more than one block of the disk. */
function textOf(account: ExpectedUser, random: Random): string {
  const length = random() < 0.3 ? Math.floor(random() * 3_500) : 0;
  return `${account.user}.${(texts += 1)}.${"x".repeat(length)}`;
}
