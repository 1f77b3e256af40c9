// A desk in memory and some sites, without signatures: each action is decided by the desk and by the
// model, and what the desk grants is counted independently of both.
import { decideRequest } from "../../../src/desk/answering/decide-request.ts";
import { DeskRefused } from "../../../src/desk/desk-refused.ts";
import type { CertifiedKey, DeskFacts } from "../../../src/desk/desk-records.ts";
import { USUAL_OPTIONS } from "../../../src/desk/issuing/issue-options.ts";
import {
  buildIssuedEntry,
  prepareLicense,
  type PreparedLicense,
} from "../../../src/desk/issuing/issue.ts";
import type {
  IssuedEntry,
  LedgerEntry,
  OrderEntry,
} from "../../../src/desk/ledger/ledger-entries.ts";
import { LedgerIndex } from "../../../src/desk/ledger/ledger-index.ts";
import { StatementIndex } from "../../../src/desk/ledger/statement-index.ts";
import { judgeUse } from "../../../src/desk/orders/judge-use.ts";
import { instant, SECOND } from "../../../src/domain/time.ts";
import {
  computeHardwareId,
  type HashedComponent,
} from "../../../src/license/documents/hardware.ts";
import type { LicenseRequest } from "../../../src/license/requests/request.ts";
import type { TermsDocument } from "../../../src/license/terms/terms.ts";
import { sha256 } from "../../../src/platform/crypto/hash.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { rfc3339 } from "../../../src/platform/rfc3339.ts";
import { MONDAY } from "../../support/scenario.ts";
import {
  OrderModel,
  YEAR,
  type Ask,
  type Form,
  type Hosts,
  type Installed,
  type Judgement,
  type SoldOrder,
} from "./order-model.ts";

const JWK = { kty: "OKP", crv: "Ed25519", x: "x".repeat(43) } as const;
const VENDOR = "VENDOR0000000001";
export const PRODUCT = "sim";

const ISSUING_KEYS = ["KEY0000000000001", "KEY0000000000002"] as const;

const CERTIFIED: readonly CertifiedKey[] = ISSUING_KEYS.map((id) => ({
  id,
  cert: id,
  certificate: { iss: VENDOR, iat: 0, until: 9_999_999_999, cnf: { jwk: JWK }, trust: 1 },
  since: rfc3339(MONDAY),
}));

class MemoryLedger extends LedgerIndex {
  constructor() {
    super(new StatementIndex(realDisk, "no-desk"));
  }

  append(entry: LedgerEntry): void {
    this.add(entry);
  }
}

interface Head {
  readonly request_id: string;
  readonly audit_seq: number;
  readonly sum: string;
}

/** A data folder. A copy of it on another machine has the same appliance. */
export interface Site {
  readonly appliance: string;
  readonly heads: readonly Head[];
  readonly installed: readonly Installed[];
  /** Lines of the audit log since the last request. */
  readonly lines: number;
}

/** What an appliance asks, as the desk gets it. */
export interface Sent {
  readonly request: LicenseRequest;
  readonly ask: Ask;
}

/** An automatic answer that is no renewal. */
interface Acquisition {
  readonly order: string;
  readonly at: number;
}

/** A violation of a property; its name is at the beginning of the text. */
class Violation extends Error {}

function demand(isKept: boolean, violation: () => string): asserts isKept {
  if (!isKept) throw new Violation(violation());
}

export const newSite = (appliance: string): Site => ({
  appliance,
  heads: [],
  installed: [],
  lines: 0,
});

/** All licenses by code under one key have one id. */
const codeLicenseOf = (order: string): number =>
  Number.parseInt(digestOf(`code ${order}`).slice(0, 12), 16);

const digests = new Map<string, string>();

/** A digest of a text, computed once. */
function digestOf(text: string): string {
  const known = digests.get(text) ?? sha256(text);
  digests.set(text, known);
  return known;
}

const componentsOf = (names: readonly string[]): HashedComponent[] =>
  names.map((name) => ({
    kind: name.startsWith("mac") ? "mac" : "board_serial",
    digest: digestOf(name),
  }));

const hardwareIds = new Map<string, string>();

function hardwareIdOf(names: readonly string[]): string {
  const key = names.join(" ");
  const known = hardwareIds.get(key) ?? computeHardwareId(componentsOf(names));
  hardwareIds.set(key, known);
  return known;
}

