import type { Group, PoolRules, RuleSet } from "../domain/model/rules/rule-set.ts";
import { formatFirstNames } from "../domain/text/first-names.ts";
import { findNearest } from "../domain/text/nearest.ts";
import { poolKey } from "../domain/model/slots/pool-name.ts";
import { findContradictions } from "./contradictions.ts";
import type { ParsedRules, RuleLines } from "./parse-rules.ts";
import { sortFindings, type RulesFinding } from "./rules-finding.ts";
import { quoteName } from "./table-reader.ts";

/** What the rules are compared with. */
export interface SiteFacts {
  /** How applications authenticate; null: no server runs, so it is not known. */
  readonly clientAuth: "open" | "login" | "mtls" | null;
  /** By product code. */
  readonly products: ReadonlyMap<string, ProductFacts>;
}

export interface ProductFacts {
  /** Of all installed licenses. */
  readonly slots: number;
  /** By feature code; null: the feature is not floating. */
  readonly features: ReadonlyMap<string, number | null>;
}

/** All findings of a text; without a site, only those that need none. */
export function checkRules(parsed: ParsedRules, site: SiteFacts | null): readonly RulesFinding[] {
  const { rules, findings, lines } = parsed;
  if (rules === null) return findings;
  return sortFindings([
    ...findings,
    ...checkCertificates(rules, lines),
    ...findContradictions(rules),
    ...(site === null ? [] : checkSite(rules, lines, site)),
  ]);
}

export const hasErrors = (findings: readonly RulesFinding[]): boolean =>
  findings.some(({ severity }) => severity === "error");

/** The runtime does not pass client certificates on, so such a group would match no caller. */
const checkCertificates = ({ groups }: RuleSet, lines: RuleLines): RulesFinding[] =>
  groups
    .filter(({ certificates }) => certificates.length > 0)
    .map(({ name }) => ({
      line: lines.groups.get(name) ?? 0,
      severity: "error",
      message: `group ${quoteName(name)}: this version of Berth cannot see the names of certificates`,
      hint: 'use networks, or logins with client_auth = "login"',
    }));

const checkSite = (rules: RuleSet, lines: RuleLines, site: SiteFacts): RulesFinding[] => [
  ...rules.pools.flatMap((pool) => checkPool(pool, lines, site)),
  ...checkAdvisoryGroups(rules, lines, site),
  ...checkLogins(rules, lines, site),
  ...checkQueueNames(rules, site),
];

function checkPool(pool: PoolRules, lines: RuleLines, site: SiteFacts): RulesFinding[] {
  const line = lines.pools.get(poolKey(pool)) ?? 0;
  const product = site.products.get(pool.product);
  if (product === undefined) {
    const message = `no license is installed for product ${quoteName(pool.product)}`;
    const nearest = findNearest(pool.product, [...site.products.keys()]);
    const hint =
      nearest === null
        ? "the rule applies as soon as one is; berth license list shows the products"
        : `did you mean ${quoteName(nearest)}?`;
    return [{ line, severity: "warning", message, hint }];
  }
  if (pool.feature === null) {
    return [
      ...checkReservations(pool, product.slots, "product"),
      ...checkKeepHome(pool, product.slots),
    ];
  }
  const slots = product.features.get(pool.feature);
  if (slots === undefined) {
    const message = `product ${quoteName(pool.product)} has no feature ${quoteName(pool.feature)}`;
    const nearest = findNearest(pool.feature, [...product.features.keys()]);
    const hint =
      nearest === null
        ? "berth license list --json shows the features"
        : `did you mean ${nearest}?`;
    return [{ line, severity: "warning", message, hint }];
  }
  if (slots === null) {
    const message = `feature ${quoteName(pool.feature)} is not floating: it has no slots of its own`;
    const hint = "remove feature, so that the rule is for the slots of the product";
    return [{ line, severity: "error", message, hint }];
  }
  return checkReservations(pool, slots, "feature");
}

