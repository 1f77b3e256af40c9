// Clients of one server that log what was granted and what was refused. A read must show every
// granted change, and never one that was refused.
import { waitWithin } from "./journal-writes.ts";

const PRODUCT = "cad";
const PAUSE = 10;

/** One user's slot as its client knows it; `pending` while the client waits for an answer. */
interface ClientSlot {
  state: "pending" | "registered" | "released" | "refused";
  /** The value of the logical clock when the slot got this state. */
  since: number;
}

export interface CallReply {
  readonly status: number;
  readonly code: string;
  readonly text: string;
}

export class CheckedClients {
  readonly #slots = new Map<string, ClientSlot>();
  readonly #usersEverShown = new Set<string>();
  readonly violations: string[] = [];
  readonly counts = { granted: 0, refused: 0, reads: 0 };
  url = "";
  #consumed = 0;
  #logicalClock = 0;
  #userCount = 0;
  #isStopping = false;
  #load: Promise<unknown> = Promise.resolve();

  /** Starts this many clients that change slots, and two that read; they run until `stop`. */
  start(clients: number): void {
    this.#isStopping = false;
    const writers = Array.from({ length: clients }, () => this.#repeat(() => this.#change()));
    const readers = [1, 2].map(() => this.#repeat(() => this.readAndCompare(false)));
    this.#load = Promise.all([...writers, ...readers]);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#load;
  }

  /** Waits until this many more calls were granted or refused; false if the time ran out. */
  async waitForMore(
    outcome: "granted" | "refused",
    count: number,
    milliseconds: number,
  ): Promise<boolean> {
    const target = this.counts[outcome] + count;
    return waitWithin(
      milliseconds,
      () => this.violations.length > 0 || this.counts[outcome] >= target,
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

  /**
   * Reads the registrations. Unless `mustSucceed`, the read may be refused until a change is
   * refused.
   */
  async readAndCompare(mustSucceed: boolean): Promise<void> {
    const hadRefusals = this.counts.refused > 0;
    this.#logicalClock += 1;
    const sentAt = this.#logicalClock;
    const { status, code, text } = await this.call(
      `/api/admin/v1/registrations?product=${PRODUCT}`,
    );
    this.counts.reads += 1;
    if (status !== 200) {
      // A read of a change that is being written is refused with it; a later read is not.
      if (mustSucceed || code !== "storage_full" || hadRefusals) {
        this.violations.push(`a read was answered with ${status} ${code}`);
      }
      return;
    }
    const users = (JSON.parse(text) as { readonly user: string }[]).map(({ user }) => user);
    this.#compare(new Set(users), sentAt);
    await Bun.sleep(PAUSE);
  }

  /** While no call is pending, the server and the clients' log must agree completely. */
  async checkAgreement(context: string): Promise<void> {
    const before = this.violations.length;
    await this.readAndCompare(true);
    const status = await this.call("/api/admin/v1/status");
    const { licenses } = JSON.parse(status.text) as {
      readonly licenses: readonly { readonly total_consumptions: number }[];
    };
    const total = licenses[0]?.total_consumptions;
    if (total !== this.#consumed)
      this.violations.push(`the consumption is ${total}, not ${this.#consumed}`);
    for (const [user, { state }] of this.#slots) {
      if (state === "refused" && this.#usersEverShown.has(user)) {
        this.violations.push(`${user} was refused, but a read showed the user`);
      }
    }
    for (const index of this.violations.keys()) {
      if (index >= before) this.violations[index] = `${context}: ${this.violations[index]}`;
    }
  }

  /** Releases all slots, so that the next round starts with few registrations to compare. */
  async unregisterAll(): Promise<void> {
    const { status, code } = await this.call("/api/v4/unregister/all", {});
    if (status !== 200) this.violations.push(`unregister/all was answered with ${status} ${code}`);
    this.#slots.clear();
    this.#usersEverShown.clear();
    this.counts.refused = 0;
  }

  async #repeat(callOnce: () => Promise<void>): Promise<void> {
    try {
      while (!this.#isStopping && this.violations.length === 0) await callOnce();
    } catch (error) {
      this.violations.push(`a call failed: ${String(error)}`);
    }
  }

  async #change(): Promise<void> {
    this.#userCount += 1;
    const name = `user ${this.#userCount}`;
    const slot: ClientSlot = { state: "pending", since: 0 };
    this.#slots.set(name, slot);
    const isGranted = await this.#send("register", { user: name });
    this.#settle(slot, isGranted ? "registered" : "refused");
    if (!isGranted) return;
    if (this.#userCount % 3 === 0 && (await this.#send("add_consumption", { consumptions: "2" }))) {
      this.#consumed += 2;
    }
    if (this.#userCount % 4 !== 0) return;
    const { since } = slot;
    slot.state = "pending";
    if (await this.#send("unregister", { user: name })) this.#settle(slot, "released");
    else Object.assign(slot, { state: "registered", since });
  }

  #settle(slot: ClientSlot, state: "registered" | "released" | "refused"): void {
    this.#logicalClock += 1;
    Object.assign(slot, { state, since: this.#logicalClock });
  }

  /**
   * Sends a change; true if it was granted. A full disk is the only allowed reason for a refusal.
   */
  async #send(operation: string, fields: object): Promise<boolean> {
    const body = { product: PRODUCT, ...fields };
    const { status, code } = await this.call(`/api/v4/${operation}`, body);
    if (status === 200) this.counts.granted += 1;
    else if (status === 503 && code === "storage_full") this.counts.refused += 1;
    else this.violations.push(`${operation} was answered with ${status} ${code}`);
    if (status !== 200) await Bun.sleep(PAUSE);
    return status === 200;
  }

  #compare(shownUsers: ReadonlySet<string>, sentAt: number): void {
    for (const user of shownUsers) this.#usersEverShown.add(user);
    for (const [user, { state, since }] of this.#slots) {
      const isSettled = since < sentAt;
      if (!isSettled) continue;
      if (state === "registered" && !shownUsers.has(user))
        this.violations.push(`a read does not show ${user}, who is registered`);
      if (state === "released" && shownUsers.has(user))
        this.violations.push(`a read shows ${user}, whose slot was released`);
    }
  }
}
