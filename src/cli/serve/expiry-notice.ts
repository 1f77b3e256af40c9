import { describeEnd, isEndingSoon } from "../../domain/licenses/end-date.ts";
import { instant } from "../../domain/time.ts";

/** Describes an end that is near; null: no end, or not near. Both times are RFC 3339. */
export function describeEndIfSoon(end: string | null, now: string): string | null {
  if (end === null) return null;
  const [endsAt, at] = [instant(Date.parse(end)), instant(Date.parse(now))];
  return isEndingSoon(endsAt, at) ? describeEnd(endsAt, at) : null;
}
