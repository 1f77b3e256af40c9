import { clearHostBits, parseAddress, parseNetwork } from "./network.ts";
import { personOf } from "../slots/person.ts";
import type { CallerFacts } from "./caller-facts.ts";
import type { Group } from "./rule-set.ts";

const NO_GROUPS: ReadonlySet<string> = new Set();

/** Names of groups, by a pattern that they contain. */
type GroupsByKey<K> = Map<K, string[]>;

/** Names and beginnings of names. One look-up per length of a beginning, however many there are. */
class NamePatterns {
  readonly #names: GroupsByKey<string> = new Map();
  readonly #beginnings = new Map<number, GroupsByKey<string>>();

  add(pattern: string, group: string): void {
    if (!pattern.endsWith("*")) return addTo(this.#names, pattern, group);
    const beginning = pattern.slice(0, -1);
    addTo(getOrAdd(this.#beginnings, beginning.length), beginning, group);
  }

  collect(name: string, groups: Set<string>): void {
    addAll(groups, this.#names.get(name));
    for (const [length, byBeginning] of this.#beginnings) {
      if (length <= name.length) addAll(groups, byBeginning.get(name.slice(0, length)));
    }
  }
}

const NONE: readonly string[] = [];
const REMEMBERED_ANSWERS = 16_384;
/** In all answers together: a few megabytes, also if every caller is in 1,000 groups. */
const REMEMBERED_GROUPS = 262_144;

/** The same persons, hosts and addresses call again and again. */
class RecentAnswers {
  readonly #answers = new Map<string, readonly string[]>();
  #groupCount = 0;

  get(fact: string, find: (fact: string) => readonly string[]): readonly string[] {
    const known = this.#answers.get(fact);
    if (known !== undefined) return known;
    const answer = find(fact);
    this.#groupCount += answer.length;
    if (this.#answers.size >= REMEMBERED_ANSWERS || this.#groupCount > REMEMBERED_GROUPS) {
      this.#answers.clear();
      this.#groupCount = answer.length;
    }
    this.#answers.set(fact, answer);
    return answer;
  }
}

/** The patterns for one fact of a caller, with and without regard to case. */
class FactPatterns {
  readonly #exact = new NamePatterns();
  readonly #folded = new NamePatterns();
  readonly #answers = new RecentAnswers();
  #hasExact = false;
  #hasFolded = false;

  add(patterns: readonly string[], { name, ignoreCase }: Group): void {
    if (patterns.length === 0) return;
    if (ignoreCase) this.#hasFolded = true;
    else this.#hasExact = true;
    for (const pattern of patterns) {
      if (ignoreCase) this.#folded.add(pattern.toLowerCase(), name);
      else this.#exact.add(pattern, name);
    }
  }

  /** A fact that is not known matches nothing, not even `*`. */
  collect(fact: string | null, groups: Set<string>): void {
    if (fact === null || fact === "" || !(this.#hasExact || this.#hasFolded)) return;
    addAll(groups, this.#answers.get(fact, this.#find));
  }

  readonly #find = (fact: string): readonly string[] => {
    const groups = new Set<string>();
    if (this.#hasExact) this.#exact.collect(fact, groups);
    if (this.#hasFolded) this.#folded.collect(fact.toLowerCase(), groups);
    return groups.size === 0 ? NONE : [...groups];
  };
}

/** Networks of one family of addresses. One look-up per length of a prefix. */
type NetworksByBits = Map<number, GroupsByKey<bigint>>;

/**
 * Finds the groups of a caller. It looks up what the caller has, and does not walk over the groups:
 * the cost does not grow with their number.
 */
export class GroupMatcher {
  readonly #users = new FactPatterns();
  readonly #hosts = new FactPatterns();
  readonly #logins = new FactPatterns();
  readonly #certificates = new FactPatterns();
  readonly #networks: { readonly [F in 4 | 6]: NetworksByBits } = { 4: new Map(), 6: new Map() };
  readonly #hasNetworks: boolean;
  readonly #answersByAddress = new RecentAnswers();
  /** The last answer: a claim needs it to be judged, and again when it is counted. */
  #lastFacts: CallerFacts | null = null;
  #lastGroups = NO_GROUPS;

  constructor(groups: readonly Group[]) {
    for (const group of groups) {
      this.#users.add(group.users, group);
      this.#hosts.add(group.hosts, group);
      this.#logins.add(group.logins, group);
      this.#certificates.add(group.certificates, group);
      for (const network of group.networks) this.#addNetwork(network, group.name);
    }
    this.#hasNetworks = groups.some(({ networks }) => networks.length > 0);
  }

  groupsOf(facts: CallerFacts): ReadonlySet<string> {
    if (this.#lastFacts === null || !isSame(facts, this.#lastFacts)) {
      this.#lastGroups = this.#findGroups(facts);
      this.#lastFacts = facts;
    }
    return this.#lastGroups;
  }

  #findGroups(facts: CallerFacts): ReadonlySet<string> {
    const groups = new Set<string>();
    this.#users.collect(personOf(facts.user), groups);
    this.#hosts.collect(facts.host, groups);
    this.#logins.collect(facts.login, groups);
    this.#certificates.collect(facts.certificate, groups);
    if (this.#hasNetworks)
      addAll(groups, this.#answersByAddress.get(facts.address, this.#findByAddress));
    return groups.size === 0 ? NO_GROUPS : groups;
  }

  /** The language refuses what is no network; a replay must not fail on it. */
  #addNetwork(text: string, group: string): void {
    const network = parseNetwork(text);
    if (network === null) return;
    const { family, bits, value } = clearHostBits(network);
    addTo(getOrAdd(this.#networks[family], bits), value, group);
  }

  readonly #findByAddress = (text: string): readonly string[] => {
    const address = parseAddress(text);
    if (address === null) return NONE;
    const groups = new Set<string>();
    for (const [bits, byPrefix] of this.#networks[address.family])
      addAll(groups, byPrefix.get(clearHostBits({ ...address, bits }).value));
    return groups.size === 0 ? NONE : [...groups];
  };
}

const isSame = (a: CallerFacts, b: CallerFacts): boolean =>
  a.user === b.user &&
  a.host === b.host &&
  a.address === b.address &&
  a.login === b.login &&
  a.certificate === b.certificate;

function addTo<K>(byKey: GroupsByKey<K>, key: K, group: string): void {
  const groups = byKey.get(key);
  if (groups === undefined) byKey.set(key, [group]);
  else if (!groups.includes(group)) groups.push(group);
}

function addAll(groups: Set<string>, more: readonly string[] | undefined): void {
  if (more !== undefined) for (const group of more) groups.add(group);
}

function getOrAdd<K>(byLength: Map<number, GroupsByKey<K>>, length: number): GroupsByKey<K> {
  const existing = byLength.get(length);
  if (existing !== undefined) return existing;
  const added: GroupsByKey<K> = new Map();
  byLength.set(length, added);
  return added;
}
