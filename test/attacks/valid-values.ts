// What would be right to send, field by field. A field that is not here stops the rig: nothing new
// goes unattacked.
import * as fc from "fast-check";
import { splitIntoFrames } from "../../src/license/qr.ts";
import type { RoutePlan } from "./route-plans.ts";
import { PASSWORD, PRODUCT, type SiteDocuments } from "./target.ts";

const numbered = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${name}-${index}`);

const FEW = numbered("user", 6);

const fixed = (...values: readonly string[]): fc.Arbitrary<string> => fc.constantFrom(...values);

const soon = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString();

type Values = Readonly<Record<string, fc.Arbitrary<string>>>;

const usual = (papers: SiteDocuments): Values => ({
  product: fixed(PRODUCT, PRODUCT, PRODUCT, ""),
  // Few of them often, so that somebody holds what a feature needs; more than there are slots.
  user: fixed(...FEW, ...FEW, ...FEW, ...numbered("user", 30)),
  os_hostname: fixed("desk", ""),
  ip_local: fixed("10.0.0.7", "::1", ""),
  user_info: fixed("", "a line\nand another"),
  borrowed_until: fixed(soon(1), soon(12), ""),
  license_id: fixed(String(papers.licenseId)),
  feature: fixed("view", "plot"),
  license_key: fixed(papers.airgap.license_key),
  signing_key: fixed(""),
  license_policy: fixed(papers.airgap.license_policy),
  policy_id: fixed(papers.airgap.policy_id),
  confirmation_code: fixed(papers.airgap.confirmation_code),
  apiKey: fixed("an-api-key", ""),
  sharedKey: fixed("a-shared-key", ""),
  name: fixed(...numbered("name", 8)),
  role: fixed("admin", "user"),
  password: fixed(PASSWORD),
  days: fixed("1", "90", ""),
  text: fixed("A CODE", "a text"),
  frames: fixed(
    splitIntoFrames("a text").join("\n"),
    splitIntoFrames("a text ".repeat(2_000)).join("\n"),
  ),
  vendor: fixed(papers.otherVendor.vendor.vendor),
  // Never the right one: what is moved away grants nothing any more.
  appliance: fixed("0000000000000000"),
  range: fixed("day", "week", "month", ""),
  since: fixed(soon(1), soon(-1), ""),
  until: fixed(soon(1), soon(-1), ""),
  before: fixed("1", "500", "1000000", ""),
  after: fixed("0", "3", ""),
  limit: fixed("1", "100", "500", ""),
  type: fixed("SlotTaken", "SlotTaken,SlotReleased", "RefusalsCounted", ""),
  wait: fixed("true", "false", ""),
  with_borrows: fixed("true", "false"),
  accept_gap: fixed("a reason", ""),
  // The current month can always be sealed again: calls go on.
  month: fixed(soon(0).slice(0, "2026-03".length)),
  note: fixed("a note", ""),
  consumptions: fixed("1", "7", "-5", "0", "100"),
  max_overages: fixed("0", "3", "-1"),
  allow_overages: fixed("true", "FALSE", "1", ""),
});

/** Where another value is right than elsewhere. */
const elsewhere = (papers: SiteDocuments): Readonly<Record<string, Values>> => ({
  "/api/v4/license/upload": { license: fixed(papers.license) },
  "/api/admin/v1/trust/show": { license: fixed(papers.trust, papers.otherTrust) },
  "/api/admin/v1/trust/add": { license: fixed(papers.trust, papers.otherTrust) },
  "/api/admin/v1/clock/repair": { license: fixed(papers.timeAnswer) },
  "/api/admin/v1/licenses/remove": { license_id: fixed(String(papers.spareLicenseId)) },
  "/api/v4/featureRegister": { feature: fixed("view") },
  "/api/v4/check_license_feature": { feature: fixed("view") },
  "/api/v4/featureRelease": { feature: fixed("view") },
  "/api/v4/feature_release": { feature: fixed("view") },
  "/api/v4/add_feature_consumption": { feature: fixed("plot") },
});

export function validValue(
  papers: SiteDocuments,
  { path }: RoutePlan,
  field: string,
): fc.Arbitrary<string> {
  const value = elsewhere(papers)[path]?.[field] ?? usual(papers)[field];
  if (value === undefined) throw new Error(`${path} has a field nobody attacks: ${field}`);
  return value;
}
