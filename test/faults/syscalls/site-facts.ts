// The content of a site as flat facts that can be compared, and the states that are possible after
// a fault: one for every combination of unanswered calls that took effect.
import type { State } from "../../../src/domain/model/state.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { loadFolder } from "../../../src/store/folder/load.ts";
import { SealedFile } from "../../../src/store/secrets/sealed-file.ts";

export type SiteFacts = Readonly<Record<string, string>>;

/** The license whose slots and counts are facts; other licenses are only counted. */
export const LICENSE = 1;

/** The facts of a folder before its first start. */
export const EMPTY_FACTS: SiteFacts = {
  licenses: "0",
  vendors: "0",
  requests: "0",
  answered: "0",
  activations: "0",
  idempotencyKeys: "0",
  tombstones: "0",
  clock: "",
  keys: "null null",
};

/** Matches any value, where only the missing answer would say which. */
export const ANY_VALUE = "*";

/** What a granted step changes; `answer` is null if none came and its details are unknown. */
export type FactsChange = (facts: SiteFacts, answer: AnswerBody | null) => SiteFacts;

export type AnswerBody = Readonly<Record<string, unknown>>;

/** Reads a folder that no server uses, with the code of a start. */
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
    idempotencyKeys: String(state.idempotencyRecords.size),
    tombstones: String(state.tombstones.size),
    clock: state.clockNonce === null ? "" : "requested",
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
    for (const { user } of pool.inSlotOrder()) facts[`feature ${code} ${user}`] = "registered";
  }
  return facts;
}

export const describeSlot = (end: number, isBorrowed: boolean): string =>
  `${isBorrowed ? "borrowed" : "registered"} until ${end}`;

/** The slot facts in a list of registrations. */
export const slotFacts = (registrations: readonly AnswerBody[]): SiteFacts =>
  Object.fromEntries(
    registrations.map(({ user, expires_at, borrowed_until }) => [
      `slot ${String(user)}`,
      describeSlot(Date.parse(String(expires_at)), borrowed_until !== null),
    ]),
  );

export const withoutFacts = (facts: SiteFacts, isRemoved: (name: string) => boolean): SiteFacts =>
  Object.fromEntries(Object.entries(facts).filter(([name]) => !isRemoved(name)));

export const addToFact = (facts: SiteFacts, name: string, count: number): SiteFacts => ({
  ...facts,
  [name]: String(Number(facts[name] ?? 0) + count),
});

/** All states that the site may have, given its answers. */
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
   * Compares `found` with the possible states. Returns null if it is one of them, otherwise the
   * differences from the nearest.
   */
  findMismatch(found: SiteFacts, slotsOnly = false): string | null {
    const isCompared = (name: string): boolean => !slotsOnly || name.startsWith("slot ");
    const differencesByState = this.#possible.map((facts) =>
      differences(
        withoutFacts(facts, (name) => !isCompared(name)),
        found,
      ),
    );
    const [nearest = []] = differencesByState.toSorted((a, b) => a.length - b.length);
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
