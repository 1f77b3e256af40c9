// A slow and simple model of orders and automatic answers. It was written from the rules for
// vendors, and shares no code with src/desk/orders.

const HOUR = 3_600_000;
export const YEAR = 365 * 24 * HOUR;

export type Form = "file" | "code";

/** The hashed components of each host. */
export type Hosts = readonly (readonly string[])[];

/** What was sold. */
export interface SoldOrder {
  readonly key: string;
  readonly isOwnKey: boolean;
  readonly product: string;
  readonly appliances: number;
  readonly hosts: 1 | 2;
  readonly allowWeak: boolean;
  readonly moves: number;
  readonly end: number | null;
  readonly borrowHours: number;
  /** Consumption without a period; null: none is sold. */
  readonly consumption: number | null;
}

/** A license that a site lists. */
export interface Installed {
  readonly license: number;
  readonly serial: number;
  readonly total: number;
}

/** A request, or an activation code. */
export interface Ask {
  readonly id: string;
  readonly appliance: string;
  readonly form: Form;
  readonly key: string | null;
  readonly product: string | null;
  readonly hosts: Hosts;
  readonly isWeak: boolean;
  readonly createdAt: number;
  /** The requests that the site's audit log lists, the newest last. */
  readonly log: readonly string[];
  readonly installed: readonly Installed[];
}

/** `nobody`: not even a person may grant it without changing the order. */
export type Verdict = "repeat" | "automatic" | "person" | "nobody";

export type Use = "take" | "renewal" | "move";

export interface Judgement {
  readonly verdict: Verdict;
  /** The first rule that decides. */
  readonly why: string;
  readonly use: Use | null;
  readonly order: string | null;
}

/** One license of one appliance. */
export interface Holding {
  readonly order: string;
  readonly appliance: string;
  readonly form: Form;
  readonly license: number;
  serial: number;
  hosts: Hosts;
  borrowHours: number;
  /** When the last slots that were borrowed at a return have ended. */
  borrowedUntil: number;
  over: null | { readonly at: number };
}

interface OrderRecord {
  sold: SoldOrder;
  isClosed: boolean;
  /** Places that had a license. */
  taken: number;
  moves: number[];
}

export interface Receipt {
  readonly appliance: string;
  readonly license: number;
  readonly serial: number;
  readonly borrows: number;
}

interface Answered {
  readonly order: string;
  readonly license: number;
  readonly issuingKey: string;
}

interface SeenRequest {
  readonly id: string;
  readonly createdAt: number;
  readonly log: readonly string[];
  readonly hostCount: number;
  readonly installed: readonly Installed[];
}

interface ModelState {
  readonly orders: Record<string, OrderRecord>;
  holdings: Holding[];
  readonly answers: Record<string, Answered>;
  /** The requests of each appliance that were answered, the newest last. */
  readonly seen: Record<string, readonly SeenRequest[]>;
  readonly lost: string[];
  readonly retired: string[];
  isRestored: boolean;
  /** Licenses that sites have and the desk does not know, by what it was told. */
  readonly claims: string[];
}

/** A part may be exchanged: three of five of the earlier components are enough. */
function isSameHost(earlier: readonly string[], now: readonly string[]): boolean {
  const kept = earlier.filter((component) => now.includes(component)).length;
  return kept * 5 >= earlier.length * 3;
}

function areSameHosts(earlier: Hosts, now: Hosts): boolean {
  if (earlier.length !== now.length) return false;
  const orders = now.length === 2 ? [now, [now[1] ?? [], now[0] ?? []]] : [now];
  return orders.some((order) =>
    order.every((components, index) => isSameHost(earlier[index] ?? [], components)),
  );
}

export class OrderModel {
  state: ModelState = {
    orders: {},
    holdings: [],
    answers: {},
    seen: {},
    lost: [],
    retired: [],
    isRestored: false,
    claims: [],
  };

  copy(): OrderModel {
    const copy = new OrderModel();
    const { orders, holdings, answers, seen, lost, retired, isRestored, claims } = this.state;
    copy.state = {
      orders: Object.fromEntries(
        Object.entries(orders).map(([key, order]) => [key, { ...order, moves: [...order.moves] }]),
      ),
      holdings: holdings.map((holding) => ({ ...holding })),
      answers: { ...answers },
      seen: { ...seen },
      lost: [...lost],
      retired: [...retired],
      isRestored,
      claims: [...claims],
    };
    return copy;
  }

  // What happens at the desk besides answers.

  sell(sold: SoldOrder): void {
    const record = this.state.orders[sold.key];
    if (record === undefined)
      this.state.orders[sold.key] = { sold, isClosed: false, taken: 0, moves: [] };
    else record.sold = sold;
  }

  close(key: string): void {
    this.#order(key).isClosed = true;
  }

  retire(issuingKey: string): void {
    this.state.retired.push(issuingKey);
  }

  restored(): void {
    this.state.isRestored = true;
  }

