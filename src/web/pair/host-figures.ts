import { formatNumber } from "../format.ts";
import { pair as texts } from "./pair-texts.ts";

const MINUTE = 60;

export function describeSeen(seconds: number | null): string {
  if (seconds === null) return texts.never;
  return seconds < 2 * MINUTE
    ? texts.secondsAgo(formatNumber(Math.round(seconds)))
    : texts.minutesAgo(formatNumber(Math.floor(seconds / MINUTE)));
}

interface HostLines {
  readonly role: "leader" | "standby" | null;
  readonly lines_behind: number | null;
}

/** The leader writes the log: it is never behind. */
export function describeBehind({ role, lines_behind: lines }: HostLines): string {
  if (role === "leader") return texts.upToDate;
  if (lines === null) return texts.unknown;
  return lines === 0 ? texts.upToDate : texts.lines(formatNumber(lines));
}

/** Less than a tenth of a second is no difference: a report takes longer. */
const MIN_DIFFERENCE = 0.1;

export function describeClock(ahead: number | null): string {
  if (ahead === null) return texts.unknown;
  if (Math.abs(ahead) < MIN_DIFFERENCE) return texts.clockEqual;
  const difference = formatNumber(Math.abs(ahead));
  return ahead > 0 ? texts.clockAhead(difference) : texts.clockBehind(difference);
}
