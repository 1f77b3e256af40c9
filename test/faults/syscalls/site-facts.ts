// What a site holds, as flat facts that can be compared, and what it may hold after a fault: one
// world for every way the unanswered may have gone.
import type { State } from "../../../src/domain/state.ts";
import { realDisk } from "../../../src/platform/disk.ts";
import { loadFolder } from "../../../src/store/load.ts";
import { SealedFile } from "../../../src/store/sealed-file.ts";

export type SiteFacts = Readonly<Record<string, string>>;

/** The one whose slots and counts are told; of others it is told how many there are. */
export const LICENSE = 1;

/** Of a folder that was never started on. */
export const EMPTY_FACTS: SiteFacts = {
  licenses: "0",
  vendors: "0",
  requests: "0",
  answered: "0",
  activations: "0",
  remembered: "0",
  tombstones: "0",
  clock: "",
  keys: "null null",
};

/** For what only an answer would have told. */
export const ANY_VALUE = "*";

/** What a granted step does to the facts; null: no answer came, so nobody knows its details. */
export type FactsChange = (facts: SiteFacts, answer: AnswerBody | null) => SiteFacts;

export type AnswerBody = Readonly<Record<string, unknown>>;

/** Reads a folder nobody holds, by the code a start uses. */
export async function readFacts(folder: string): Promise<SiteFacts> {
  const loaded = await loadFolder(realDisk, folder);
  if (loaded === null) throw new Error(`${folder} holds no state`);
  const { apiKey, sharedKey } = await new SealedFile(realDisk, folder).read();
  return { ...factsOf(loaded.state), keys: `${apiKey} ${sharedKey}` };
}

function factsOf(state: State): SiteFacts {
  const facts: Record<string, string> = {
    licenses: String(state.licenses.size),
    vendors: String(state.vendors.size),
    requests: String(state.requests.size),
    answered: String(state.answeredRequests.size),
    activations: String(state.activations.size),
    remembered: String(state.idempotencyRecords.size),
    tombstones: String(state.tombstones.size),
    clock: state.clockNonce === null ? "" : "asked",
  };
  const license = state.licenses.get(LICENSE);
  if (license === undefined) return facts;
  facts["terms"] = `serial ${license.grant.serial}, ${license.terms.slots} slots`;
  facts["count"] = String(license.counter.total);
  for (const { user, end, borrowedUntil } of license.pool.inSlotOrder()) {
    facts[`slot ${user}`] = describeSlot(end, borrowedUntil !== null);
  }
  for (const [code, { counter, pool }] of license.features) {
    facts[`count ${code}`] = String(counter.total);
    for (const { user } of pool.inSlotOrder()) facts[`feature ${code} ${user}`] = "held";
  }
  return facts;
}

export const describeSlot = (end: number, borrowed: boolean): string =>
  `${borrowed ? "borrowed" : "held"} until ${end}`;

/** What the list of registrations tells. */
export const slotFacts = (registrations: readonly AnswerBody[]): SiteFacts =>
  Object.fromEntries(
    registrations.map(({ user, expires_at, borrowed_until }) => [
      `slot ${String(user)}`,
      describeSlot(Date.parse(String(expires_at)), borrowed_until !== null),
    ]),
  );

export const withoutFacts = (facts: SiteFacts, gone: (name: string) => boolean): SiteFacts =>
  Object.fromEntries(Object.entries(facts).filter(([name]) => !gone(name)));

export const addToFact = (facts: SiteFacts, name: string, count: number): SiteFacts => ({
  ...facts,
  [name]: String(Number(facts[name] ?? 0) + count),
});

/** Every state the site may be in, as far as its answers tell. */
export class PossibleStates {
  #possible: readonly SiteFacts[];

  constructor(facts: SiteFacts) {
    this.#possible = [facts];
  }

  applyGranted(change: FactsChange, answer: AnswerBody): void {
    this.#possible = this.#possible.map((facts) => change(facts, answer));
  }

  applyUnanswered(change: FactsChange): void {
    this.#possible = [...this.#possible, ...this.#possible.map((facts) => change(facts, null))];
  }

  /**
   * Null when `found`, which may tell of slots alone, is one of them; else how it differs from the
   * nearest.
   */
  findMismatch(found: SiteFacts, slotsOnly = false): string | null {
    const told = (name: string): boolean => !slotsOnly || name.startsWith("slot ");
    const all = this.#possible.map((facts) =>
      differences(
        withoutFacts(facts, (name) => !told(name)),
        found,
      ),
    );
    const [nearest = []] = all.toSorted((a, b) => a.length - b.length);
    return nearest.length === 0 ? null : nearest.join("; ");
  }
}

function differences(expected: SiteFacts, found: SiteFacts): string[] {
  const names = [...new Set([...Object.keys(expected), ...Object.keys(found)])];
  return names
    .filter((name) => !isSame(expected[name], found[name]))
    .map((name) => `${name}: expected ${expected[name]}, found ${found[name]}`);
}

const isSame = (expected: string | undefined, found: string | undefined): boolean =>
  expected === found || (expected === ANY_VALUE && found !== undefined);
