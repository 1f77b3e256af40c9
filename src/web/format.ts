/** Numbers and times are written in the locale of the reader's browser. */

const numberFormat = new Intl.NumberFormat();
const dateTimeFormat = new Intl.DateTimeFormat(undefined, {
  dateStyle: "medium",
  timeStyle: "short",
});
const dateFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

export const formatNumber = (value: number): string => numberFormat.format(value);

export const formatDateTime = (time: string): string => dateTimeFormat.format(new Date(time));

export const formatDate = (time: string): string => dateFormat.format(new Date(time));

const UNITS = ["B", "kB", "MB", "GB", "TB"];

export function formatBytes(count: number): string {
  const power = count < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(count) / 3));
  const value = count / 1_000 ** power;
  return `${value.toFixed(power === 0 || value >= 100 ? 0 : 1)} ${UNITS[power]}`;
}
