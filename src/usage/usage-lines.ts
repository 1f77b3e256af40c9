import {
  addHour,
  FIGURE_NAMES,
  mapFigures,
  STEPS_PER_HOUR,
  type PoolUsage,
  type UsageHour,
  type UsageTable,
} from "./usage-table.ts";

/**
 * One hour of a pool as a line of JSON. A figure is a list of twelve numbers, or one number if all
 * twelve are equal; absent: zero. `folded` is present if the hour is one step.
 */
export function encodeHour(pool: PoolUsage, hour: number, figures: UsageHour): string {
  const { product, feature } = pool;
  const isFolded = figures.peak.length === 1;
  const line: Record<string, unknown> = { hour, product };
  if (feature !== null) line["feature"] = feature;
  if (isFolded) line["folded"] = true;
  for (const name of FIGURE_NAMES) {
    const values = figures[name];
    const [first = 0] = values;
    const isConstant = values.every((value) => value === first);
    if (!isConstant || first !== 0) line[name] = isConstant ? first : values;
  }
  return `${JSON.stringify(line)}\n`;
}

/** Adds an encoded hour to a table; false: the text is no such line. */
export function addEncodedHour(table: UsageTable, text: string): boolean {
  const line = parseObject(text);
  const { hour, product, feature = null, folded = false } = line ?? {};
  if (line === null || !Number.isSafeInteger(hour) || typeof product !== "string") return false;
  if (typeof folded !== "boolean" || (feature !== null && typeof feature !== "string"))
    return false;
  const length = folded ? 1 : STEPS_PER_HOUR;
  let isValid = true;
  const figures = mapFigures((name) => {
    const value = line[name] ?? 0;
    const values: unknown = Array.isArray(value) ? value : Array.from({ length }, () => value);
    if (isNumberList(values, length)) return values;
    isValid = false;
    return [];
  });
  if (isValid) addHour(table.findOrAddPool({ product, feature }), Number(hour), figures);
  return isValid;
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}

const isNumberList = (values: unknown, length: number): values is number[] =>
  Array.isArray(values) &&
  values.length === length &&
  values.every((value) => typeof value === "number");
