import type { GivenBack } from "../domain/fault.ts";
import { rfc3339 } from "../platform/rfc3339.ts";
import type { AnyFault, Code } from "./faults.ts";
import { BUSY, list, NOT_HELD, noSlot, wrongTypes } from "./fault-sentences.ts";

type Named<C extends Code> = Extract<AnyFault, { readonly code: C }>;

export interface Row<C extends Code> {
  readonly status: number;
  /** Says what would help. Never echoes what was sent, never quotes an exception. */
  readonly say: (fault: [Named<C>] extends [never] ? AnyFault : Named<C>) => string;
}

/** One row per fault. A fault added to the rules without its row here does not compile. */
export const FAULTS: { readonly [C in Code]: Row<C> } = {
  invalid_json: {
    status: 400,
    say: ({ isEmpty }) =>
      isEmpty === true
        ? "the body is empty: send a JSON object, at least {}"
        : "the body is not valid JSON in UTF-8",
  },
  body_not_object: { status: 400, say: () => "the body must be a JSON object" },
  unsupported_media_type: {
    status: 415,
    say: ({ takesFiles }) =>
      takesFiles === true
        ? "send the document as multipart/form-data, as text/plain or as application/json, not compressed"
        : "send the body as application/json in UTF-8, not compressed",
  },
  too_large: { status: 413, say: ({ bytes }) => `the body may have at most ${bytes} bytes` },
  too_complex: { status: 400, say: () => "the body may have at most 8 levels and 64 keys" },
  invalid_type: { status: 400, say: wrongTypes },
  invalid_number: {
    status: 400,
    say: ({ field, most }) => `${field} must be a whole number in plain digits, up to ${most}`,
  },
  invalid_boolean: { status: 400, say: ({ field }) => `${field} must be true or false` },
  invalid_timestamp: {
    status: 400,
    say: ({ field }) => `${field} must be an RFC 3339 time such as 2026-03-01T12:00:00Z`,
  },
  invalid_characters: {
    status: 400,
    say: ({ field }) => `${field} holds control, invisible or direction-changing characters`,
  },
  invalid_parameter: { status: 400, say: ({ field, expected }) => `${field} must be ${expected}` },
  too_long: { status: 400, say: ({ field, bytes }) => `${field} may have at most ${bytes} bytes` },
  not_found: { status: 404, say: () => "no route has this path" },
  method_not_allowed: { status: 405, say: ({ allow }) => `this path accepts ${list(allow)} only` },
  wrong_host: {
    status: 421,
    say: () => "use the server's address, localhost or the server's own name as the host",
  },
  cross_site: { status: 403, say: () => "requests from pages of other sites are not accepted" },
  forbidden: {
    status: 403,
    say: ({ reason }) =>
      ({
        network: "this network may not call the server",
        role: "this operation needs an administrator",
        user: "a user may act only for itself; an administrator may act for any user",
      })[reason],
  },
  unauthorized: {
    status: 401,
    say: ({ plane, isMissing }) =>
      plane === "client"
        ? "log in at /auth and send the token as Authorization: Bearer"
        : plane === "admin"
          ? "administration needs a credential: berth admin token, sent as Authorization: Bearer"
          : isMissing === true
            ? "HTTP Basic credentials are missing or cannot be read: send the name and the password"
            : "the name or the password is wrong",
  },
  tls_required: {
    status: 403,
    say: () => "credentials from other machines are accepted over TLS only",
  },
  wrong_appliance: {
    status: 400,
    say: () => "the id is of another appliance; berth status shows the id of this one",
  },
  unknown_name: { status: 400, say: () => "no token or user has this name" },
  name_taken: { status: 400, say: () => "this name is already in use" },
  last_credential: {
    status: 400,
    say: () => "this is the last administrator credential; create another one first",
  },
  internal_error: {
    status: 500,
    say: () => "internal error: this is a bug in berth; the server log has the cause",
  },

  missing_parameters: { status: 400, say: ({ fields }) => `${list(fields)} must be given` },
  unknown_product: { status: 400, say: () => "no license is installed for this product" },
  license_not_found: { status: 400, say: () => "no installed license matches the request" },
  license_not_enabled: { status: 400, say: () => "the license is disabled" },
  license_not_active: {
    status: 400,
    say: ({ start }) => `the license starts at ${rfc3339(start)}`,
  },
  license_expired: {
    status: 400,
    say: ({ what, end }) => `the ${what} expired at ${rfc3339(end)}`,
  },
  floating_not_available: {
    status: 400,
    say: ({ slots, nextFree }) => noSlot(slots, nextFree),
  },
  slots_capped: {
    status: 400,
    say: ({ who, slots }) =>
      `one ${who === "peer" ? "address" : who} may hold ${slots === 1 ? "1 slot" : `${slots} slots`} at once on this server; ` +
      `release one first, or ask the operator to raise max_slots_per_${who}`,
  },
  user_not_registered: {
    status: 400,
    say: ({ slot }) => (slot === undefined ? "the user holds no such slot" : NOT_HELD[slot]),
  },
  license_borrow_not_allowed: { status: 400, say: () => "the license does not allow borrowing" },
  borrow_until_not_valid: {
    status: 400,
    say: ({ latest }) => `borrowed_until must be after now and no later than ${rfc3339(latest)}`,
  },
  leased_elsewhere: {
    status: 400,
    say: ({ until, canReturn }) =>
      `the slot is leased to another device until ${rfc3339(until)}; ` +
      (canReturn
        ? "return it on that device, or with unregister, to lease it to this device"
        : "the license does not allow an early return"),
  },
  early_return_not_allowed: {
    status: 400,
    say: ({ until }) =>
      `the license does not allow an early return: the slot stays borrowed until ${rfc3339(until)}`,
  },
  license_not_consumption: { status: 400, say: () => "the license does not count consumption" },
  license_not_enough_consumptions: {
    status: 400,
    say: ({ left }) => `nothing was counted: ${left} more can be counted on the license`,
  },
  negative_not_allowed: {
    status: 400,
    say: ({ allowed, total }) =>
      allowed
        ? `nothing was counted: at most ${total} can be subtracted`
        : "nothing was counted: the license does not allow negative counts",
  },
  invalid_license_feature_code: { status: 400, say: () => "the license has no such feature" },
  unsupported_product_feature: { status: 400, say: () => "the feature does not count consumption" },
  feature_not_floating: { status: 400, say: () => "the feature is not floating" },
  feature_not_enough_consumptions: {
    status: 400,
    say: ({ left }) => `nothing was counted: ${left} more can be counted on the feature`,
  },
  idempotency_key_reused: {
    status: 409,
    say: () => "this Idempotency-Key was used for another command; use a new one",
  },
  audit_budget_exhausted: {
    status: 429,
    say: ({ mib, retryAfter }) =>
      `nothing was changed: one address may add ${mib} MiB an hour to the audit log; try again in ` +
      `${retryAfter} s, or ask the operator for a larger audit_budget`,
  },
  invalid_license_file: { status: 400, say: ({ reason }) => `the file ${reason}` },
  invalid_confirmation_code: {
    status: 400,
    say: ({ row }) =>
      row === null
        ? "the code does not match any activation code of this appliance with this policy and license key"
        : `row ${row} of the code was misread or mistyped`,
  },
  outdated_confirmation_code: {
    status: 400,
    say: () =>
      "an older version of berth created the code and signed too little: the vendor must update berth and confirm the activation code again",
  },
  policy_mismatch: { status: 400, say: () => "policy_id is not the id of this policy" },
  too_many_requests: {
    status: 429,
    say: (fault) =>
      "busy" in fault ? BUSY[fault.busy] : "too many failed attempts; wait a minute",
  },
  clock_suspect: {
    status: 400,
    say: () =>
      "the server's clock is far behind its audit log; run berth clock on the server for how to correct it",
  },
  untrusted_vendor: {
    status: 400,
    say: () =>
      "no trusted vendor has this key for this product; berth trust list shows the trusted " +
      "vendors. If the vendor's key changed, a successor document is missing",
  },
  hardware_mismatch: {
    status: 400,
    say: ({ until, appliances }) =>
      until === undefined
        ? signedElsewhere(appliances)
        : `the license was signed for the previous host and was valid here until ${rfc3339(until)}; create a new request on this machine`,
  },
  moved_away: {
    status: 409,
    say: ({ at }) => `this server was moved to another host on ${rfc3339(at)}; use that host`,
  },
  request_unknown: {
    status: 400,
    say: ({ givenBack }) =>
      givenBackText(givenBack) ??
      "the license does not answer any request of this appliance; create a new request",
  },
  request_used: {
    status: 400,
    say: () => "the request that this license answers was already answered",
  },
  stale_license: {
    status: 400,
    say: ({ serial, givenBack }) =>
      givenBackText(givenBack) ??
      `serial ${serial} of this license was already installed here; request a newer license`,
  },
  trust_locked: {
    status: 400,
    say: () => "this build of berth trusts only the vendor it was built for",
  },
  unknown_vendor: { status: 400, say: () => "this vendor is not trusted" },
  vendor_in_use: {
    status: 400,
    say: ({ licenses }) => `licenses of this vendor are installed (${licenses}); return them first`,
  },
  slots_borrowed: {
    status: 400,
    say: ({ slots }) =>
      `slots are borrowed (${slots}); with_borrows=true returns the license anyway`,
  },
  audit_month_empty: { status: 400, say: () => "the audit log has no lines of that month" },
  audit_month_sealed: { status: 409, say: () => "that month is already sealed" },
  audit_month_damaged: {
    status: 409,
    say: ({ file }) =>
      `${file} of the audit log is damaged or does not match its neighbouring files; repair it first`,
  },
  audit_maintenance_incomplete: {
    status: 503,
    say: ({ reason }) =>
      `the change to the audit log is incomplete, and nothing is lost: ${reason}; ` +
      "repeat it after that is corrected",
  },
  too_many_audit_gaps: {
    status: 409,
    say: ({ most }) => `the audit log already has ${most} declared gaps, the maximum`,
  },
  invalid_qr_frames: {
    status: 400,
    say: ({ reason }) => `the QR codes cannot be joined: ${reason}`,
  },
  server_not_running: {
    status: 409,
    say: () => "only a running server does this; without a server, use the command line",
  },
  maintenance_failed: { status: 503, say: ({ reason }) => `the operation failed: ${reason}` },
  request_cancelled: { status: 408, say: () => "the request was cancelled before it was complete" },
  storage_full: {
    status: 503,
    say: (fault) =>
      "isFileLimit" in fault
        ? "a file reached the server's file size limit (ulimit -f): nothing was changed; try again"
        : "the disk is full: nothing was changed; try again after space is available",
  },
  audit_log_damaged: {
    status: 503,
    say: ({ line }) =>
      `line ${line} of the audit log is damaged or missing; before=${line} shows older lines`,
  },
  storage_failed: { status: 503, say: () => "the disk failed: the outcome is unknown; try again" },
};

const signedElsewhere = (appliances: Named<"hardware_mismatch">["appliances"]): string =>
  appliances === undefined
    ? "the license was signed for other hardware; create a new request on this machine"
    : `the license is for appliance ${appliances.signed}; this one is ${appliances.here}: ` +
      "install it there, or create a new request here";

const givenBackText = (givenBack: GivenBack | undefined): string | null =>
  givenBack === undefined
    ? null
    : `license ${givenBack.license} was returned on ${rfc3339(givenBack.at)}; create a new request`;
