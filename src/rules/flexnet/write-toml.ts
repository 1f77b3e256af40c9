import type { ImportedGroup, ImportedPool, ImportNote, UnconvertedLine } from "./imported-rules.ts";

export interface ImportedRules {
  readonly groups: readonly ImportedGroup[];
  readonly pools: readonly ImportedPool[];
  readonly notes: readonly ImportNote[];
  readonly unconverted: readonly UnconvertedLine[];
}

/** The text of a rules file; what was not converted is in comments at its end. */
export function writeToml({ groups, pools, notes, unconverted }: ImportedRules): string {
  return [
    comment("Made from an options file of FlexNet by berth rules import."),
    comment("berth rules check FILE shows what to correct; berth rules apply FILE applies it."),
    ...(notes.length === 0 ? [] : ["", ...notes.map((note) => comment(formatNote(note)))]),
    ...groups.flatMap((group) => ["", ...writeGroup(group)]),
    ...pools.flatMap((pool) => ["", ...writePool(pool)]),
    ...(unconverted.length === 0
      ? []
      : [
          "",
          comment(`Without an equivalent: ${unconverted.length}`),
          ...unconverted.map((line) => comment(formatUnconverted(line))),
        ]),
    "",
  ].join("\n");
}

export const formatNote = ({ line, text }: ImportNote): string =>
  line === null ? text : `line ${line}: ${text}`;

export const formatUnconverted = ({ line, lastLine, text, reason }: UnconvertedLine): string =>
  `${line === lastLine ? `line ${line}` : `lines ${line} to ${lastLine}`}: ${text}: ${reason}`;

/** TOML allows no control characters in comments. */
const comment = (text: string): string => `# ${text.replaceAll(UNPRINTABLE, "?")}`;

const UNPRINTABLE = /[\p{Cc}\p{DI}\u2028\u2029]/gu;

const quote = (text: string): string => JSON.stringify(text);

const writeList = (texts: Iterable<string>): string =>
  `[${[...texts].toSorted().map(quote).join(", ")}]`;

const formatLines = (lines: ReadonlySet<number>): string => {
  const numbers = [...lines].toSorted((a, b) => a - b);
  const shown = numbers.slice(0, 20).join(", ");
  return `${numbers.length === 1 ? "line" : "lines"} ${shown}${numbers.length > 20 ? ", …" : ""}`;
};

function writeGroup({ name, users, hosts, networks, ignoreCase, lines }: ImportedGroup): string[] {
  return [
    `[groups.${name}] # ${formatLines(lines)}`,
    ...(users.size === 0 ? [] : [`users = ${writeList(users)}`]),
    ...(hosts.size === 0 ? [] : [`hosts = ${writeList(hosts)}`]),
    ...(networks.size === 0 ? [] : [`networks = ${writeList(networks)}`]),
    ...(ignoreCase ? ["ignore_case = true"] : []),
  ];
}

function writePool(pool: ImportedPool): string[] {
  const { product, feature, deny, allowOnly } = pool;
  const reserve = [...pool.reserve].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const reservations = reserve.map(([group, bySource]) => {
    const slots = Math.max(...bySource.values());
    return `{ group = ${quote(group)}, slots = ${slots}, idle = "keep" }`;
  });
  const limit = writeLimit(pool);
  const borrow = writeBorrow(pool);
  return [
    `[[rule]] # ${formatLines(pool.lines)}`,
    `product = ${quote(product)}`,
    ...(feature === null ? [] : [`feature = ${quote(feature)}`]),
    ...(deny.size === 0 ? [] : [`deny = ${writeList(deny)}`]),
    ...(allowOnly.size === 0 ? [] : [`allow_only = ${writeList(allowOnly)}`]),
    ...(reservations.length === 0 ? [] : [`reserve = [${reservations.join(", ")}]`]),
    ...(limit.length === 0 ? [] : [`limit = { ${limit.join(", ")} }`]),
    ...(borrow.length === 0 ? [] : [`borrow = { ${borrow.join(", ")} }`]),
  ];
}

function writeLimit({ eachUser, groupLimits }: ImportedPool): string[] {
  const groups = [...groupLimits].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const entries = groups.map(([group, slots]) => `${group} = ${slots}`);
  return [
    ...(eachUser === null ? [] : [`each_user = ${eachUser}`]),
    ...(entries.length === 0 ? [] : [`groups = { ${entries.join(", ")} }`]),
  ];
}

function writeBorrow({ borrowDeny, borrowAllowOnly, maxHours, keepHome }: ImportedPool): string[] {
  const home = Math.max(0, ...keepHome.values());
  return [
    ...(borrowDeny.size === 0 ? [] : [`deny = ${writeList(borrowDeny)}`]),
    ...(borrowAllowOnly.size === 0 ? [] : [`allow_only = ${writeList(borrowAllowOnly)}`]),
    ...(maxHours.size === 0 ? [] : [`max_hours = ${Math.min(...maxHours.values())}`]),
    ...(home === 0 ? [] : [`keep_home = ${home}`]),
  ];
}
