/** Everything that is shown the way the reader's own browser writes it. */

const whole = new Intl.NumberFormat();
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

export const number = (value: number): string => whole.format(value);

export const when = (time: string): string => moment.format(new Date(time));

export const date = (time: string): string => day.format(new Date(time));

const UNITS = ["B", "kB", "MB", "GB", "TB"];

export function bytes(count: number): string {
  const power = count < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(count) / 3));
  const value = count / 1_000 ** power;
  return `${value.toFixed(power === 0 || value >= 100 ? 0 : 1)} ${UNITS[power]}`;
}
