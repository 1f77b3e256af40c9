import { formatList } from "./fault-parts.ts";
import type { FaultRows } from "./fault-row.ts";
import type { AccessFault, FaultWithCode, InvalidRulesFault, RequestFault } from "./fault-types.ts";

/** Requests that are refused before a rule of the domain decides, and logins. */
export const REQUEST_FAULTS: FaultRows<
  RequestFault["code"] | AccessFault["code"] | InvalidRulesFault["code"]
> = {
  invalid_json: {
    status: 400,
    message: ({ isEmpty }) =>
      isEmpty === true
        ? "the body is empty: send a JSON object, at least {}"
        : "the body is not valid JSON in UTF-8",
  },
  body_not_object: { status: 400, message: () => "the body must be a JSON object" },
  unsupported_media_type: {
    status: 415,
    message: ({ takesFiles }) =>
      takesFiles === true
        ? "send the document as multipart/form-data, as text/plain or as application/json, not compressed"
        : "send the body as application/json in UTF-8, not compressed",
  },
  too_large: {
    status: 413,
    message: ({ bytes }) => `the body may have at most ${bytes} bytes`,
    sample: { bytes: 65_536 },
  },
  too_complex: {
    status: 400,
    message: () => "the body may have at most 8 levels and 64 keys",
  },
  invalid_type: { status: 400, message: formatWrongTypes, sample: { fields: ["product"] } },
  invalid_number: {
    status: 400,
    message: ({ field, limit }) =>
      `${field} must be a whole number in plain digits, up to ${limit}`,
    sample: { field: "consumptions", limit: 1_000_000_000_000 },
  },
  invalid_boolean: {
    status: 400,
    message: ({ field }) => `${field} must be true or false`,
    sample: { field: "allow_overages" },
  },
  invalid_timestamp: {
    status: 400,
    message: ({ field }) => `${field} must be an RFC 3339 time such as 2026-03-01T12:00:00Z`,
    sample: { field: "borrowed_until" },
  },
  invalid_characters: {
    status: 400,
    message: ({ field }) => `${field} contains control, invisible or direction-changing characters`,
    sample: { field: "user" },
  },
  invalid_parameter: {
    status: 400,
    message: ({ field, expected }) => `${field} must be ${expected}`,
    sample: { field: "limit", expected: "a whole number from 1 to 1000" },
  },
  too_long: {
    status: 400,
    message: ({ field, bytes }) => `${field} may have at most ${bytes} bytes`,
    sample: { field: "user", bytes: 256 },
  },
  not_found: { status: 404, message: () => "no route has this path" },
  method_not_allowed: {
    status: 405,
    message: ({ allow }) => `this path accepts ${formatList(allow)} only`,
    sample: { allow: ["POST"] },
  },
  wrong_host: {
    status: 421,
    message: () =>
      "the server does not know the host name in the request; use its IP address, localhost or " +
      "its own name, or ask the operator to add the name with --names",
  },
  cross_site: {
    status: 403,
    message: () => "requests from pages of other sites are not accepted",
  },
  forbidden: {
    status: 403,
    message: ({ reason }) =>
      ({
        network:
          "requests from this network are not accepted; ask the operator to add it to " +
          "client_networks or admin_networks",
        role: "this operation needs an administrator",
        viewer: "this credential has the role viewer: it can read everything and change nothing",
        metrics: "this token has the role metrics: it can read /metrics and nothing else",
        user: "a user may act only for itself; an administrator may act for any user",
        session: "a session cannot start another one: send a token, or a login of /auth",
      })[reason],
    sample: { reason: "network" },
  },
  unauthorized: {
    status: 401,
    message: ({ plane, isMissing }) =>
      plane === "client"
        ? "log in at /auth and send the token as Authorization: Bearer"
        : plane === "admin"
          ? "administration needs a token: create one with berth admin token, and send it as " +
            "Authorization: Bearer"
          : isMissing === true
            ? "HTTP Basic credentials are missing or cannot be read: send the name and the password"
            : "the name or the password is wrong",
  },
  tls_required: {
    status: 403,
    message: () =>
      "TLS is required: use the https:// address of the server. Over plain HTTP it accepts no " +
      "credentials from other machines or through a proxy, and with client_auth = mtls no requests " +
      "of applications",
  },
  wrong_appliance: {
    status: 400,
    message: () => "the id is of another appliance; berth status shows the id of this one",
  },
  unknown_name: {
    status: 400,
    message: () => "no token or user has this name",
    field: "name",
    hint: "berth admin user list shows all names",
  },
  unknown_session: {
    status: 400,
    message: () => "no session has this id",
    hint: "berth admin session list shows all sessions",
    field: "id",
  },
  name_taken: {
    status: 400,
    message: () => "this name is already in use",
    hint: "choose another name; berth admin user list shows those in use",
    field: "name",
  },
  last_credential: {
    status: 400,
    message: () => "this is the last administrator credential; create another one first",
    hint: "create another credential first: berth admin token or berth admin password",
  },
  too_many_requests: {
    status: 429,
    message: ({ busy }) =>
      busy === undefined ? "too many failed attempts; wait a minute" : BUSY_MESSAGES[busy],
  },
  precondition_required: {
    status: 428,
    message: () =>
      'send If-Match with the digest of the rules that are to be replaced, as in the ETag of GET, or "If-Match: *"',
    hint: "berth rules apply sends it",
  },
  invalid_rules: {
    status: 400,
    message: ({ errors, line }) =>
      `nothing was applied: the rules have ${errors === 1 ? "1 error" : `${errors} errors`}` +
      `${line === 0 ? "" : `, the first in line ${line}`}; POST rules/check lists them`,
    commandLineMessage: ({ errors }) =>
      `nothing was applied: the rules have ${errors === 1 ? "1 error" : `${errors} errors`}`,
    hint: "berth rules check FILE lists them",
    field: "text",
    sample: { errors: 2, line: 7 },
  },
  server_not_running: {
    status: 409,
    message: () => "this operation needs a running server; without a server, use the command line",
    commandLineMessage: () => "no server is running on this data folder",
    hint: "start it with berth serve, or for an installed service: systemctl start berth",
  },
  internal_error: {
    status: 500,
    message: () => "internal error: this is a bug in berth; the server log has the cause",
  },
};

const BUSY_MESSAGES = {
  requests: "too many requests at once; try again",
  streams: "too many open status streams; close one of them",
  sessions: "too many new sessions; wait a minute",
};

function formatWrongTypes({
  fields,
  numbers = [],
  booleans = [],
}: FaultWithCode<"invalid_type">): string {
  const kinds: [readonly string[], string][] = [
    [fields, "a string"],
    [numbers, "a whole number"],
    [booleans, "true or false"],
  ];
  const violated = kinds.filter(([names]) => names.length > 0);
  return violated.map(([names, kind]) => `${formatList(names)} must be ${kind}`).join("; ");
}
