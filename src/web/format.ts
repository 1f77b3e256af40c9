/** Everything that is shown the way the reader's own browser writes it. */

const whole = new Intl.NumberFormat();
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const span = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

export const number = (value: number): string => whole.format(value);

export const when = (time: string): string => moment.format(new Date(time));

export const date = (time: string): string => day.format(new Date(time));

const STEPS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

/** "in 5 minutes", "2 days ago"; of less than a minute, in seconds. */
export function fromNow(time: string, now: number = Date.now()): string {
  const seconds = Math.round((Date.parse(time) - now) / 1_000);
  const [unit, size] = STEPS.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1];
  return span.format(Math.trunc(seconds / size), unit);
}

const UNITS = ["B", "kB", "MB", "GB", "TB"];

export function bytes(count: number): string {
  const power = count < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(count) / 3));
  const value = count / 1_000 ** power;
  return `${value.toFixed(power === 0 || value >= 100 ? 0 : 1)} ${UNITS[power]}`;
}
