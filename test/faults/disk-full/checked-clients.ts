// Clients of one server who keep a book of their own: what was granted and what was refused, in
// which nothing that a read shows may be missing, and nothing that was refused may turn up.
import { waitWithin } from "./journal-writes.ts";

const PRODUCT = "cad";
const PAUSE = 10;

/** One user's slot as the client knows it; `moving` while an answer is awaited. */
interface ClientSlot {
  state: "moving" | "held" | "gone" | "refused";
  /** The reading of the book's own clock when it came to that. */
  since: number;
}

export interface CallReply {
  readonly status: number;
  readonly code: string;
  readonly text: string;
}

export class CheckedClients {
  readonly #slots = new Map<string, ClientSlot>();
  readonly #everSeen = new Set<string>();
  readonly violations: string[] = [];
  readonly counts = { granted: 0, refused: 0, reads: 0 };
  url = "";
  #consumed = 0;
  #clock = 0;
  #names = 0;
  #stopping = false;
  #load: Promise<unknown> = Promise.resolve();

  /** Sends until told to stop: so many who change things, and two who look. */
  start(clients: number): void {
    this.#stopping = false;
    const changing = Array.from({ length: clients }, () => this.#repeat(() => this.#change()));
    const looking = [1, 2].map(() => this.#repeat(() => this.readAndCompare(false)));
    this.#load = Promise.all([...changing, ...looking]);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#load;
  }

  /** Waits until so many more were granted, or refused. */
  async waitForMore(
    what: "granted" | "refused",
    count: number,
    milliseconds: number,
  ): Promise<boolean> {
    const wanted = this.counts[what] + count;
    return waitWithin(
      milliseconds,
      () => this.violations.length > 0 || this.counts[what] >= wanted,
    );
  }

  async call(path: string, body?: object): Promise<CallReply> {
    const response = await fetch(`${this.url}${path}`, {
      ...(body !== undefined && {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "content-type": "application/json" },
      }),
    });
    const text = await response.text();
    const code = response.ok ? "ok" : (JSON.parse(text) as { readonly code: string }).code;
    return { status: response.status, code, text };
  }

  /** A look at who holds what. With `must` it has to be answered; else it may be refused once. */
  async readAndCompare(must: boolean): Promise<void> {
    const refusedBefore = this.counts.refused > 0;
    this.#clock += 1;
    const asked = this.#clock;
    const { status, code, text } = await this.call(
      `/api/admin/v1/registrations?product=${PRODUCT}`,
    );
    this.counts.reads += 1;
    if (status !== 200) {
      // Who reads what is being written shares its fate; who asks later does not.
      if (must || code !== "storage_full" || refusedBefore) {
        this.violations.push(`a read was answered ${status} ${code}`);
      }
      return;
    }
    const users = (JSON.parse(text) as { readonly user: string }[]).map(({ user }) => user);
    this.#compare(new Set(users), asked);
    await Bun.sleep(PAUSE);
  }

  /** Nothing is under way: the server and the book must agree in everything. */
  async checkAgreement(when: string): Promise<void> {
    const before = this.violations.length;
    await this.readAndCompare(true);
    const status = await this.call("/api/admin/v1/status");
    const { licenses } = JSON.parse(status.text) as {
      readonly licenses: readonly { readonly total_consumptions: number }[];
    };
    const total = licenses[0]?.total_consumptions;
    if (total !== this.#consumed) this.violations.push(`consumed ${total}, not ${this.#consumed}`);
    for (const [user, { state }] of this.#slots) {
      if (state === "refused" && this.#everSeen.has(user)) {
        this.violations.push(`${user} was refused, and was seen`);
      }
    }
    for (const at of this.violations.keys()) {
      if (at >= before) this.violations[at] = `${when}: ${this.violations[at]}`;
    }
  }

  /** Everybody gives back, so that the next round begins with little to look at. */
  async unregisterAll(): Promise<void> {
    const { status, code } = await this.call("/api/v4/unregister/all", {});
    if (status !== 200) this.violations.push(`unregister/all was answered ${status} ${code}`);
    this.#slots.clear();
    this.#everSeen.clear();
    this.counts.refused = 0;
  }

  async #repeat(step: () => Promise<void>): Promise<void> {
    try {
      while (!this.#stopping && this.violations.length === 0) await step();
    } catch (error) {
      this.violations.push(`a call failed: ${String(error)}`);
    }
  }

  async #change(): Promise<void> {
    this.#names += 1;
    const name = `user ${this.#names}`;
    const slot: ClientSlot = { state: "moving", since: 0 };
    this.#slots.set(name, slot);
    const granted = await this.#sent("register", { user: name });
    this.#settle(slot, granted ? "held" : "refused");
    if (!granted) return;
    if (this.#names % 3 === 0 && (await this.#sent("add_consumption", { consumptions: "2" }))) {
      this.#consumed += 2;
    }
    if (this.#names % 4 !== 0) return;
    const { since } = slot;
    slot.state = "moving";
    if (await this.#sent("unregister", { user: name })) this.#settle(slot, "gone");
    else Object.assign(slot, { state: "held", since });
  }

  #settle(slot: ClientSlot, state: "held" | "gone" | "refused"): void {
    this.#clock += 1;
    Object.assign(slot, { state, since: this.#clock });
  }

  /** Was it granted? A full disk is the only reason not to. */
  async #sent(operation: string, fields: object): Promise<boolean> {
    const body = { product: PRODUCT, ...fields };
    const { status, code } = await this.call(`/api/v4/${operation}`, body);
    if (status === 200) this.counts.granted += 1;
    else if (status === 503 && code === "storage_full") this.counts.refused += 1;
    else this.violations.push(`${operation} was answered ${status} ${code}`);
    if (status !== 200) await Bun.sleep(PAUSE);
    return status === 200;
  }

  #compare(seen: ReadonlySet<string>, asked: number): void {
    for (const user of seen) this.#everSeen.add(user);
    for (const [user, { state, since }] of this.#slots) {
      const settled = since < asked;
      if (state === "held" && settled && !seen.has(user))
        this.violations.push(`${user} is missing`);
      if (state === "gone" && settled && seen.has(user)) this.violations.push(`${user} is back`);
    }
  }
}
