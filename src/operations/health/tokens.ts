import { describeEnd, isEndingSoon, type WarningTime } from "../../domain/licenses/end-date.ts";
import { instant, type Instant } from "../../domain/time.ts";
import type { AccessView } from "../access/access-list.ts";
import { createFinding, type Finding, type HealthReport } from "./finding.ts";
import { quoteIfNeeded } from "../../platform/shell-quote.ts";

export type TokenFacts = Pick<AccessView["tokens"][number], "name" | "madeAt" | "endsAt" | "ended">;

/** The installer names its first token `service`, and every later one after its day. */
const isServiceToken = (name: string): boolean => /^service(?:-\d{4}-|$)/.test(name);

/** A token that expires must be replaced before that; one that never expires may be stolen. */
export function checkTokens(tokens: readonly TokenFacts[], time: WarningTime): HealthReport {
  const newestServiceToken = tokens
    .filter(({ name }) => isServiceToken(name))
    .toSorted((a, b) => b.madeAt - a.madeAt)[0];
  const findings = tokens.flatMap((token) =>
    tokenFindings(token, token === newestServiceToken, time),
  );
  const summary = tokens.length === 1 ? "1 token" : `${tokens.length} tokens`;
  return {
    findings,
    passed:
      tokens.length > 0 && findings.length === 0
        ? [{ check: "tokens", summary: `${summary}, none expires soon` }]
        : [],
  };
}

const RENEW_SERVICE_TOKEN = {
  remedy: "Install the service again: that writes a new token to its file",
  command: "berth service install",
};

function tokenFindings(
  token: TokenFacts,
  isNewestServiceToken: boolean,
  { now, warningDays }: WarningTime,
): Finding[] {
  const { name, endsAt } = token;
  if (token.ended) {
    const summary = `The token ${name} has expired`;
    if (isNewestServiceToken) {
      const details = { summary, ...RENEW_SERVICE_TOKEN, subject: name };
      return [createFinding("token_expired", "warning", details)];
    }
    const command = `berth admin token revoke ${quoteIfNeeded(name)}`;
    const remedy = "Revoke it, so that it is no longer listed";
    return [createFinding("token_expired", "note", { summary, remedy, command, subject: name })];
  }
  if (endsAt === null) return [unlimitedFinding(name)];
  const end = instant(endsAt);
  // A newer token of the service has replaced it.
  const isReplaced = isServiceToken(name) && !isNewestServiceToken;
  if (isReplaced || !isInLastQuarter(token, end, now) || !isEndingSoon(end, now, warningDays))
    return [];
  const details = isNewestServiceToken
    ? RENEW_SERVICE_TOKEN
    : {
        remedy: "Create a token to replace it, and hand it out before then",
        command: "berth admin token --name NEW",
      };
  const summary = `The token ${name} ${describeEnd(end, now)}`;
  return [createFinding("token_expiring", "warning", { summary, ...details, subject: name })];
}

function unlimitedFinding(name: string): Finding {
  const create = isServiceToken(name) ? "berth service install" : "berth admin token --name NEW";
  return createFinding("token_no_expiry", "note", {
    summary: `The token ${name} never expires`,
    remedy: `Replace it with one that expires (${create}), then revoke it`,
    command: `berth admin token revoke ${quoteIfNeeded(name)}`,
    subject: name,
  });
}

/** A token for a few days is reported only in its last quarter. */
const isInLastQuarter = ({ madeAt }: TokenFacts, end: Instant, now: Instant): boolean =>
  end - now < (end - madeAt) / 4;