function termsOf({ product, end, borrowHours, consumption }: SoldOrder): TermsDocument {
  return {
    product,
    product_name: product,
    license_key: null,
    license_type:
      consumption !== null ? "consumption" : end === null ? "perpetual" : "time-limited",
    customer: null,
    metadata: null,
    trial: false,
    enabled: true,
    start: null,
    valid_until: end === null ? null : rfc3339(instant(end)),
    maintenance_until: null,
    grace_hours: null,
    slots: 1,
    timeout_minutes: 60,
    borrow_hours: borrowHours,
    early_return: true,
    move_grace_hours: 0,
    consumption:
      consumption === null
        ? null
        : { max: consumption, overages: 0, negative: false, period: null },
    features: [],
  };
}

export interface AskOptions {
  readonly form?: Form;
  readonly key: string | null;
  /** As the site writes it, if differently. */
  readonly spelling?: string;
  readonly product?: string | null;
  readonly hosts: Hosts;
}

/** What the model cannot decide: the desk may answer it. */
const UNDECIDED = new Set(["had a pair", "total fell"]);

/** Reasons for which a person may always decide. */
const DECIDABLE = new Set([
  "moves",
  "consumption",
  "the vendor's key",
  "restored desk",
  "written off, but alive",
  "lost machine",
  "fork",
]);

export class OrderWorld {
  now: number = MONDAY;
  entries: readonly LedgerEntry[] = [];
  model = new OrderModel();
  issuingKey: string = ISSUING_KEYS[0];
  retired: readonly string[] = [];
  acquisitions: readonly Acquisition[] = [];
  /** The largest numbers that were ever sold. */
  sold: Readonly<Record<string, { readonly appliances: number; readonly moves: number }>> = {};
  requestCount = 0;
  /** The last total of each license, by its appliance and number, that the desk was told. */
  totals: Readonly<Record<string, number>> = {};
  /** How often the model gave each reason. */
  verdicts = new Map<string, number>();
  #ledger: MemoryLedger | null = new MemoryLedger();

  copy(): OrderWorld {
    const copy = new OrderWorld();
    copy.now = this.now;
    copy.entries = this.entries;
    copy.model = this.model.copy();
    copy.issuingKey = this.issuingKey;
    copy.retired = this.retired;
    copy.acquisitions = this.acquisitions;
    copy.sold = this.sold;
    copy.requestCount = this.requestCount;
    copy.totals = this.totals;
    copy.verdicts = this.verdicts;
    copy.#ledger = null;
    return copy;
  }

  get ledger(): MemoryLedger {
    if (this.#ledger === null) {
      this.#ledger = new MemoryLedger();
      for (const entry of this.entries) this.#ledger.append(entry);
    }
    return this.#ledger;
  }

  /** It is built again from the lines when it is needed. */
  dropIndexes(): void {
    this.#ledger = null;
  }