function checkReservations(
  { product, feature, reservations }: PoolRules,
  slots: number,
  kind: "product" | "feature",
): RulesFinding[] {
  const reserved = sumReserved(reservations);
  const [first] = reservations.toSorted((a, b) => a.line - b.line);
  if (first === undefined || reserved <= slots) return [];
  const name = `${kind} ${quoteName(feature ?? product)}`;
  return [
    {
      line: first.line,
      severity: "error",
      message: `${reserved} slots of ${name} are reserved, but there are only ${slots}`,
      hint: "reserve fewer slots, or install a license with more",
    },
  ];
}

function checkKeepHome({ product, borrow }: PoolRules, slots: number): RulesFinding[] {
  const keepHome = borrow?.keepHome ?? null;
  if (keepHome === null || keepHome.slots === 0 || keepHome.slots < slots) return [];
  return [
    {
      line: keepHome.line,
      severity: "warning",
      message: `borrow.keep_home keeps all ${slots} slots of product ${quoteName(product)}: none can be borrowed`,
      hint: "keep fewer slots; to forbid borrowing, set borrow = { max_slots = 0 }",
    },
  ];
}

const sumReserved = (reservations: PoolRules["reservations"]): number =>
  reservations.reduce((sum, reservation) => sum + reservation.slots, 0);

const listNames = (groups: readonly Group[]): string =>
  `${groups.length === 1 ? "group" : "groups"} ` +
  formatFirstNames(groups.map(({ name }) => quoteName(name)));

/** Host names are always chosen by callers; user names unless callers log in. */
export const findAdvisoryGroups = (
  { groups }: RuleSet,
  clientAuth: SiteFacts["clientAuth"],
): readonly Group[] =>
  clientAuth === null
    ? []
    : groups.filter(
        ({ users, hosts }) => hosts.length > 0 || (users.length > 0 && clientAuth !== "login"),
      );

function checkAdvisoryGroups(
  rules: RuleSet,
  lines: RuleLines,
  { clientAuth }: SiteFacts,
): RulesFinding[] {
  const advisory = findAdvisoryGroups(rules, clientAuth);
  if (advisory.length === 0) return [];
  return [
    {
      line: firstLine(advisory, lines),
      severity: "warning",
      message: `${listNames(advisory)}: callers choose their user and host names, so membership is advisory`,
      hint: 'use networks, or logins with client_auth = "login"',
    },
  ];
}

/** A warning only: the setting can be changed before the rules are applied, and after it. */
function checkLogins(
  { groups }: RuleSet,
  lines: RuleLines,
  { clientAuth }: SiteFacts,
): RulesFinding[] {
  if (clientAuth === null || clientAuth === "login") return [];
  const byLogin = groups.filter(({ logins }) => logins.length > 0);
  if (byLogin.length === 0) return [];
  return [
    {
      line: firstLine(byLogin, lines),
      severity: "warning",
      message: `${listNames(byLogin)}: no caller logs in, because client_auth is "${clientAuth}"`,
      hint: 'set client_auth to "login"; until then the logins match no caller',
    },
  ];
}

/** There is no ticket for a place: the user name is all that a caller sends. */
function checkQueueNames({ pools }: RuleSet, { clientAuth }: SiteFacts): RulesFinding[] {
  const [first] = pools.flatMap(({ queue }) => queue ?? []).toSorted((a, b) => a.line - b.line);
  if (first === undefined || clientAuth !== "open") return [];
  return [
    {
      line: first.line,
      severity: "warning",
      message:
        "a place in the queue belongs to a user name: a caller that sends the name of another user can take that user's place",
      hint: 'set client_auth to "login" if this matters',
    },
  ];
}

const firstLine = (groups: readonly Group[], lines: RuleLines): number =>
  Math.min(...groups.map(({ name }) => lines.groups.get(name) ?? 0));
