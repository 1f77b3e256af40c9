import type { OverReservedPool } from "../../domain/model/fault.ts";
import type { Group, RuleSet } from "../../domain/model/rules/rule-set.ts";
import { formatFirstNames } from "../../domain/text/first-names.ts";
import { findAdvisoryGroups } from "../../rules/site-findings.ts";
import type { ServerAccess } from "./exposures.ts";
import { createFinding, type Finding, type HealthReport } from "./finding.ts";

/** The site's rules of sharing, as they are applied. */
export interface SharingFacts {
  /** Null: there are none. */
  readonly rules: RuleSet | null;
  /** Licenses can be renewed with fewer slots after the rules were applied. */
  readonly overReserved: readonly OverReservedPool[];
}

/** Rules that cannot work as they are written. */
export function checkSharingRules(
  { rules, overReserved }: SharingFacts,
  access: Pick<ServerAccess, "clientAuth"> | null,
): HealthReport {
  if (rules === null) return { findings: [], passed: [] };
  const clientAuth = access?.clientAuth ?? null;
  return {
    findings: [
      ...overReserved.map(overReservedFinding),
      ...unmatchedFindings(rules, clientAuth),
      ...advisoryFindings(findAdvisoryGroups(rules, clientAuth)),
    ],
    passed: [],
  };
}

const overReservedFinding = ({ product, feature, reserved, slots }: OverReservedPool): Finding => {
  const name = feature === null ? product : `${product} ${feature}`;
  return createFinding("rules_over_reserved", "warning", {
    summary: `Rules reserve ${reserved} slots of ${name}, but there are ${slots}: first come, first served`,
    remedy: "Reserve fewer slots, or install a license with more",
    command: "berth rules show",
    subject: name,
  });
};

function unmatchedFindings({ groups }: RuleSet, clientAuth: ServerAccess["clientAuth"] | null) {
  const byLogin = groups.filter(({ logins }) => logins.length > 0);
  if (byLogin.length === 0 || clientAuth === null || clientAuth === "login") return [];
  return [
    createFinding("rules_unmatched", "warning", {
      summary: `Rules name logins (${listNames(byLogin)}), but applications do not log in`,
      remedy: 'Set client_auth to "login", or use networks in the rules',
      command: "berth rules show",
    }),
  ];
}

function advisoryFindings(advisory: readonly Group[]): Finding[] {
  if (advisory.length === 0) return [];
  return [
    createFinding("rules_advisory", "note", {
      summary: `Rules go by names that callers choose (${listNames(advisory)}): they are advisory`,
      remedy: 'Use networks, or logins with client_auth = "login"',
      command: "berth rules show",
    }),
  ];
}

const listNames = (groups: readonly Group[]): string =>
  formatFirstNames(groups.map(({ name }) => name));
