// What a rule file says about a caller, found by scanning all its lines. Written from the design of
// the rules; it uses nothing of their code but types.
import type { CallerFacts } from "../../src/domain/model/rules/caller-facts.ts";
import { isMember } from "./membership.ts";
import type { BlockReservation, RuleBlock, RuleFile } from "./rule-file.ts";

const EMPTY: RuleFile = { groups: [], blocks: [] };

/** The rules for the slots of a product, or for those of one of its floating features. */
export class NaiveRules {
  readonly #file: RuleFile;
  readonly #blocks: readonly RuleBlock[];

  constructor(file: RuleFile | null, product: string, feature: string | null) {
    this.#file = file ?? EMPTY;
    this.#blocks = this.#file.blocks.filter(
      (block) => block.product === product && block.feature === feature,
    );
  }

  belongs(facts: CallerFacts, name: string): boolean {
    return this.#file.groups.some((group) => group.name === name && isMember(group, facts));
  }

  /** Null: the rules let the caller in. */
  findRefusal(facts: CallerFacts): "deny" | "allow_only" | null {
    const denied = this.#blocks.flatMap(({ deny }) => deny);
    if (denied.some((group) => this.belongs(facts, group))) return "deny";
    const lists = this.#blocks.flatMap(({ allowOnly }) => (allowOnly === null ? [] : [allowOnly]));
    if (lists.length === 0) return null;
    return lists.flat().some((group) => this.belongs(facts, group)) ? null : "allow_only";
  }

  /** Whether the rules name the group as a reason to refuse this caller. */
  namesAsReason(group: string | null, facts: CallerFacts): boolean {
    if (group === null) return this.findRefusal(facts) === "allow_only";
    return this.#blocks.some(({ deny }) => deny.includes(group)) && this.belongs(facts, group);
  }

  findBorrowRefusal(facts: CallerFacts): "borrow_deny" | "borrow_allow_only" | null {
    const borrows = this.#borrows();
    if (borrows.some(({ deny }) => deny.some((group) => this.belongs(facts, group)))) {
      return "borrow_deny";
    }
    const lists = borrows.flatMap(({ allowOnly }) => (allowOnly === null ? [] : [allowOnly]));
    if (lists.length === 0) return null;
    return lists.flat().some((group) => this.belongs(facts, group)) ? null : "borrow_allow_only";
  }

  #borrows(): readonly NonNullable<RuleBlock["borrow"]>[] {
    return this.#blocks.flatMap(({ borrow }) => (borrow === null ? [] : [borrow]));
  }

  eachUser(): number {
    return Math.min(...this.#blocks.map(({ eachUser }) => eachUser ?? Infinity));
  }

  eachHost(): number {
    return Math.min(...this.#blocks.map(({ eachHost }) => eachHost ?? Infinity));
  }

  groupLimits(): readonly { readonly group: string; readonly slots: number }[] {
    return this.#blocks.flatMap(({ groupLimits }) => groupLimits);
  }

  /** Sorted by the name of the group. */
  reservations(): readonly BlockReservation[] {
    const all = this.#blocks.flatMap(({ reserve }) => reserve);
    return all.toSorted((a, b) => (a.group < b.group ? -1 : 1));
  }

  /** The first reserved group, by name, that the caller belongs to. */
  findHome(facts: CallerFacts): string | null {
    const home = this.reservations().find(({ group }) => this.belongs(facts, group));
    return home?.group ?? null;
  }

  maxBorrowHours(): number {
    return Math.min(...this.#borrows().map(({ maxHours }) => maxHours ?? Infinity));
  }

  maxBorrowedSlots(): number {
    return Math.min(...this.#borrows().map(({ maxSlots }) => maxSlots ?? Infinity));
  }

  keepHome(): number {
    return Math.max(0, ...this.#borrows().map(({ keepHome }) => keepHome ?? 0));
  }

  /** The rank of a waiting caller: the lower comes first. */
  rank(facts: CallerFacts): number {
    const priority = this.#blocks.find(({ queue }) => queue !== null)?.queue?.priority ?? [];
    const rank = priority.findIndex((group) => this.belongs(facts, group));
    return rank === -1 ? priority.length : rank;
  }

  maxWaiting(): number {
    return this.#blocks.find(({ queue }) => queue !== null)?.queue?.maxWaiting ?? 1_000;
  }
}