  /** Anybody can claim a license: it counts for an order or a known appliance, and once. */
  noteLoss({ appliance, installed }: Ask, hasOrder: boolean): void {
    const isKnown = this.state.holdings.some((holding) => holding.appliance === appliance);
    if (!hasOrder && !isKnown) return;
    for (const entry of installed) {
      const claim = `${appliance} ${entry.license} ${entry.serial}`;
      const isLoss = this.findInstalled(appliance, entry) === undefined;
      if (!isLoss || this.state.claims.includes(claim)) continue;
      this.state.claims.push(claim);
      this.restored();
    }
  }

  endRestored(): void {
    this.state.isRestored = false;
  }

  /**
   * A receipt: the license ends, and with borrows its place stays taken for a time. A site that got
   * a newer serial in answer to a request, and did not install it yet, still may.
   */
  receive(receipt: Receipt, now: number): void {
    const holding = this.#find(receipt.appliance, receipt.license);
    if (holding === undefined) return;
    if (receipt.borrows > 0) holding.borrowedUntil = now + holding.borrowHours * HOUR;
    if (holding.over === null && receipt.serial >= holding.serial) holding.over = { at: now };
  }

  // Questions.

  live(): Holding[] {
    return this.state.holdings.filter(({ over }) => over === null);
  }

  liveUnder(order: string): Holding[] {
    return this.live().filter((holding) => holding.order === order);
  }

  /** Places that nobody else may have now. */
  occupied(order: string, now: number): number {
    return this.state.holdings.filter(
      (holding) =>
        holding.order === order && (holding.over === null || holding.borrowedUntil > now),
    ).length;
  }

  order(key: string): Readonly<OrderRecord> | null {
    return this.state.orders[key] ?? null;
  }

  judge(ask: Ask, now: number, lostAppliance: string | null = null): Judgement {
    const answered = this.state.answers[`${ask.appliance} ${ask.id}`];
    if (answered !== undefined) return this.#judgeRepeat(answered, ask);
    const order = this.#findOrder(ask);
    if (order === null) return { verdict: "person", why: "no order", use: null, order: null };
    const { sold, isClosed } = order;
    const held = this.liveUnder(sold.key).find(({ appliance }) => appliance === ask.appliance);
    const found = (verdict: Verdict, why: string, use: Use | null = null): Judgement => ({
      verdict,
      why,
      use,
      order: sold.key,
    });
    if (isClosed) return found("nobody", "closed");
    if (ask.product !== null && ask.product !== sold.product) return found("nobody", "product");
    if (sold.end !== null && sold.end <= now) return found("nobody", "ended");
    if (held !== undefined && held.form !== ask.form) return found("nobody", "other form");
    const lost = this.liveUnder(sold.key).find(({ appliance }) => appliance === lostAppliance);
    if (held !== undefined && lost !== undefined) return found("nobody", "holds a place already");
    const used = this.occupied(sold.key, now) - (lost === undefined ? 0 : 1);
    if (held === undefined && used >= sold.appliances) {
      const isWaiting = this.liveUnder(sold.key).length < sold.appliances;
      return found(isWaiting ? "person" : "nobody", isWaiting ? "borrows" : "full");
    }
    const use = this.#useOf(order, ask, held, lost);
    const why =
      ask.hosts.length !== sold.hosts
        ? "hosts"
        : ask.isWeak && !sold.allowWeak
          ? "weak"
          : (this.#findContradiction(ask) ?? this.#findReason(order, use, ask, held, now));
    if (lost !== undefined && why !== "hosts") return found("person", "lost machine", use);
    return why === null ? found("automatic", use, use) : found("person", why, use);
  }

  #judgeRepeat(answered: Answered, ask: Ask): Judgement {
    const found = { use: null, order: answered.order };
    const holding = this.live().find(
      ({ appliance, license }) => appliance === ask.appliance && license === answered.license,
    );
    if (holding === undefined) return { ...found, verdict: "nobody", why: "answered and ended" };
    if (this.state.retired.includes(answered.issuingKey))
      return { ...found, verdict: "person", why: "answered with a retired key" };
    return { ...found, verdict: "repeat", why: "answered" };
  }

  /** By its key; without one, the only open order of this product that the appliance holds. */
  #findOrder({ key, appliance, product }: Ask): OrderRecord | null {
    if (key !== null) return this.state.orders[key] ?? null;
    const held = this.live()
      .filter((holding) => holding.appliance === appliance)
      .map((holding) => this.#order(holding.order))
      .filter(({ isClosed, sold }) => !isClosed && (product === null || sold.product === product));
    return held.length === 1 ? (held[0] ?? null) : null;
  }

