import { RULES_LIMITS } from "../limits.ts";
import type { ImportedGroup, ImportedPool, ImportNote } from "./imported-rules.ts";

/** Pairs of groups that are named for one product; the rest is counted. */
const MAX_OVERLAPS = 20;

/** Where the converted rules decide in another way than FlexNet did. */
export function describeDifferences(
  pools: readonly ImportedPool[],
  groups: readonly ImportedGroup[],
  unusedNames: readonly string[],
): readonly ImportNote[] {
  const byName = new Map(groups.map((group) => [group.name, group]));
  const texts = [
    ...describeNames(pools, unusedNames),
    ...pools.flatMap((pool) => [...describePool(pool, byName)]),
    ...describeSize(groups),
  ];
  if (pools.some(({ reserve }) => reserve.size > 0)) {
    texts.push(
      "a reservation counts once for a product, over all its licenses; FlexNet reserves in each " +
        "pool of licenses, so that two pools kept twice as many",
    );
  }
  return texts.map((text) => ({ line: null, text }));
}

function* describeNames(
  pools: readonly ImportedPool[],
  unusedNames: readonly string[],
): Generator<string> {
  const unmapped = pools.filter(
    ({ product, feature, sources }) => feature === null && sources.has(product),
  );
  if (unmapped.length > 0) {
    const names = unmapped.map(({ product }) => product).join(", ");
    yield `these features became products of the same name, as they were given no other: ${names}`;
  }
  if (unusedNames.length > 0) {
    yield `the file does not name these features, which were given a product: ${unusedNames.join(", ")}`;
  }
}

type GroupsByName = ReadonlyMap<string, ImportedGroup>;

function* describePool(pool: ImportedPool, groups: GroupsByName): Generator<string> {
  const { product, feature, sources, allowOnly, includeLines, eachUser } = pool;
  const name = feature === null ? product : `${product}:${feature}`;
  if (sources.size > 1) {
    yield `${name}: ${[...sources].toSorted().join(", ")} share its rules: who is let in to one of them is let in to all, the lowest limit counts, and the largest reservation of a group`;
  }
  if (includeLines > 0 && allowOnly.size === 0) {
    yield `${name}: FlexNet lets in only the callers of INCLUDE lines, but none of these has an equivalent: the rules below are open to everyone`;
  }
  for (const [group, slots] of pool.groupLimits) {
    if (eachUser !== null && slots > eachUser && isSingleUser(groups, group)) {
      yield `${name}: the limit ${slots} of ${group} is above the limit ${eachUser} for each user, and both count here; in FlexNet, an earlier line for one user counts instead`;
    }
  }
  yield* describeOverlaps(name, pool, groups);
}

const isSingleUser = (groups: GroupsByName, name: string): boolean => {
  const group = groups.get(name);
  return group !== undefined && group.users.size === 1 && group.hosts.size === 0;
};

/** Two reserved groups that a caller may be in; the first one counts for it. */
interface Overlap {
  readonly first: string;
  readonly second: string;
  /** Empty: callers who are in the one by name, and in the other by host. */
  readonly users: string[];
}

/** A caller has one home in Berth; FlexNet lets it use the reservations of all its groups. */
function* describeOverlaps(
  name: string,
  { reserve }: ImportedPool,
  groups: GroupsByName,
): Generator<string> {
  const reserved = [...reserve.keys()].toSorted().flatMap((group) => groups.get(group) ?? []);
  const shared = listShared(reserved);
  const mixed = listMixed(reserved, MAX_OVERLAPS - shared.length);
  for (const { first, second, users } of [...shared.slice(0, MAX_OVERLAPS), ...mixed]) {
    const callers = users.length > 0 ? users.slice(0, 3).join(", ") : "callers in both";
    yield `${name}: ${callers}: reserved for ${first} and for ${second}; in Berth the reservation of ${first}, the first by name, counts for them`;
  }
  const rest = shared.length + countMixed(reserved) - MAX_OVERLAPS;
  if (rest > 0) {
    yield `${name}: ${rest} more pairs of reserved groups may have callers in both; the first by name counts for them`;
  }
}

/** By the first group of each user: that one is the user's home. */
function listShared(reserved: readonly ImportedGroup[]): readonly Overlap[] {
  const homes = new Map<string, string>();
  const overlaps = new Map<string, Overlap>();
  for (const { name: second, users } of reserved) {
    for (const user of users) {
      const first = homes.get(user);
      if (first === undefined) homes.set(user, second);
      else {
        const key = `${first} ${second}`;
        const overlap = overlaps.get(key) ?? { first, second, users: [] };
        overlap.users.push(user);
        overlaps.set(key, overlap);
      }
    }
  }
  return [...overlaps.values()];
}

const hasUsers = ({ users }: ImportedGroup): boolean => users.size > 0;

/** A group of users and a group of hosts: a caller may be in both. At most `limit` pairs. */
function listMixed(reserved: readonly ImportedGroup[], limit: number): readonly Overlap[] {
  const ofHosts = reserved.filter((group) => !hasUsers(group));
  const pairs: Overlap[] = [];
  for (const { name } of reserved.filter(hasUsers)) {
    for (const { name: other } of ofHosts) {
      if (pairs.length >= limit) return pairs;
      const [first = name, second = other] = [name, other].toSorted();
      pairs.push({ first, second, users: [] });
    }
  }
  return pairs;
}

function countMixed(reserved: readonly ImportedGroup[]): number {
  const ofUsers = reserved.filter(hasUsers).length;
  return ofUsers * (reserved.length - ofUsers);
}

function* describeSize(groups: readonly ImportedGroup[]): Generator<string> {
  const patterns = groups.reduce(
    (sum, { users, hosts, networks }) => sum + users.size + hosts.size + networks.size,
    0,
  );
  if (groups.length > RULES_LIMITS.groups) {
    yield `${groups.length} groups: rules can have ${RULES_LIMITS.groups}; remove groups before you apply them`;
  }
  if (patterns > RULES_LIMITS.patterns) {
    yield `${patterns} names and networks: rules can have ${RULES_LIMITS.patterns}; write \`*\` at the end of names that begin alike`;
  }
}
