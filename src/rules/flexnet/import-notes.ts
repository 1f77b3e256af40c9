import type { ImportedGroup, ImportedPool, ImportNote } from "./imported-rules.ts";

/** Limits of a rules file, which an import can exceed. */
const MAX_GROUPS = 1_000;
const MAX_PATTERNS = 10_000;

/** Where the converted rules decide in another way than FlexNet did. */
export function describeDifferences(
  pools: readonly ImportedPool[],
  groups: readonly ImportedGroup[],
  unusedNames: readonly string[],
): readonly ImportNote[] {
  const texts = [
    ...describeNames(pools, unusedNames),
    ...pools.flatMap((pool) => [...describePool(pool, groups)]),
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

function* describePool(pool: ImportedPool, groups: readonly ImportedGroup[]): Generator<string> {
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

const isSingleUser = (groups: readonly ImportedGroup[], name: string): boolean => {
  const group = groups.find((candidate) => candidate.name === name);
  return group !== undefined && group.users.size === 1 && group.hosts.size === 0;
};

/** A caller has one home in Berth; FlexNet lets it use the reservations of all its groups. */
function* describeOverlaps(
  name: string,
  { reserve }: ImportedPool,
  groups: readonly ImportedGroup[],
): Generator<string> {
  const reserved = groups.filter((group) => reserve.has(group.name));
  for (const [index, first] of reserved.entries()) {
    for (const second of reserved.slice(index + 1)) {
      const shared = [...first.users].filter((user) => second.users.has(user));
      const isMixed = first.users.size > 0 !== second.users.size > 0;
      if (shared.length > 0 || isMixed) {
        const callers = shared.length > 0 ? shared.slice(0, 3).join(", ") : "callers in both";
        yield `${name}: ${callers}: reserved for ${first.name} and for ${second.name}; in Berth the reservation of ${first.name}, the first by name, counts for them`;
      }
    }
  }
}

function* describeSize(groups: readonly ImportedGroup[]): Generator<string> {
  const patterns = groups.reduce(
    (sum, { users, hosts, networks }) => sum + users.size + hosts.size + networks.size,
    0,
  );
  if (groups.length > MAX_GROUPS) {
    yield `${groups.length} groups: rules can have ${MAX_GROUPS}; remove groups before you apply them`;
  }
  if (patterns > MAX_PATTERNS) {
    yield `${patterns} names and networks: rules can have ${MAX_PATTERNS}; write \`*\` at the end of names that begin alike`;
  }
}
