import { isInNetwork, parseNetwork, type Network } from "../domain/model/rules/network.ts";
import { GROUP_FACTS, type Group } from "../domain/model/rules/rule-set.ts";

/** More would take longer than the check is worth; groups that are not compared may overlap. */
const MAX_COMPARISONS = 200_000;

/** Whether a caller can belong to two groups at once. */
export class GroupOverlaps {
  readonly #groups: ReadonlyMap<string, Group>;
  readonly #networks = new Map<string, readonly (Network | null)[]>();
  #comparisons = 0;

  constructor(groups: readonly Group[]) {
    this.#groups = new Map(groups.map((group) => [group.name, group]));
  }

  /**
   * False only if it is certain: both groups look at the same fact of a caller, and at no other,
   * and none of their patterns match the same. A user name says nothing about a host or an address.
   */
  mayShareMember(nameA: string, nameB: string): boolean {
    const [a, b] = [this.#groups.get(nameA), this.#groups.get(nameB)];
    const fact = a && findOnlyFact(a);
    if (a === undefined || b === undefined || fact == null || fact !== findOnlyFact(b)) return true;
    this.#comparisons += a[fact].length * b[fact].length;
    if (this.#comparisons > MAX_COMPARISONS) return true;
    if (fact === "networks") {
      const networks = this.#networksOf(b);
      return this.#networksOf(a).some((one) => networks.some((other) => doMeet(one, other)));
    }
    const fold = (text: string): string =>
      a.ignoreCase || b.ignoreCase ? text.toLowerCase() : text;
    const patterns = b[fact].map(fold);
    return a[fact].map(fold).some((one) => patterns.some((other) => canMatchSame(one, other)));
  }

  #networksOf({ name, networks }: Group): readonly (Network | null)[] {
    const known = this.#networks.get(name) ?? networks.map(parseNetwork);
    this.#networks.set(name, known);
    return known;
  }
}

/** Null: several, or none: a group without members has a finding of its own. */
function findOnlyFact(group: Group): (typeof GROUP_FACTS)[number] | null {
  const [fact, ...more] = GROUP_FACTS.filter((name) => group[name].length > 0);
  return more.length > 0 ? null : (fact ?? null);
}

function canMatchSame(a: string, b: string): boolean {
  const [beginA, beginB] = [a.replace(/\*$/, ""), b.replace(/\*$/, "")];
  if (a === beginA) return b === beginB ? a === b : a.startsWith(beginB);
  return beginB.startsWith(beginA) || (b !== beginB && beginA.startsWith(beginB));
}

const doMeet = (a: Network | null, b: Network | null): boolean =>
  a !== null && b !== null && (isInNetwork(a, b) || isInNetwork(b, a));
