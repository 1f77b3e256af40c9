// A value of JSON as lines for golden files: short objects on one line, and longer ones with one
// line for each member, so that a comparison of two versions shows exactly what changed.

const WIDTH = 120;

/** Strings have quotes, so that "1" and 1 differ. */
export const formatValue = (value: unknown): string =>
  formatMember(value, -1, 0).replace(/^\n/, "");

function formatMember(value: unknown, indent: number, leadWidth: number): string {
  const line = formatLine(value);
  if (!isContainer(value) || line.length + indent + leadWidth <= WIDTH) return line;
  const newLine = `\n${" ".repeat(indent + 1)}`;
  if (Array.isArray(value)) {
    const items = value.map((item) => `${newLine}-${separate(formatMember(item, indent + 1, 2))}`);
    return mergeEqual(items).join("");
  }
  return Object.entries(value)
    .map(([name, member]) => {
      const text = formatMember(member, indent + 1, name.length + 2);
      return `${newLine}${name}:${separate(text)}`;
    })
    .join("");
}

const separate = (text: string): string => (text.startsWith("\n") ? text : ` ${text}`);

function formatLine(value: unknown): string {
  if (value instanceof Reference) return `*${value.name}`;
  if (!isContainer(value)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${mergeEqual(value.map(formatLine)).join(", ")}]`;
  const members = Object.entries(value).map(([name, member]) => `${name}: ${formatLine(member)}`);
  return `{${members.join(", ")}}`;
}

const isContainer = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !(value instanceof Reference);

/** Equal items that follow each other, as in an hour's values of a diagram, become one. */
function mergeEqual(items: readonly string[]): string[] {
  const runs: { readonly item: string; count: number }[] = [];
  for (const item of items) {
    const last = runs.at(-1);
    if (last?.item === item) last.count += 1;
    else runs.push({ item, count: 1 });
  }
  return runs.map(({ item, count }) => (count === 1 ? item : `${item} (${count} times)`));
}

/** Stands for a value that is printed elsewhere. */
class Reference {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** A part with fewer characters of JSON is printed wherever it occurs. */
const SHORT_PART = 80;

export interface SharedParts {
  readonly value: unknown;
  /** The parts that occur more than once, by names that depend on their content only. */
  readonly parts: Readonly<Record<string, unknown>>;
}

/** Prints each longer part that occurs more than once only once, as most refusals of OpenAPI. */
export function shareParts(source: unknown): SharedParts {
  const counts = new Map<string, number>();
  countParts(source, counts);
  const parts: Record<string, unknown> = {};
  const shareMembers = (value: object): unknown =>
    Array.isArray(value)
      ? value.map(share)
      : Object.fromEntries(Object.entries(value).map(([name, member]) => [name, share(member)]));
  const share = (value: unknown): unknown => {
    if (!isContainer(value)) return value;
    const json = JSON.stringify(value);
    if ((counts.get(json) ?? 0) < 2) return shareMembers(value);
    const name = `part-${Bun.hash(json).toString(16).padStart(16, "0").slice(0, 8)}`;
    parts[name] ??= shareMembers(value);
    return new Reference(name);
  };
  return { value: share(source), parts };
}

function countParts(value: unknown, counts: Map<string, number>): void {
  if (!isContainer(value)) return;
  const json = JSON.stringify(value);
  if (json.length > SHORT_PART) {
    const count = (counts.get(json) ?? 0) + 1;
    counts.set(json, count);
    // Parts of a part that is shared are printed once already.
    if (count > 1) return;
  }
  for (const member of Object.values(value)) countParts(member, counts);
}

/** The paths of all members: for a value whose items depend on the machine. */
export function listMembers(value: unknown): string[] {
  if (!isContainer(value)) return [""];
  const paths = Array.isArray(value)
    ? value.flatMap((item) => listMembers(item).map((path) => `[]${path}`))
    : Object.entries(value).flatMap(([name, member]) =>
        listMembers(member).map((path) => `.${name}${path}`),
      );
  return [...new Set(paths)].toSorted();
}
