// What all clients of a pair know together. No code of the server is involved.
import type { LicenseObject } from "../../../src/http/routes/licenses/license-object.ts";
import type { RegistrationReply } from "../../../src/http/routes/slots/registrations.ts";
import { PRODUCT } from "../../faults/kill/calls.ts";
import {
  ExpectedState,
  slotFromReply,
  type ExpectedUser,
} from "../../faults/kill/expected-state.ts";
import { AnswerOrder } from "./answers.ts";
import { callHost, isAnswered, type CallAnswer, type HostAddress } from "./calls.ts";
import type { FaultResults } from "./results.ts";

const REGISTRATIONS = "/api/admin/v1/registrations";
export const LICENSE = `/api/v4/license?product=${PRODUCT}`;
/** For a read of everything, when no client calls. */
const READ_TIMEOUT = 20_000;

type License = typeof LicenseObject.static;

export class PairRecord {
  readonly results: FaultResults;
  readonly order = new AnswerOrder();
  readonly #expected: ExpectedState;
  readonly #slots: number;
  /** Users that hold a slot for certain: from the answer of a grant until a release is sent. */
  readonly #holders = new Set<string>();
  /** When the newest of the acknowledged changes was sent, by the monotonic clock of the test. */
  #lastChangeSentAt = 0;
  #onChange: (answer: CallAnswer) => void = () => {};

  constructor(users: readonly ExpectedUser[], slots: number, results: FaultResults) {
    this.#expected = new ExpectedState(users);
    this.#slots = slots;
    this.results = results;
  }

  get counter(): ExpectedState["counters"]["license"] {
    return this.#expected.counters.license;
  }

  get lastChangeSentAt(): number {
    return this.#lastChangeSentAt;
  }

  set onChange(onChange: (answer: CallAnswer) => void) {
    this.#onChange = onChange;
  }

  recordChange(answer: CallAnswer): void {
    this.results.counts.changes += 1;
    this.#onChange(answer);
    this.#lastChangeSentAt = Math.max(this.#lastChangeSentAt, answer.sentAt);
    this.order.record(answer);
  }

  recordGrant(user: string, answer: CallAnswer): void {
    this.recordChange(answer);
    this.#holders.add(user);
    if (this.#holders.size <= this.#slots) return;
    const { size } = this.#holders;
    this.results.recordViolation("overLent", `${size} users hold ${this.#slots} slots`);
  }

  /** From now on the slot of this user may be free. */
  beginRelease(user: string): void {
    this.#holders.delete(user);
  }

  /** Checks a total; `least` was certain when the call was sent. */
  recordTotal(answer: CallAnswer, least: number): void {
    this.order.record(answer);
    const { total_consumptions: total } = answer.body as License;
    const violation = this.counter.recordShown(total, least);
    if (violation === null) return;
    this.results.recordViolation("reads", `${answer.host}: ${violation}`);
  }

  /** Reads the total from a host that may lead or not. */
  async readTotal(host: HostAddress, timeoutMs: number): Promise<CallAnswer | null> {
    const least = Math.max(this.counter.acknowledged, this.counter.highestShown);
    const answer = await callHost(host, { path: LICENSE, body: null, timeoutMs });
    if (!isAnswered(answer)) return answer;
    this.results.counts.reads += 1;
    this.recordTotal(answer, least);
    return answer;
  }

  /** Compares everything that the leader shows; no client calls meanwhile. False: no answer. */
  async compareWith(host: HostAddress): Promise<boolean> {
    const read = { body: null, timeoutMs: READ_TIMEOUT };
    const registrations = await callHost(host, { ...read, path: REGISTRATIONS });
    const license = await callHost(host, { ...read, path: LICENSE });
    if (registrations?.status !== 200 || license?.status !== 200) return false;
    const rows = registrations.body as readonly RegistrationReply[];
    const slots = new Map(rows.map((row) => [row.user, slotFromReply(row)]));
    this.#holders.clear();
    for (const user of this.#expected.users.values()) {
      const found = slots.get(user.name) ?? null;
      const violation = user.reconcile(found);
      if (violation !== null) this.results.recordViolation("slots", violation);
      if (found !== null) this.#holders.add(user.name);
      slots.delete(user.name);
    }
    for (const name of slots.keys()) {
      this.results.recordViolation("slots", `${name} has a slot that no client acquired`);
    }
    const { total_consumptions: total } = license.body as License;
    const reconciled = this.counter.reconcile(total);
    if (reconciled.brokenPromise !== null)
      this.results.recordViolation(reconciled.brokenPromise, reconciled.reason);
    if (this.#holders.size > this.#slots)
      this.results.recordViolation("overLent", `the leader shows ${this.#holders.size} holders`);
    return true;
  }
}
