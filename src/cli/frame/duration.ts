import { DAY, HOUR, MINUTE } from "../../domain/time.ts";

const UNITS: Readonly<Record<string, number>> = { m: MINUTE, h: HOUR, d: DAY, w: 7 * DAY };

/** Parses a duration such as `45m`, `48h`, `60d` or `8w` to milliseconds; null: invalid. */
export function parseDuration(text: string): number | null {
  const [, amount, unit = ""] = /^([1-9]\d{0,4})([mhdw])$/.exec(text) ?? [];
  return amount === undefined ? null : Number(amount) * (UNITS[unit] ?? 0);
}
