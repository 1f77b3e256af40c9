import { SERVICE_SETTINGS } from "../../platform/environment.ts";
import { flag, list, path, text } from "./options.ts";
import { deskFlags } from "../vendor/desk-flags.ts";
import { err, ok } from "../../domain/result.ts";
import { wallClock } from "../../platform/clock.ts";
import { settings } from "../serve/settings.ts";
import { parseTimeFlag } from "./times.ts";
import { listenAddress, oneOf, wholeNumber } from "./option-parsers.ts";

/** The flags of several commands, and of commands that have many; each is described once. */
export const option = {
  ...settings,
  ...deskFlags,
  acceptLoss: flag(
    "--accept-loss",
    "restore even if the folder contains changes that the backup does not contain",
  ),
  acceptGap: text(
    "--accept-gap REASON",
    "declare lines that cannot be recovered as lost, for this reason",
  ),
  allowDamagedAudit: flag(
    "--allow-damaged-audit",
    "only warn if the audit log is damaged but everything else is intact",
  ),
  note: text("--note TEXT", "a comment for the audit log"),
  config: text("--config FILE", "settings file (TOML)", {
    defaultDescription: `${SERVICE_SETTINGS} for the service's data folder`,
  }),
  productFilter: text("--product CODE", "only entries of this product"),
  slotProduct: text(
    "--product CODE",
    "the product code; optional if only one product is installed",
  ),
  requestProduct: text(
    "--product CODE",
    "the product code; default: the only product installed, or of the trusted vendors",
  ),
  limit: text("--limit N", "maximum number of entries", {
    defaultValue: "100",
    parse: wholeNumber(1, 999_999, "a whole number", "for example --limit 20"),
  }),
  eventTypes: list("--type TYPE", "only these event types, see below; can be repeated"),
  userFilter: text("--user NAME", "only entries of this user"),
  licenseFilter: text("--license-id ID", "only entries of this license"),
  since: text(
    "--since TIME",
    "only entries since a day (UTC), an RFC 3339 time, or a duration ago such as 7d (m, h, d, w)",
    { parse: (text) => parseTimeFlag("since", text, wallClock()) },
  ),
  until: text(
    "--until TIME",
    "only entries until then, in the same formats; a day is included to its end",
    { parse: (text) => parseTimeFlag("until", text, wallClock()) },
  ),
  textFilter: text("--text TEXT", "only entries with this text in any field"),
  exportFile: path("--out FILE", "export the unchanged lines to this new file"),
  range: text("--range RANGE", "how far back: day, week, month, quarter, year or 18months", {
    defaultValue: "day",
    parse: oneOf("day", "week", "month", "quarter", "year", "18months"),
  }),
  usersToRelease: list("--user NAME", "the user whose slot is released; can be repeated", {
    canContainCommas: true,
  }),
  releaseAll: flag(
    "--all",
    "release all slots of the product, after a confirmation; needs --product",
  ),
  licenseKey: text("--license-key KEY", "the vendor's license key for the purchase"),
  out: path("--out FILE", "write to this file"),
  qr: flag("--qr", "also show the output as QR codes"),
  svg: path(
    "--svg FILE",
    "write an SVG image to this file instead; several codes get numbered file names",
  ),
  withBorrows: flag(
    "--with-borrows",
    "return the license even if slots are borrowed; the receipt lists them",
  ),
  yes: flag("--yes", "do not ask for confirmation; required without a terminal"),
  initializationCode: text(
    "--initialization-code CODE",
    "the vendor's initialization code, if the vendor issued one",
  ),
  policy: path("--policy FILE", "the vendor's policy document"),
  policyId: text("--policy-id ID", "the policy's id"),
  confirmationCode: text("--code CODE", "the confirmation code"),
  clockCode: text("--code CODE", "the clock code, which berth clock prints at the site", {
    isRequired: true,
  }),
  replacePolicy: flag(
    "--replace",
    "replace a policy with the same id but other terms; the earlier one can no longer be confirmed",
  ),
  tokenName: text("--name NAME", "the token's name, shown in the audit log; default admin"),
  userName: text("--name NAME", "user name; default admin"),
  clientName: text("--name NAME", "the client's name"),
  caDir: path(
    "--ca-dir DIR",
    "folder of the site CA's key; default: DATA-ca beside the data folder, or /etc/berth/ca for the service",
  ),
  newCa: flag("--new-ca", "create a new site CA; it must be distributed to every client"),
  limitAddresses: flag(
    "--limit-addresses",
    "restrict a new CA to the server's IP addresses too; clients built with Bun reject such a CA",
  ),
  tokenDays: text("--days N", "days until the token expires; 0 or never: it does not expire", {
    defaultValue: "365",
    parse: (text) =>
      /^(?:0|[1-9]\d{0,3}|never)$/.test(text)
        ? ok(text === "never" ? "0" : text)
        : err({
            problem: "must be a number of days, 1 to 9999, or 0 or never for no expiry",
            hint: "for example --days 90",
          }),
  }),
  tokenRole: text(
    "--role ROLE",
    "admin, viewer (reads everything, changes nothing) or metrics (reads /metrics only)",
    { defaultValue: "admin", parse: oneOf("admin", "viewer", "metrics") },
  ),
  revoke: text("--revoke NAME", "revoke this token instead"),
  role: text(
    "--role ROLE",
    "admin, viewer (reads everything, changes nothing) or user (applications only)",
    { defaultValue: "user", parse: oneOf("admin", "viewer", "user") },
  ),
  installPath: path("--install-path FILE", "path to install the executable at", {
    defaultValue: "/usr/local/bin/berth",
  }),
  dryRun: flag("--dry-run", "only print what would be done"),
  serviceTls: text(
    "--listen-tls HOST:PORT",
    "address and port to listen on with TLS, in addition to plain HTTP",
    { defaultValue: "0.0.0.0:8443", parse: listenAddress },
  ),
  local: flag(
    "--local",
    "show times in this machine's time zone instead of UTC; does not affect JSON",
  ),
  json: flag("--json", "print JSON"),
};

/** The options of a command that uses a site, whether its server is running or not. */
export const siteOptions = {
  data: option.data,
  identity: option.identity,
  config: option.config,
} as const;