  #useOf(
    { sold, taken }: OrderRecord,
    ask: Ask,
    held: Holding | undefined,
    lost: Holding | undefined,
  ): Use {
    if (held !== undefined) {
      // A code has no list of components: another hardware id is all that it says.
      const isSame =
        ask.form === "file"
          ? areSameHosts(held.hosts, ask.hosts)
          : Bun.deepEquals(held.hosts, ask.hosts);
      return isSame ? "renewal" : "move";
    }
    return lost === undefined && taken < sold.appliances ? "take" : "move";
  }

  /** What a site says contradicts what it said before, or the desk's ledger. */
  #findContradiction(ask: Ask): string | null {
    if (ask.form === "code") return null;
    const seen = this.state.seen[ask.appliance] ?? [];
    const newest = seen.at(-1);
    // A request may arrive late, after one that lists it.
    const isLate = newest?.log.includes(ask.id) === true;
    if (newest !== undefined && !isLate && !ask.log.includes(newest.id)) return "fork";
    const before = isLate ? seen.findLast(({ id }) => ask.log.includes(id)) : newest;
    // The desk may answer it: whether that is odd depends on the order of the requests.
    if (seen.some(({ hostCount }) => hostCount > ask.hosts.length)) return "had a pair";
    if (before !== undefined && ask.createdAt < before.createdAt) return "dated earlier";
    const hasFallen = ({ license, total }: Installed): boolean =>
      before?.installed.some((entry) => entry.license === license && entry.total > total) === true;
    // The same: it may fall after a return.
    if (ask.installed.some(hasFallen)) return "total fell";
    if (this.showsLoss(ask)) return "unknown license";
    const isOver = (installed: Installed): boolean => {
      const over = this.findInstalled(ask.appliance, installed)?.over ?? null;
      return over !== null && ask.createdAt >= over.at;
    };
    return ask.installed.some(isOver) ? "returned but installed" : null;
  }

  /** Whether the site has what the desk does not know: the desk was restored, or rolled back. */
  showsLoss({ appliance, installed }: Ask): boolean {
    return installed.some((entry) => this.findInstalled(appliance, entry) === undefined);
  }

  /** The one that this serial belongs to: by code, a license that was returned keeps its number. */
  findInstalled(appliance: string, { license, serial }: Installed) {
    return this.state.holdings.find(
      (holding) =>
        holding.appliance === appliance && holding.license === license && holding.serial >= serial,
    );
  }

  /** The newest under this number. */
  #find(appliance: string, license: number): Holding | undefined {
    return this.state.holdings.findLast(
      (holding) => holding.appliance === appliance && holding.license === license,
    );
  }

  #findReason(
    { sold, moves }: OrderRecord,
    use: Use,
    { appliance, installed }: Ask,
    held: Holding | undefined,
    now: number,
  ): string | null {
    if (this.state.lost.includes(appliance)) return "written off, but alive";
    // What the site does not have, it may have returned after the backup.
    const isThere = installed.some((entry) => entry.license === held?.license);
    if (this.state.isRestored && !isThere) return "restored desk";
    if (use === "renewal") return null;
    if (!sold.isOwnKey && held === undefined) return "the vendor's key";
    if (use === "take") return null;
    if (moves.filter((at) => at > now - YEAR).length >= sold.moves) return "moves";
    return sold.consumption === null ? null : "consumption";
  }

  /** An answer, by the desk itself or by a person. */
  grant(
    ask: Ask,
    order: string,
    use: Use,
    issued: { readonly license: number; readonly serial: number; readonly issuingKey: string },
    now: number,
    lostAppliance: string | null = null,
  ): void {
    const { license, serial, issuingKey } = issued;
    const record = this.#order(order);
    const { borrowHours } = record.sold;
    const { appliance, form, hosts } = ask;
    for (const holding of this.liveUnder(order)) {
      if (holding.appliance !== lostAppliance) continue;
      holding.over = { at: now };
      this.state.lost.push(holding.appliance);
    }
    const held = this.liveUnder(order).find((holding) => holding.appliance === appliance);
    if (held === undefined) {
      // By code, a license that was returned keeps its number.
      const borrowed = Math.max(borrowHours, this.#find(appliance, license)?.borrowHours ?? 0);
      const place = { order, appliance, form, license, serial, hosts, borrowHours: borrowed };
      this.state.holdings.push({ ...place, borrowedUntil: 0, over: null });
    } else {
      held.serial = serial;
      held.hosts = hosts;
      held.borrowHours = Math.max(held.borrowHours, borrowHours);
    }
    if (use === "take") record.taken += 1;
    if (use === "move") record.moves.push(now);
    this.state.answers[`${appliance} ${ask.id}`] = { order, license, issuingKey };
    if (form === "file") {
      const { id, createdAt, log } = ask;
      const { installed } = ask;
      const request = { id, createdAt, log, installed, hostCount: hosts.length };
      const seen = this.state.seen[appliance] ?? [];
      const newest = seen.at(-1);
      const isLate = newest?.log.includes(id) === true;
      const isForked = newest !== undefined && !isLate && !log.includes(newest.id);
      this.state.seen[appliance] = isForked
        ? [request]
        : [...seen, request].toSorted((a, b) => a.log.length - b.log.length);
    }
  }

  #order(key: string): OrderRecord {
    const order = this.state.orders[key];
    if (order === undefined) throw new Error(`the model has no order ${key}`);
    return order;
  }
}
