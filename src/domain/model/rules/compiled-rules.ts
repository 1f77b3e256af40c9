import { GroupMatcher } from "./membership.ts";
import { personOf } from "../slots/person.ts";
import type { CallerFacts } from "./caller-facts.ts";
import type {
  GroupLimit,
  NamedGroup,
  PoolRules,
  Reservation,
  RulePosition,
  RuleSet,
} from "./rule-set.ts";

/** The rules of one pool, with look-ups by the groups of a caller. */
export class CompiledPool {
  readonly rules: PoolRules;
  readonly #admission: Admission;
  readonly #borrowAdmission: Admission;
  readonly #limits: ReadonlyMap<string, GroupLimit>;
  readonly #reservations: ReadonlyMap<string, Reservation>;
  readonly #matcher: GroupMatcher;

  constructor(rules: PoolRules, matcher: GroupMatcher) {
    const { groupLimits, reservations, borrow } = rules;
    this.rules = rules;
    this.#matcher = matcher;
    this.#admission = compileAdmission(rules);
    this.#borrowAdmission = compileAdmission(borrow ?? ALL_ADMITTED);
    this.#limits = byGroup(groupLimits);
    this.#reservations = byGroup(reservations);
  }

  /** Why the caller may have no slot, whatever is free; null: it may. */
  findDenial(facts: CallerFacts): Denial | null {
    return this.#findDenial(this.#admission, facts);
  }

  /** Why the caller may not borrow; null: it may. */
  findBorrowDenial(facts: CallerFacts): Denial | null {
    return this.#findDenial(this.#borrowAdmission, facts);
  }

  /** The reserved group that the caller belongs to: the first by name. Null: none. */
  findHome(facts: CallerFacts): string | null {
    return this.#findFirst(this.#reservations, facts)?.group ?? null;
  }

  /** The first group of `priority` that the caller belongs to, and its rank from 0 on. */
  findPriority(facts: CallerFacts): { readonly group: string | null; readonly rank: number } {
    const priority = this.rules.queue?.priority ?? [];
    if (priority.length === 0) return { group: null, rank: 0 };
    const groups = this.#matcher.groupsOf(facts);
    const index = priority.findIndex((group) => groups.has(group));
    return { group: priority[index] ?? null, rank: index < 0 ? priority.length : index };
  }

  findReservation(group: string): Reservation | null {
    return this.#reservations.get(group) ?? null;
  }

  /** What a slot of this caller counts for. */
  sharesOf(facts: CallerFacts): Shares {
    const { eachUser, eachHost } = this.rules;
    const limitGroups: GroupLimit[] = [];
    if (this.#limits.size > 0) {
      for (const group of this.#matcher.groupsOf(facts)) {
        const limit = this.#limits.get(group);
        if (limit !== undefined) limitGroups.push(limit);
      }
      if (limitGroups.length > 1) limitGroups.sort(compareByGroup);
    }
    return {
      person: eachUser === null ? null : personOf(facts.user),
      host: eachHost === null || facts.host === "" ? null : facts.host,
      limitGroups,
      home: this.findHome(facts),
    };
  }

  #findDenial({ deny, allowOnly, allowOnlyLine }: Admission, facts: CallerFacts): Denial | null {
    const denied = this.#findFirst(deny, facts);
    if (denied !== null) return { rule: "deny", group: denied.group, line: denied.line };
    if (allowOnly === null || this.#findFirst(allowOnly, facts) !== null) return null;
    return { rule: "allow_only", group: null, line: allowOnlyLine };
  }

  /** The first by name of the caller's groups that have an entry. */
  #findFirst<T extends NamedGroup>(entries: ReadonlyMap<string, T>, facts: CallerFacts): T | null {
    if (entries.size === 0) return null;
    let first: T | null = null;
    for (const group of this.#matcher.groupsOf(facts)) {
      const entry = entries.get(group);
      if (entry !== undefined && (first === null || group < first.group)) first = entry;
    }
    return first;
  }
}

/** The groups of `deny` and of `allow_only`. */
interface Admission {
  readonly deny: ReadonlyMap<string, NamedGroup>;
  /** Null: everybody who is not denied. */
  readonly allowOnly: ReadonlyMap<string, NamedGroup> | null;
  /** The first line of `allow_only`: a caller that it leaves out is in no group to name. */
  readonly allowOnlyLine: number;
}

type AdmissionRules = Pick<PoolRules, "deny" | "allowOnly">;

const ALL_ADMITTED: AdmissionRules = { deny: [], allowOnly: null };

const compileAdmission = ({ deny, allowOnly }: AdmissionRules): Admission => ({
  deny: byGroup(deny),
  allowOnly: allowOnly && byGroup(allowOnly),
  allowOnlyLine: allowOnly?.map(({ line }) => line).toSorted((a, b) => a - b)[0] ?? 0,
});

/** A rule that refuses a caller, whatever is free. */
export interface Denial extends RulePosition {
  readonly rule: "deny" | "allow_only";
  /** The denied group; null: the caller is in none of the groups of `allow_only`. */
  readonly group: string | null;
}

/** The counters that one slot is part of; null: no rule needs this one. */
export interface Shares {
  readonly person: string | null;
  readonly host: string | null;
  /** Sorted by group. */
  readonly limitGroups: readonly GroupLimit[];
  readonly home: string | null;
}

/** A rule set with its look-ups. */
export class CompiledRules {
  readonly rules: RuleSet;
  readonly matcher: GroupMatcher;
  readonly #pools = new Map<string, Map<string | null, CompiledPool>>();

  constructor(rules: RuleSet) {
    this.rules = rules;
    this.matcher = new GroupMatcher(rules.groups);
    for (const pool of rules.pools) {
      const ofProduct = this.#pools.get(pool.product) ?? new Map<string | null, CompiledPool>();
      ofProduct.set(pool.feature, new CompiledPool(pool, this.matcher));
      this.#pools.set(pool.product, ofProduct);
    }
  }

  /** Null: no rule is about the pool. */
  find(product: string, feature: string | null): CompiledPool | null {
    return this.#pools.get(product)?.get(feature) ?? null;
  }

  *all(): Generator<CompiledPool, void> {
    for (const ofProduct of this.#pools.values()) yield* ofProduct.values();
  }
}

/** Of two entries for a group, the one with the lowest line: the order of rules never matters. */
function byGroup<T extends NamedGroup>(entries: readonly T[]): Map<string, T> {
  const found = new Map<string, T>();
  for (const entry of entries) {
    const other = found.get(entry.group);
    if (other === undefined || entry.line < other.line) found.set(entry.group, entry);
  }
  return found;
}

const compareByGroup = (a: NamedGroup, b: NamedGroup): number => (a.group < b.group ? -1 : 1);
