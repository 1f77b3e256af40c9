// A strict reader of both exposition formats, written from their specifications and not from the
// writer. It throws at the first line that the format does not allow.

export interface ParsedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ParsedFamily {
  readonly name: string;
  readonly type: string;
  readonly unit: string | null;
  readonly help: string;
  readonly samples: ParsedSample[];
}

const SUFFIXES: Readonly<Record<"openmetrics" | "text", Readonly<Record<string, RegExp>>>> = {
  openmetrics: {
    gauge: /^$/,
    counter: /^_(?:total|created)$/,
    histogram: /^_(?:bucket|sum|count|created)$/,
    info: /^_info$/,
  },
  text: { gauge: /^$/, counter: /^$/, histogram: /^_(?:bucket|sum|count)$/ },
};

export function parseExposition(text: string, format: "openmetrics" | "text"): ParsedFamily[] {
  if (!text.endsWith("\n")) throw new Error("the last line has no line feed");
  const lines = text.slice(0, -1).split("\n");
  if (format === "openmetrics" && lines.pop() !== "# EOF") throw new Error("# EOF is missing");
  const families = new Map<string, ParsedFamily>();
  let metadata: Record<string, string> = {};
  let current: ParsedFamily | null = null;
  for (const line of lines) {
    const comment = /^# (TYPE|UNIT|HELP) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/s.exec(line);
    if (comment !== null) {
      const [, kind = "", name = "", rest = ""] = comment;
      if (metadata["name"] !== name) metadata = { name };
      if (metadata[kind] !== undefined) throw new Error(`${kind} of ${name} is there twice`);
      metadata[kind] = rest;
      current = null;
      continue;
    }
    if (line.startsWith("#") || line === "") throw new Error(`not allowed: ${line}`);
    current ??= startFamily(families, metadata, format);
    const sample = parseSample(line);
    if (!sample.name.startsWith(current.name)) throw new Error(`outside its family: ${line}`);
    const suffix = sample.name.slice(current.name.length);
    if (SUFFIXES[format][current.type]?.test(suffix) !== true) throw new Error(`suffix: ${line}`);
    current.samples.push(sample);
  }
  for (const family of families.values()) checkFamily(family);
  return [...families.values()];
}

function startFamily(
  families: Map<string, ParsedFamily>,
  { name, TYPE: type, UNIT: unit = null, HELP: help }: Record<string, string | null>,
  format: string,
): ParsedFamily {
  if (name == null || type == null || help == null) throw new Error("TYPE or HELP is missing");
  if (families.has(name)) throw new Error(`the family ${name} is there twice`);
  if (unit !== null && !name.endsWith(`_${unit}`)) throw new Error(`${name} has no unit`);
  if (format === "text" && unit !== null) throw new Error("the text format has no UNIT");
  const family: ParsedFamily = { name, type, unit, help: unescapeText(help), samples: [] };
  families.set(name, family);
  return family;
}

// A value may contain U+2028, which a dot matches only with the flag s.
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?\d[\d.e+-]*|NaN|[+-]Inf)$/s;
const PAIR = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\[\\"n])*)"(?:,(?=.)|$)/s;

function parseSample(line: string): ParsedSample {
  const [match, name = "", pairs = "", number = ""] = SAMPLE.exec(line) ?? [];
  if (match === undefined) throw new Error(`no sample: ${line}`);
  const labels: Record<string, string> = {};
  for (let rest = pairs; rest !== "";) {
    const [pair, label = "", value = ""] = PAIR.exec(rest) ?? [];
    if (pair === undefined) throw new Error(`labels: ${line}`);
    if (Object.hasOwn(labels, label)) throw new Error(`the label ${label} is there twice`);
    labels[label] = unescapeText(value);
    rest = rest.slice(pair.length);
  }
  return { name, labels, value: parseNumber(number) };
}

const unescapeText = (text: string): string =>
  text.replaceAll(/\\(.)/gs, (_match, character: string) => (character === "n" ? "\n" : character));

const parseNumber = (text: string): number =>
  text.endsWith("Inf") ? (text.startsWith("-") ? -Infinity : Infinity) : Number(text);

export const seriesKey = ({ name, labels }: ParsedSample): string =>
  JSON.stringify([name, Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1))]);

function checkFamily({ name, type, samples }: ParsedFamily): void {
  const keys = samples.map(seriesKey);
  if (new Set(keys).size !== keys.length) throw new Error(`${name} has a series twice`);
  if (type === "counter" && samples.some(({ value }) => !(value >= 0))) throw new Error(name);
  if (type !== "histogram") return;
  const buckets = samples.filter((sample) => sample.name === `${name}_bucket`);
  const byLabels = Map.groupBy(buckets, ({ labels: { le: _le, ...labels } }) =>
    JSON.stringify(labels),
  );
  for (const [labels, list] of byLabels) {
    const bounds = list.map((bucket) => parseNumber(bucket.labels["le"] ?? ""));
    if (bounds.some((bound, index) => index > 0 && bound <= (bounds[index - 1] ?? 0)))
      throw new Error(`${name}: bounds`);
    if (bounds.at(-1) !== Infinity) throw new Error(`${name}: no bucket +Inf`);
    const values = list.map(({ value }) => value);
    if (values.some((value, index) => index > 0 && value < (values[index - 1] ?? 0)))
      throw new Error(`${name}: buckets are not cumulative`);
    const count = samples.find(
      (sample) => sample.name === `${name}_count` && JSON.stringify(sample.labels) === labels,
    );
    if (count?.value !== values.at(-1)) throw new Error(`${name}: count`);
  }
}
