import { describeEnd, isEndingSoon } from "../../domain/licenses/end-date.ts";
import { instant } from "../../domain/time.ts";
import type { AccessReply } from "../../http/routes/access.ts";
import { isServiceToken } from "../service/admin-token.ts";
import { servicePaths } from "../service/unit.ts";
import { createFinding, type Finding } from "./finding.ts";

type Token = AccessReply["tokens"][number];

/** Warns of tokens that expire soon: a replacement must be distributed before that. */
export function checkTokens(tokens: readonly Token[], now: string): Finding[] {
  const newest = tokens
    .filter(({ name }) => isServiceToken(name))
    .toSorted((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at))[0];
  return tokens.flatMap((token) => {
    const { name } = token;
    const text = describeTokenEnd(token, now);
    if (text === null) return [];
    if (token === newest) {
      const advice = `sudo berth service install writes a new one to ${servicePaths.adminToken}`;
      return [createFinding("token", "warning", text, advice)];
    }
    if (token.is_expired)
      return [createFinding("token", "note", text, `berth admin token revoke ${name}`)];
    // A newer service token has replaced it.
    if (isServiceToken(name)) return [];
    const advice = "berth admin token --name NEW creates a token to replace it";
    return [createFinding("token", "warning", text, advice)];
  });
}

/** Null: it does not expire soon. A token for a few days is reported only in its last quarter. */
function describeTokenEnd(
  { name, created_at, expires_at, is_expired }: Token,
  now: string,
): string | null {
  if (is_expired) return `the token ${name} has expired`;
  if (expires_at === null) return null;
  const [created, end, at] = [created_at, expires_at, now].map((time) => instant(Date.parse(time)));
  if (created === undefined || end === undefined || at === undefined) return null;
  const isInLastQuarter = end - at < (end - created) / 4;
  return isInLastQuarter && isEndingSoon(end, at)
    ? `the token ${name} ${describeEnd(end, at)}`
    : null;
}
