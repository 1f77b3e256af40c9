// Rules as a file has them, before they are merged, and their text. The model merges them itself.
import type { Group } from "../../src/domain/model/rules/rule-set.ts";
import type { SeededRandom } from "../support/seeded-random.ts";

/** One `[[rule]]` of a file. */
export interface RuleBlock {
  readonly product: string;
  readonly feature: string | null;
  readonly deny: readonly string[];
  readonly allowOnly: readonly string[] | null;
  readonly reserve: readonly BlockReservation[];
  readonly eachUser: number | null;
  readonly eachHost: number | null;
  readonly groupLimits: readonly { readonly group: string; readonly slots: number }[];
  readonly borrow: BlockBorrow | null;
  readonly queue: BlockQueue | null;
}

export interface BlockReservation {
  readonly group: string;
  readonly slots: number;
  readonly idle: "keep" | "lend";
}

interface BlockBorrow {
  readonly deny: readonly string[];
  readonly allowOnly: readonly string[] | null;
  readonly maxHours: number | null;
  readonly maxSlots: number | null;
  readonly keepHome: number | null;
}

interface BlockQueue {
  readonly priority: readonly string[];
  readonly maxWaiting: number;
}

export interface RuleFile {
  readonly groups: readonly Group[];
  readonly blocks: readonly RuleBlock[];
}

/** The file in TOML, in the order of its groups, blocks and lists. */
export const writeRuleFile = ({ groups, blocks }: RuleFile): string =>
  [...groups.map(writeGroup), ...blocks.map(writeBlock)].join("\n\n");

const list = (texts: readonly string[]): string => JSON.stringify(texts);

const entries = (pairs: readonly (readonly [string, string | number | null])[]): string =>
  pairs.flatMap(([key, value]) => (value === null ? [] : [`${key} = ${value}`])).join(", ");

const writeGroup = ({ name, users, hosts, networks, logins, ignoreCase }: Group): string =>
  [
    `[groups.${name}]`,
    `users = ${list(users)}`,
    `hosts = ${list(hosts)}`,
    `networks = ${list(networks)}`,
    `logins = ${list(logins)}`,
    `ignore_case = ${ignoreCase}`,
  ].join("\n");

function writeBlock(block: RuleBlock): string {
  const { product, feature, deny, allowOnly, reserve, borrow, queue } = block;
  const reservations = reserve.map(
    ({ group, slots, idle }) => `{ group = "${group}", slots = ${slots}, idle = "${idle}" }`,
  );
  const limits = block.groupLimits.map(({ group, slots }) => `${group} = ${slots}`);
  return [
    "[[rule]]",
    `product = "${product}"`,
    ...(feature === null ? [] : [`feature = "${feature}"`]),
    `deny = ${list(deny)}`,
    ...(allowOnly === null ? [] : [`allow_only = ${list(allowOnly)}`]),
    `reserve = [${reservations.join(", ")}]`,
    `limit = { ${entries([
      ["each_user", block.eachUser],
      ["each_host", block.eachHost],
      ["groups", limits.length === 0 ? null : `{ ${limits.join(", ")} }`],
    ])} }`,
    ...(borrow === null ? [] : [`borrow = { ${writeBorrow(borrow)} }`]),
    ...(queue === null
      ? []
      : [`queue = { priority = ${list(queue.priority)}, max_waiting = ${queue.maxWaiting} }`]),
  ].join("\n");
}

const writeBorrow = (borrow: BlockBorrow): string =>
  entries([
    ["deny", list(borrow.deny)],
    ["allow_only", borrow.allowOnly === null ? null : list(borrow.allowOnly)],
    ["max_hours", borrow.maxHours],
    ["max_slots", borrow.maxSlots],
    ["keep_home", borrow.keepHome],
  ]);

/** The same rules in another order; only the order of `priority` has a meaning. */
export function shuffleRuleFile({ groups, blocks }: RuleFile, random: SeededRandom): RuleFile {
  const shuffle = <T>(items: readonly T[]): readonly T[] => shuffleList(items, random);
  return {
    groups: shuffle(groups).map((group) => ({
      ...group,
      users: shuffle(group.users),
      hosts: shuffle(group.hosts),
      networks: shuffle(group.networks),
      logins: shuffle(group.logins),
    })),
    blocks: shuffle(blocks.flatMap((block) => splitBlock(block, random))).map((block) => ({
      ...block,
      deny: shuffle(block.deny),
      allowOnly: block.allowOnly && shuffle(block.allowOnly),
      reserve: shuffle(block.reserve),
      groupLimits: shuffle(block.groupLimits),
    })),
  };
}

export const emptyBlock = (product: string, feature: string | null): RuleBlock => ({
  product,
  feature,
  deny: [],
  allowOnly: null,
  reserve: [],
  eachUser: null,
  eachHost: null,
  groupLimits: [],
  borrow: null,
  queue: null,
});

/** A rule means the same as two rules with its parts. */
function splitBlock(block: RuleBlock, random: SeededRandom): readonly RuleBlock[] {
  if (random.chance(0.5)) return [block];
  const { product, feature, deny, reserve, eachUser, borrow, ...rest } = block;
  const empty = emptyBlock(product, feature);
  return [
    { ...empty, deny, reserve, eachUser },
    { ...empty, borrow, eachHost: rest.eachHost, groupLimits: rest.groupLimits },
    { ...empty, allowOnly: rest.allowOnly, queue: rest.queue },
  ];
}

const shuffleList = <T>(items: readonly T[], random: SeededRandom): T[] =>
  items
    .map((item) => ({ item, key: random.intBelow(1_000_000_000) }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ item }) => item);
