import { SERVICE_SETTINGS } from "../../platform/environment.ts";
import type { Option } from "./options.ts";
import { deskFlags } from "../vendor/desk-flags.ts";
import { err, ok } from "../../domain/result.ts";
import { wallClock } from "../../platform/clock.ts";
import { settings } from "../serve/settings.ts";
import { parseTimeFlag } from "./times.ts";
import { listenAddress, matchingNumber, oneOf } from "./option-parsers.ts";

/** The flags of several commands, and of commands that have many; each is described once. */
export const option = {
  ...settings,
  ...deskFlags,
  acceptLoss: {
    name: "accept-loss",
    type: "boolean",
    help: "restore even if the folder contains changes that the backup does not contain",
  },
  acceptGap: {
    name: "accept-gap",
    type: "string",
    placeholder: "REASON",
    help: "declare lines that cannot be recovered as lost, for this reason",
  },
  allowDamagedAudit: {
    name: "allow-damaged-audit",
    type: "boolean",
    help: "only warn if the audit log is damaged but everything else is intact",
  },
  note: { name: "note", type: "string", placeholder: "TEXT", help: "a comment for the audit log" },
  config: {
    name: "config",
    type: "string",
    placeholder: "FILE",
    help: "settings file (TOML)",
    defaultDescription: `${SERVICE_SETTINGS} for the service's data folder`,
  },
  productFilter: {
    name: "product",
    type: "string",
    placeholder: "CODE",
    help: "only entries of this product",
  },
  slotProduct: {
    name: "product",
    type: "string",
    placeholder: "CODE",
    help: "the product code; optional if only one product is installed",
  },
  requestProduct: {
    name: "product",
    type: "string",
    placeholder: "CODE",
    help: "the product code; default: the only product installed, or of the trusted vendors",
  },
  limit: {
    name: "limit",
    type: "string",
    placeholder: "N",
    help: "maximum number of entries",
    defaultValue: () => "100",
    parse: matchingNumber(/^[1-9]\d{0,5}$/, {
      problem: "must be a whole number from 1 to 999999",
      hint: "for example --limit 20",
    }),
  },
  eventTypes: {
    name: "type",
    type: "list",
    placeholder: "TYPE",
    help: "only these event types, see below; can be repeated",
  },
  userFilter: {
    name: "user",
    type: "string",
    placeholder: "NAME",
    help: "only entries of this user",
  },
  licenseFilter: {
    name: "license-id",
    type: "string",
    placeholder: "ID",
    help: "only entries of this license",
  },
  since: {
    name: "since",
    type: "string",
    placeholder: "TIME",
    help: "only entries since a day (UTC), an RFC 3339 time, or a duration ago such as 7d (m, h, d, w)",
    parse: (text) => parseTimeFlag("since", text, wallClock()),
  },
  until: {
    name: "until",
    type: "string",
    placeholder: "TIME",
    help: "only entries until then, in the same formats; a day is included to its end",
    parse: (text) => parseTimeFlag("until", text, wallClock()),
  },
  textFilter: {
    name: "text",
    type: "string",
    placeholder: "TEXT",
    help: "only entries with this text in any field",
  },
  exportFile: {
    name: "out",
    type: "string",
    placeholder: "FILE",
    help: "export the unchanged lines to this new file",
    isPath: true,
  },
  range: {
    name: "range",
    type: "string",
    placeholder: "RANGE",
    help: "how far back: day, week, month, quarter, year or 18months",
    defaultValue: () => "day",
    parse: oneOf("day", "week", "month", "quarter", "year", "18months"),
  },
  usersToRelease: {
    name: "user",
    type: "list",
    placeholder: "NAME",
    help: "the user whose slot is released; can be repeated",
    canContainCommas: true,
  },
  releaseAll: {
    name: "all",
    type: "boolean",
    help: "release all slots of the product, after a confirmation; needs --product",
  },
  licenseKey: {
    name: "license-key",
    type: "string",
    placeholder: "KEY",
    help: "the vendor's license key for the purchase",
  },
  out: {
    name: "out",
    type: "string",
    placeholder: "FILE",
    help: "write to this file",
    isPath: true,
  },
  qr: { name: "qr", type: "boolean", help: "also show the output as QR codes" },
  svg: {
    name: "svg",
    type: "string",
    placeholder: "FILE",
    help: "write an SVG image to this file instead; several codes get numbered file names",
    isPath: true,
  },
  withBorrows: {
    name: "with-borrows",
    type: "boolean",
    help: "return the license even if slots are borrowed; the receipt lists them",
  },
  yes: {
    name: "yes",
    type: "boolean",
    help: "do not ask for confirmation; required without a terminal",
  },
  initializationCode: {
    name: "initialization-code",
    type: "string",
    placeholder: "CODE",
    help: "the vendor's initialization code, if the vendor issued one",
  },
  policy: {
    name: "policy",
    type: "string",
    placeholder: "FILE",
    help: "the vendor's policy document",
    isPath: true,
  },
  policyId: { name: "policy-id", type: "string", placeholder: "ID", help: "the policy's id" },
  confirmationCode: {
    name: "code",
    type: "string",
    placeholder: "CODE",
    help: "the confirmation code",
  },
  clockCode: {
    name: "code",
    type: "string",
    placeholder: "CODE",
    help: "the clock code, which berth clock prints at the site",
    isRequired: true,
  },
  replacePolicy: {
    name: "replace",
    type: "boolean",
    help: "replace a policy with the same id but other terms; the earlier one can no longer be confirmed",
  },
  tokenName: {
    name: "name",
    type: "string",
    placeholder: "NAME",
    help: "the token's name, shown in the audit log; default admin",
  },
  userName: { name: "name", type: "string", placeholder: "NAME", help: "user name; default admin" },
  clientName: { name: "name", type: "string", placeholder: "NAME", help: "the client's name" },
  caDir: {
    name: "ca-dir",
    type: "string",
    placeholder: "DIR",
    help: "folder of the site CA's key; default: DATA-ca beside the data folder, or /etc/berth/ca for the service",
    isPath: true,
  },
  newCa: {
    name: "new-ca",
    type: "boolean",
    help: "create a new site CA; it must be distributed to every client",
  },
  limitAddresses: {
    name: "limit-addresses",
    type: "boolean",
    help: "restrict a new CA to the server's IP addresses too; clients built with Bun reject such a CA",
  },
  tokenDays: {
    name: "days",
    type: "string",
    placeholder: "N",
    help: "days until the token expires; 0 or never: it does not expire",
    defaultValue: () => "365",
    parse: (text) =>
      /^(?:0|[1-9]\d{0,3}|never)$/.test(text)
        ? ok(text === "never" ? "0" : text)
        : err({
            problem: "must be a number of days, 1 to 9999, or 0 or never for no expiry",
            hint: "for example --days 90",
          }),
  },
  tokenRole: {
    name: "role",
    type: "string",
    placeholder: "ROLE",
    help: "admin, viewer (reads everything, changes nothing) or metrics (reads /metrics only)",
    defaultValue: () => "admin",
    parse: oneOf("admin", "viewer", "metrics"),
  },
  revoke: {
    name: "revoke",
    type: "string",
    placeholder: "NAME",
    help: "revoke this token instead",
  },
  role: {
    name: "role",
    type: "string",
    placeholder: "ROLE",
    help: "admin, viewer (reads everything, changes nothing) or user (applications only)",
    defaultValue: () => "user",
    parse: oneOf("admin", "viewer", "user"),
  },
  installPath: {
    name: "install-path",
    type: "string",
    placeholder: "FILE",
    help: "path to install the executable at",
    isPath: true,
    defaultValue: () => "/usr/local/bin/berth",
  },
  dryRun: { name: "dry-run", type: "boolean", help: "only print what would be done" },
  serviceTls: {
    name: "listen-tls",
    type: "string",
    placeholder: "HOST:PORT",
    help: "address and port to listen on with TLS, in addition to plain HTTP",
    defaultValue: () => "0.0.0.0:8443",
    parse: listenAddress,
  },
  local: {
    name: "local",
    type: "boolean",
    help: "show times in this machine's time zone instead of UTC; does not affect JSON",
  },
  json: { name: "json", type: "boolean", help: "print JSON" },
} as const satisfies Readonly<Record<string, Option>>;

/** The options of a command that uses a site, whether its server is running or not. */
export const siteOptions = {
  data: option.data,
  identity: option.identity,
  config: option.config,
} as const;
