/** What the Reports view shows, as its address says: `#/reports/CAD/MESH/range=week/day=…`. */
export interface ReportAddress {
  /** Null: all products. */
  readonly product: string | null;
  /** Null: the slots of the product itself. */
  readonly feature: string | null;
  readonly period: Period;
  /** The day whose denied episodes are listed, `YYYY-MM-DD`; null: all days of the period. */
  readonly day: string | null;
}

/** A range that ends now, or days in the reader's time zone, both inclusive. */
export type Period = RangeName | { readonly from: string; readonly to: string };

export type RangeName = (typeof RANGES)[number];

export const RANGES = ["day", "week", "month", "quarter", "year", "18months"] as const;

const DEFAULT_RANGE: RangeName = "month";

const RANGE_DAYS: Readonly<Record<RangeName, number>> = {
  day: 1,
  week: 7,
  month: 30,
  quarter: 91,
  year: 365,
  "18months": 548,
};

const OPTION = /^(range|from|to|day)=(.*)$/;

export function readAddress(params: readonly string[]): ReportAddress {
  const options = new Map<string, string>();
  const names: string[] = [];
  for (const param of params) {
    const [, name, value] = OPTION.exec(param) ?? [];
    if (name === undefined || value === undefined) names.push(param);
    else options.set(name, value);
  }
  const [product = "", feature = ""] = names;
  const day = options.get("day") ?? "";
  return {
    product: product === "" ? null : product,
    feature: product === "" || feature === "" ? null : feature,
    period: readPeriod(options),
    day: isDay(day) ? day : null,
  };
}

function readPeriod(options: ReadonlyMap<string, string>): Period {
  const [from = "", to = ""] = [options.get("from"), options.get("to")];
  if (isDay(from) && isDay(to) && from <= to) return { from, to };
  return RANGES.find((range) => range === options.get("range")) ?? DEFAULT_RANGE;
}

export function reportLink({ product, feature, period, day }: ReportAddress): string {
  const parts = [
    ...(product === null ? [] : [encodeURIComponent(product)]),
    ...(product === null || feature === null ? [] : [encodeURIComponent(feature)]),
    ...(typeof period === "string"
      ? period === DEFAULT_RANGE
        ? []
        : [`range=${period}`]
      : [`from=${period.from}`, `to=${period.to}`]),
    ...(day === null ? [] : [`day=${day}`]),
  ];
  return ["#/reports", ...parts].join("/");
}

export interface TimeBounds {
  readonly from: string;
  readonly to: string;
}

/** The times of a period; `to` is exclusive. */
export function boundsOf(period: Period, now: number): TimeBounds {
  if (typeof period !== "string")
    return { from: startOf(period.from).toISOString(), to: startAfter(period.to).toISOString() };
  const from = now - RANGE_DAYS[period] * 86_400_000;
  return { from: new Date(from).toISOString(), to: new Date(now).toISOString() };
}

export const boundsOfDay = (day: string): TimeBounds => boundsOf({ from: day, to: day }, 0);

export function isDay(text: string): boolean {
  if (!/^[1-9]\d{3}-\d\d-\d\d$/.test(text)) return false;
  const start = startOf(text);
  return !Number.isNaN(start.getTime()) && start.getDate() === Number(text.slice(8));
}

/** Midnight in the reader's time zone. */
export const startOf = (day: string): Date => new Date(`${day}T00:00:00`);

/** The next midnight: a day can have 23 or 25 hours. */
function startAfter(day: string): Date {
  const next = startOf(day);
  next.setDate(next.getDate() + 1);
  return next;
}

/** The day of a time in the reader's time zone. */
export function dayOf(time: number): string {
  const date = new Date(time);
  const parts = [date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, "0"));
  return [String(date.getFullYear()).padStart(4, "0"), ...parts].join("-");
}

/** Every day of a period, oldest first. */
export function daysOf({ from, to }: TimeBounds): string[] {
  const days: string[] = [];
  const last = Date.parse(to);
  for (let day = dayOf(Date.parse(from)); startOf(day).getTime() < last;) {
    days.push(day);
    day = dayOf(startAfter(day).getTime());
  }
  return days;
}