  #append(...entries: readonly LedgerEntry[]): void {
    const { ledger } = this;
    for (const entry of entries) ledger.append(entry);
    this.entries = [...this.entries, ...entries];
  }

  get #at(): string {
    return rfc3339(instant(this.now));
  }

  get #desk(): DeskFacts {
    const vendor = {
      vendor: VENDOR,
      name: "Vendor",
      version: 1,
      jwk: JWK,
      products: [PRODUCT, "other"],
      retired: [...this.retired],
    };
    const keys = CERTIFIED.toSorted(
      (a, b) => Number(b.id === this.issuingKey) - Number(a.id === this.issuingKey),
    );
    return { vendor, trust: { vendor, document: "trust" }, keys, ledger: this.ledger };
  }

  // The desk's own commands.

  sell(order: SoldOrder): void {
    if (this.entries.length === 0)
      this.#append({ type: "customer", at: this.#at, customer: "c", name: "Customer" });
    const { appliances, moves } = this.sold[order.key] ?? { appliances: 0, moves: 0 };
    this.sold = {
      ...this.sold,
      [order.key]: {
        appliances: Math.max(appliances, order.appliances),
        moves: Math.max(moves, order.moves),
      },
    };
    this.model.sell(order);
    this.#append({
      type: "order",
      at: this.#at,
      license_key: order.key,
      is_own_key: order.isOwnKey,
      customer: "c",
      terms: termsOf(order),
      appliances: order.appliances,
      hosts: order.hosts,
      allow_weak_binding: order.allowWeak,
      moves: order.moves,
      policy_id: "p",
    });
  }

  close(key: string): void {
    this.model.close(key);
    this.#append({ type: "order-closed", at: this.#at, license_key: key, reason: "mistake" });
  }

  /** The other issuing key signs from now on. */
  changeKey(retire: boolean): void {
    const before = this.issuingKey;
    const next = ISSUING_KEYS.find((id) => id !== before && !this.retired.includes(id));
    if (next === undefined) return;
    this.issuingKey = next;
    if (!retire) return;
    this.retired = [...this.retired, before];
    this.model.retire(before);
  }

  markRestored(): void {
    this.model.restored();
    this.#append({ type: "restored", at: this.#at, cause: "backup" });
  }

  endRestored(): void {
    this.model.endRestored();
    this.#append({ type: "restored-ended", at: this.#at, reason: "checked" });
  }

  // What sites send.

  /** The request, and the site after it. `lines`: of the audit log since the one before. */
  makeRequest(site: Site, options: AskOptions, lines = 1): [Sent, Site] {
    this.requestCount += 1;
    this.now += SECOND;
    const { key, spelling, product = PRODUCT, hosts, form = "file" } = options;
    const before = site.heads.at(-1);
    const seq = (before?.audit_seq ?? 0) + site.lines + lines;
    const name = `${site.appliance} ${this.requestCount}`;
    const id = digestOf(`request ${name}`).slice(0, 32);
    const sum = digestOf(`${before?.sum} ${id} ${seq}`);
    const heads = [...site.heads, { request_id: id, audit_seq: seq, sum }].slice(-64);
    const components = hosts.map((names) => ({
      hardware_id: hardwareIdOf(names),
      hardware: componentsOf(names),
    }));
    const [leader] = components;
    if (leader === undefined) throw new Error("an appliance has a host");
    const request: LicenseRequest = {
      request_id: id,
      nonce: id,
      created_at: this.#at,
      product,
      license_key: spelling ?? key,
      appliance: site.appliance,
      jwk: JWK,
      hardware_id: leader.hardware_id,
      hardware: leader.hardware,
      licenses: site.installed.map(({ license, serial, total }) => ({
        license_id: license,
        product: PRODUCT,
        vendor: VENDOR,
        serial,
        total_consumptions: total,
      })),
      audit: { seq, sum },
      heads,
      trust: [],
      ...(components.length === 2 && {
        pair: {
          log: "log",
          epoch: 1,
          leader: "a",
          hosts: components.map((host, index) => ({
            name: "ab"[index] ?? "",
            ...host,
            head: { seq: this.requestCount, sum, at: this.#at },
          })),
        },
      }),
    };
    const ask: Ask = {
      id,
      appliance: site.appliance,
      form,
      key,
      product,
      hosts,
      isWeak: hosts.some(({ length }) => length < 2),
      createdAt: this.now,
      log: heads.map(({ request_id }) => request_id),
      installed: site.installed,
    };
    return [
      { request, ask },
      { ...site, heads, lines: 0 },
    ];
  }

  /** The desk decides of its own accord. Returns what it issued; null: nothing. */
  answer({ request, ask }: Sent): IssuedEntry | null {
    const judgement = this.model.judge(ask, this.now);
    const verdict = `${judgement.verdict}: ${judgement.why}`;
    this.verdicts.set(verdict, (this.verdicts.get(verdict) ?? 0) + 1);
    const decision = decideRequest(this.#desk, request, instant(this.now));
    const told = (): string =>
      `${describe(judgement)}, and the desk says ${decision.kind}` +
      ("obstacles" in decision
        ? `: ${decision.obstacles.map(({ code, text }) => `${code}: ${text}`).join("; ")}`
        : "");
    if (decision.kind === "repeat") {
      // With a retired key, the recorded document is of no use: the newest of that license is.
      const isRetired = judgement.why === "answered with a retired key";
      const recorded = this.#answerTo(ask);
      const { issued } = decision;
      demand(
        recorded?.document === issued.document ||
          (isRetired &&
            recorded?.license_id === issued.license_id &&
            !this.retired.includes(issued.key)),
        () => `same request, same document: ${told()}`,
      );
      demand(
        judgement.verdict === "repeat" || isRetired,
        () => `repeated what has ended: ${told()}`,
      );
      return decision.issued;
    }
    demand(judgement.verdict !== "repeat", () => `same request, same document: ${told()}`);
    if ("entries" in decision) {
      this.#append(...decision.entries);
      this.model.noteLoss(ask, judgement.order !== null);
    }
    if (decision.kind !== "answer") {
      demand(judgement.verdict !== "automatic", () => `not automatic: ${told()}`);
      return null;
    }
    const { prepared } = decision;
    demand(
      prepared.answered === null && this.#answerTo(ask) === null,
      () => `same request, same document: ${told()}`,
    );
    const order = judgement.order;
    demand(order !== null, () => `answered without an order: ${told()}`);
    // Counted without the model's verdict.
    this.#countAutomatic(prepared, order, ask, told);
    demand(
      judgement.verdict === "automatic" || UNDECIDED.has(judgement.why),
      () => `automatic without a person: ${told()}`,
    );
    demand(
      prepared.placement?.use === judgement.use,
      () => `use of the order: ${told()}, as ${prepared.placement?.use}`,
    );
    return this.#issue(prepared, ask, judgement, null);
  }

  /** A person grants it, if anybody may. `lostAppliance`: its machine is written off. */
  decide({ request, ask }: Sent, lostAppliance: string | null, isNew = false): IssuedEntry | null {
    const judgement = this.model.judge(ask, this.now, lostAppliance);
    if (judgement.verdict === "repeat") return null;
    const options = {
      ...USUAL_OPTIONS,
      request,
      now: instant(this.now),
      isNew,
      allowWeakBinding: true,
      acceptForkReason: "decided",
      writeOff: lostAppliance === null ? null : { appliance: lostAppliance, reason: "lost" },
    };
    let prepared: PreparedLicense;
    try {
      prepared = prepareLicense(this.#desk, options);
    } catch (error) {
      if (!(error instanceof DeskRefused)) throw error;
      const isRefusedToAll =
        judgement.verdict === "nobody" ||
        judgement.order === null ||
        isNew ||
        !DECIDABLE.has(judgement.why);
      demand(
        isRefusedToAll || this.#isUnusual(lostAppliance, judgement),
        () => `a person is refused: ${describe(judgement)}: ${error.message}`,
      );
      return null;
    }
    if (prepared.placement === null) return null;
    const { order } = judgement;
    demand(order !== null, () => `granted without an order: ${describe(judgement)}`);
    demand(
      judgement.verdict !== "nobody",
      () => `a person may not either: ${describe(judgement)}, and the desk grants it`,
    );
    if (isNew && this.model.liveUnder(order).some(({ appliance }) => appliance === ask.appliance))
      throw new Violation("a person may not either: a second license of one appliance");
    return this.#issue(prepared, ask, judgement, lostAppliance);
  }

  /** A lost machine that does not hold the order cannot be named. */
  #isUnusual(lostAppliance: string | null, { order }: Judgement): boolean {
    if (lostAppliance === null || order === null) return false;
    return this.model.liveUnder(order).every(({ appliance }) => appliance !== lostAppliance);
  }

  #issue(
    prepared: PreparedLicense,
    ask: Ask,
    judgement: Judgement,
    lostAppliance: string | null,
  ): IssuedEntry {
    const { order, use } = judgement;
    if (order === null || use === null) throw new Error("nothing to issue");
    const { license_id: license, serial } = prepared;
    const document = `${license} ${serial} ${ask.id} ${this.issuingKey} ${this.entries.length}`;
    const issued = buildIssuedEntry(prepared, this.issuingKey, document);
    this.#checkContinuation(issued, ask, judgement);
    if (judgement.use === "move") this.#checkConsumption(issued, ask, order);
    this.#tell(ask.appliance, ask.installed);
    this.#append(...prepared.notes, issued);
    this.model.noteLoss(ask, true);
    const { issuingKey } = this;
    this.model.grant(ask, order, use, { license, serial, issuingKey }, this.now, lostAppliance);
    this.#checkForms();
    return issued;
  }

  /** A renewal continues the license of the appliance; everything else has the terms of the order. */
  #checkContinuation(issued: IssuedEntry, ask: Ask, { order, use }: Judgement): void {
    const held = this.model
      .liveUnder(order ?? "")
      .find(({ appliance }) => appliance === ask.appliance);
    if (held !== undefined) {
      demand(
        issued.license_id === held.license && issued.serial > held.serial,
        () => `${use} of license ${held.license}, serial ${held.serial}, has another number`,
      );
    } else {
      const isUsed = this.model.state.holdings.some(
        ({ appliance, license }) => appliance === ask.appliance && license === issued.license_id,
      );
      demand(!isUsed, () => `${use} continues a license that ended`);
    }
    demand(issued.terms.license_key === order, () => `the license has not the key of its order`);
  }

  /** Requests may arrive late, but a total only grows until the license is returned. */
  #tell(appliance: string, installed: readonly Installed[]): void {
    const totals = installed.map(({ license, total }) => {
      const name = `${appliance} ${license}`;
      return [name, Math.max(total, this.totals[name] ?? 0)];
    });
    this.totals = { ...this.totals, ...Object.fromEntries(totals) };
  }

  /** The next holder of the only place gets what the earlier ones left. */
  #checkConsumption(issued: IssuedEntry, ask: Ask, order: string): void {
    const { model } = this;
    const lines = this.entries.filter(
      (entry) => entry.type === "order" && entry.license_key === order,
    );
    const sold = model.order(order)?.sold;
    const earlier = model.state.holdings.filter((holding) => holding.order === order);
    const isHolder = earlier.some(
      ({ appliance, over }) => appliance === ask.appliance && over === null,
    );
    if (sold === undefined || sold.consumption === null || sold.appliances > 1) return;
    if (lines.length > 1 || isHolder || earlier.some(({ form }) => form === "code")) return;
    const used = earlier.reduce(
      (sum, { appliance, license }) => sum + (this.totals[`${appliance} ${license}`] ?? 0),
      0,
    );
    const left = Math.max(0, sold.consumption - used);
    const max = issued.terms.consumption?.max;
    demand(max === left, () => `consumption: ${left} are left, and the license has ${max}`);
  }

  /** A code, confirmed by a person. */
  confirm(site: Site, order: string, hosts: Hosts): IssuedEntry | null {
    const [{ ask }] = this.makeRequest(site, { form: "code", key: order, hosts });
    const judgement = this.model.judge(ask, this.now);
    const sold = this.entries.findLast(
      (entry): entry is OrderEntry => entry.type === "order" && entry.license_key === order,
    );
    const hardware_id = hosts.map(hardwareIdOf).join(" ");
    if (sold === undefined || this.model.order(order)?.isClosed !== false) return null;
    // Checked before orders are asked.
    if (judgement.why === "ended" || judgement.why === "hosts") return null;
    let judged: ReturnType<typeof judgeUse>;
    try {
      judged = judgeUse(
        this.ledger,
        sold,
        {
          appliance: site.appliance,
          form: "code",
          isElsewhere: (held) => held.hardware_id !== hardware_id,
          hasInstalled: () => null,
          showsLoss: false,
          lostAppliance: null,
        },
        instant(this.now),
      );
    } catch (error) {
      if (!(error instanceof DeskRefused)) throw error;
      demand(
        judgement.verdict === "nobody" || judgement.why === "borrows",
        () => `a code is refused: ${describe(judgement)}: ${error.message}`,
      );
      return null;
    }
    demand(
      judgement.verdict !== "nobody",
      () => `a code beyond the order: ${describe(judgement)}, and the desk confirms it`,
    );
    const { use } = judgement;
    demand(use === judged.use, () => `use of the order: ${describe(judgement)}, as ${judged.use}`);
    const license = codeLicenseOf(order);
    const serials = this.ledger.issuedAs(license).map(({ serial }) => serial);
    const serial = Math.max(0, ...serials) + 1;
    const entry: IssuedEntry = {
      type: "issued",
      at: this.#at,
      key: this.issuingKey,
      license_id: license,
      serial,
      appliance: site.appliance,
      jwk: null,
      hardware_id,
      request_id: ask.id,
      use,
      terms: { ...sold.terms, license_key: order },
      document: `code ${serial}`,
    };
    this.#append(entry);
    const { issuingKey } = this;
    this.model.grant(ask, order, use, { license, serial, issuingKey }, this.now);
    this.#checkForms();
    return entry;
  }

  /** The site returns a license; the receipt is recorded. */
  receive(site: Site, license: number, borrows: number): void {
    const installed = site.installed.find((entry) => entry.license === license);
    if (installed === undefined) throw new Error(`license ${license} is not installed`);
    this.now += SECOND;
    const { serial } = installed;
    const { appliance } = site;
    const isRecorded = (entry: LedgerEntry): boolean =>
      entry.type === "received" &&
      entry.appliance === appliance &&
      entry.license_id === license &&
      entry.serial === serial;
    const newest = this.ledger.serialsOf({ license_id: license, appliance }).at(-1)?.serial ?? 0;
    // As the desk receives it: once, and only of the newest serial.
    if (newest === 0 || newest > serial || this.entries.some(isRecorded)) return;
    this.totals = { ...this.totals, [`${appliance} ${license}`]: installed.total };
    this.model.receive({ appliance, license, serial, borrows }, this.now);
    this.#append({
      type: "received",
      at: this.#at,
      appliance,
      license_id: license,
      serial,
      total_consumptions: installed.total,
      borrows,
      removed_at: this.#at,
    });
  }

  // Properties that need no verdict of the model.

  #answerTo({ id, appliance }: Ask): IssuedEntry | null {
    const isAnswer = (entry: LedgerEntry): entry is IssuedEntry =>
      entry.type === "issued" && entry.request_id === id && entry.appliance === appliance;
    return this.entries.find(isAnswer) ?? null;
  }

  /** Never more appliances at once, or over time, than were sold. */
  #countAutomatic(
    prepared: PreparedLicense,
    order: string,
    { appliance, hosts, form }: Ask,
    told: () => string,
  ): void {
    const { model, now } = this;
    const held = model.liveUnder(order).find((holding) => holding.appliance === appliance);
    const sold = this.model.order(order)?.sold;
    if (sold === undefined) throw new Error(`there is no order ${order}`);
    demand(held === undefined || held.form === form, () => `file and code: ${told()}`);
    if (held === undefined) {
      const occupied = model.occupied(order, now);
      demand(
        occupied < sold.appliances,
        () => `more appliances at once: ${occupied} of ${sold.appliances} are occupied: ${told()}`,
      );
    }
    const isAcquisition =
      held === undefined ||
      !hosts.every((host, index) => keepsMost(held.hosts[index], host, held.hosts));
    if (!isAcquisition) return;
    this.acquisitions = [...this.acquisitions, { order, at: now }];
    const { appliances, moves } = this.sold[order] ?? { appliances: 0, moves: 0 };
    const times = this.acquisitions.filter((entry) => entry.order === order).map(({ at }) => at);
    const inYear = times.filter((at) => at > now - YEAR).length;
    demand(
      inYear <= appliances + moves,
      () => `more appliances over time: ${inYear} in 365 days: ${told()}`,
    );
    const years = Math.floor((now - (times[0] ?? now)) / YEAR) + 1;
    demand(
      times.length <= appliances + moves * years,
      () => `more appliances over time: ${times.length} in ${years} years: ${told()}`,
    );
    demand(prepared.placement !== null, () => `answered without an order: ${told()}`);
  }

  /** One appliance holds an order by file or by code, and each place has one holder. */
  #checkForms(): void {
    const names = this.model.live().map(({ order, appliance }) => `${order} ${appliance}`);
    demand(new Set(names).size === names.length, () => "file and code: one appliance has both");
  }
}

function keepsMost(
  earlier: readonly string[] | undefined,
  now: readonly string[],
  all: Hosts,
): boolean {
  const keeps = (host: readonly string[]): boolean =>
    host.filter((component) => now.includes(component)).length * 5 >= host.length * 3;
  return (earlier !== undefined && keeps(earlier)) || all.some(keeps);
}

const describe = ({ verdict, why }: Judgement): string => `the model says ${verdict} (${why})`;

/** The site after it installed what the desk issued. */
export const install = (site: Site, { license_id, serial }: IssuedEntry): Site => {
  const before = site.installed.find(({ license }) => license === license_id);
  if (before !== undefined && before.serial >= serial) return site;
  return {
    ...site,
    installed: [
      ...site.installed.filter(({ license }) => license !== license_id),
      { license: license_id, serial, total: before?.total ?? 0 },
    ],
  };
};

export const uninstall = (site: Site, license: number): Site => ({
  ...site,
  installed: site.installed.filter((entry) => entry.license !== license),
});
