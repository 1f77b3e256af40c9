// Rule sets without their text, for tests of the rules.
import type { ApplyRules } from "../../src/domain/rules/apply-rules.ts";
import type {
  BorrowRules,
  Group,
  NamedGroup,
  PoolRules,
  Reservation,
  RuleSet,
} from "../../src/domain/model/rules/rule-set.ts";
import { sha256 } from "../../src/platform/crypto/hash.ts";

export const group = (name: string, members: Partial<Omit<Group, "name">> = {}): Group => ({
  name,
  users: [],
  hosts: [],
  logins: [],
  certificates: [],
  networks: [],
  ignoreCase: false,
  ...members,
});

export const poolRules = (product: string, differing: Partial<PoolRules> = {}): PoolRules => ({
  product,
  feature: null,
  deny: [],
  allowOnly: null,
  reservations: [],
  eachUser: null,
  eachHost: null,
  groupLimits: [],
  borrow: null,
  queue: null,
  ...differing,
});

export const borrowRules = (differing: Partial<BorrowRules>): BorrowRules => ({
  deny: [],
  allowOnly: null,
  maxHours: null,
  maxSlots: null,
  keepHome: null,
  ...differing,
});

/** The lines of the groups are 1, 2, 3 and so on. */
export const named = (...groups: string[]): NamedGroup[] =>
  groups.map((name, index) => ({ group: name, line: index + 1 }));

export const reserve = (
  name: string,
  slots: number,
  idle: Reservation["idle"] = "keep",
): Reservation => ({ group: name, slots, idle, line: 7 });

export const ruleSet = (groups: readonly Group[], ...pools: readonly PoolRules[]): RuleSet => ({
  groups: groups.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  pools,
});

export const NO_RULES: RuleSet = { groups: [], pools: [] };

/** Replaces whatever rules are applied. The text stands for the rules: it is different for each. */
export function applyRules(rules: RuleSet, differing: Partial<ApplyRules> = {}): ApplyRules {
  const text = rules.pools.length === 0 ? "" : `# ${JSON.stringify(rules)}`;
  const digest = sha256(text);
  const peer = "10.0.0.9";
  return { type: "ApplyRules", text, digest, rules, expected: "*", peer, ...differing };
}
