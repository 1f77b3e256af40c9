// Valid values by field. A field that is missing here stops the suite, so that no new field goes
// untested.
import { formatPairRequest } from "../../src/license/requests/pair-request.ts";
import * as fc from "fast-check";
import { splitIntoFrames } from "../../src/license/qr/qr.ts";
import type { RoutePlan } from "./route-plans.ts";
import { PASSWORD, PRODUCT, type SiteDocuments } from "./target.ts";

const numbered = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${name}-${index}`);

const FREQUENT_USERS = numbered("user", 6);

const oneOf = (...values: readonly string[]): fc.Arbitrary<string> => fc.constantFrom(...values);

const hoursFromNow = (hours: number): string =>
  new Date(Date.now() + hours * 3_600_000).toISOString();

const RULES_TEXT = `[groups.g]\nusers = ["mallory"]\n[[rule]]\nproduct = "${PRODUCT}"\ndeny = ["g"]\n`;

type Values = Readonly<Record<string, fc.Arbitrary<string>>>;

const PAIR_REQUEST = formatPairRequest({
  berth_pair_request: 1,
  host: "beta",
  version: "0.2.0",
  made_at: 0,
  public_key: `CQ${"A".repeat(41)}`,
  hardware: [{ kind: "named", value: "beta" }],
});

const usualValues = (documents: SiteDocuments): Values => ({
  product: oneOf(PRODUCT, PRODUCT, PRODUCT, ""),
  // Some users often, so that they hold the slot that a feature needs; more users than slots.
  user: oneOf(...FREQUENT_USERS, ...FREQUENT_USERS, ...FREQUENT_USERS, ...numbered("user", 30)),
  users: oneOf("user-0", "user-1\nuser-2\nuser-29"),
  os_hostname: oneOf("desk", ""),
  host: oneOf("desk", ""),
  login: oneOf("user-1", ""),
  ip_local: oneOf("10.0.0.7", "::1", ""),
  user_info: oneOf("", "a line\nand another"),
  borrowed_until: oneOf(hoursFromNow(1), hoursFromNow(12), ""),
  license_id: oneOf(String(documents.licenseId)),
  feature: oneOf("view", "plot"),
  license_key: oneOf(documents.airgap.license_key),
  wanted_slots: oneOf("1", "25", ""),
  wanted_until: oneOf("2099-12-31", ""),
  hosts: oneOf("1", ""),
  changes: oneOf('{"site_name":"Plant 4"}', '{"expiry_warning_days":"30"}', '{"site_name":null}'),
  // Of no backup: the names contain the time.
  backup: oneOf("berth-0123456789abcdef-20260302T010203Z.berth"),
  signing_key: oneOf(""),
  license_policy: oneOf(documents.airgap.license_policy),
  policy_id: oneOf(documents.airgap.policy_id),
  confirmation_code: oneOf(documents.airgap.confirmation_code),
  apiKey: oneOf("an-api-key", ""),
  sharedKey: oneOf("a-shared-key", ""),
  name: oneOf(...numbered("name", 8)),
  role: oneOf("admin", "viewer", "metrics", "user"),
  password: oneOf(PASSWORD),
  days: oneOf("1", "90", "0", ""),
  // Of no session: the ids are random.
  id: oneOf("0123456789abcdef0123456789abcdef"),
  text: oneOf("A CODE", "a text", RULES_TEXT),
  frames: oneOf(
    splitIntoFrames("a text").join("\n"),
    splitIntoFrames("a text ".repeat(2_000)).join("\n"),
  ),
  vendor: oneOf(documents.otherVendor.vendor.vendor),
  number: oneOf("1", ""),
  request: oneOf(PAIR_REQUEST),
  // Never the right one: a server that was moved away grants nothing.
  appliance: oneOf("0000000000000000"),
  from: oneOf(hoursFromNow(-48), ""),
  to: oneOf(hoursFromNow(1), ""),
  time_zone: oneOf("UTC", "Europe/Berlin", "+05:30", ""),
  idle_days: oneOf("1", "7", ""),
  anonymous: oneOf("true", "false", ""),
  sessions: oneOf("true", "false", ""),
  slots: oneOf("1..5", "3"),
  target: oneOf("99", "50", ""),
  rows: oneOf("10", "1000", ""),
  range: oneOf("day", "week", "month", "quarter", "year", "18months", ""),
  since: oneOf(hoursFromNow(1), hoursFromNow(-1), ""),
  until: oneOf(hoursFromNow(1), hoursFromNow(-1), ""),
  before: oneOf("1", "500", "1000000", ""),
  after: oneOf("0", "3", ""),
  limit: oneOf("1", "100", "500", ""),
  type: oneOf("SlotTaken", "SlotTaken,SlotReleased", "RefusalsCounted", ""),
  with_borrows: oneOf("true", "false"),
  accept_gap: oneOf("a reason", ""),
  // The current month can always be sealed again, because calls go on.
  month: oneOf(hoursFromNow(0).slice(0, "2026-03".length)),
  note: oneOf("a note", ""),
  consumptions: oneOf("1", "7", "-5", "0", "100"),
  max_overages: oneOf("0", "3", "-1"),
  allow_overages: oneOf("true", "FALSE", "1", ""),
});

/** Few users, so that one who releases the feature often holds it. */
const heldFeature: Values = { user: oneOf(...FREQUENT_USERS.slice(0, 2)), feature: oneOf("view") };

/** Routes for which other values are valid. */
const valuesByRoute = (documents: SiteDocuments): Readonly<Record<string, Values>> => ({
  "/api/v4/license/upload": { license: oneOf(documents.license) },
  "/api/admin/v1/trust/show": { license: oneOf(documents.trust, documents.otherTrust) },
  "/api/admin/v1/trust/add": { license: oneOf(documents.trust, documents.otherTrust) },
  "/api/admin/v1/clock/repair": { license: oneOf(documents.timeAnswer) },
  "/api/admin/v1/statements": { vendor: oneOf(documents.vendor.vendor.vendor, "") },
  "/api/admin/v1/statements/document": { vendor: oneOf(documents.vendor.vendor.vendor, "") },
  "/api/admin/v1/statements/acknowledge": { license: oneOf(documents.acknowledgement) },
  "/api/admin/v1/requests/document": { request_id: oneOf(documents.openRequest) },
  "/api/admin/v1/requests/cancel": { request_id: oneOf(documents.cancelledRequest) },
  "/api/admin/v1/licenses/remove": { license_id: oneOf(String(documents.spareLicenseId)) },
  "/api/v4/featureRegister": heldFeature,
  "/api/v4/check_license_feature": heldFeature,
  "/api/v4/featureRelease": heldFeature,
  "/api/v4/feature_release": heldFeature,
  "/api/v4/add_feature_consumption": { feature: oneOf("plot") },
});

export function validValue(
  documents: SiteDocuments,
  { path }: RoutePlan,
  field: string,
): fc.Arbitrary<string> {
  const value = valuesByRoute(documents)[path]?.[field] ?? usualValues(documents)[field];
  if (value === undefined) throw new Error(`no valid value is defined for ${field} of ${path}`);
  return value;
}
