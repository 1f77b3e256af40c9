/** One series of the text format. */
interface MetricSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

// The flag s: a label may contain U+2028, which ends a line for a dot.
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/s;
const PAIR = /(?:^|,)([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/gs;

/** Reads the samples of a reply in the text format. Lines of another form are left out. */
function parseMetrics(text: string): MetricSample[] {
  return text.split("\n").flatMap((line) => {
    const [match, name = "", pairs = "", number = ""] = SAMPLE.exec(line) ?? [];
    if (match === undefined || line.startsWith("#")) return [];
    const labels = Object.fromEntries(
      [...pairs.matchAll(PAIR)].map(([, label = "", value = ""]) => [label, unescapeValue(value)]),
    );
    return [{ name, labels, value: Number(number.replace("Inf", "Infinity")) }];
  });
}

const unescapeValue = (text: string): string =>
  text.replaceAll(/\\(.)/gs, (_match, character: string) => (character === "n" ? "\n" : character));

/** The samples of one server, by the names of their metrics. */
export class MetricSamples {
  readonly #byName: ReadonlyMap<string, readonly MetricSample[]>;

  constructor(text: string) {
    this.#byName = Map.groupBy(parseMetrics(text), ({ name }) => name);
  }

  list(name: string): readonly MetricSample[] {
    return this.#byName.get(name) ?? [];
  }

  /** The value of the series with these labels; null: there is none. */
  find(name: string, labels: MetricSample["labels"] = {}): number | null {
    const found = this.list(name).find((sample) =>
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    );
    return found?.value ?? null;
  }
}
