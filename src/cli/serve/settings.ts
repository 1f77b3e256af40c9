import { DEFAULT_WARNING_DAYS } from "../../domain/licenses/end-date.ts";
import { limits } from "../../domain/model/limits.ts";
import { DEFAULT_USAGE_MONTHS } from "../../operations/usage/usage-files.ts";
import { defaultDataFolder } from "../../platform/environment.ts";
import { flag, list, path, text } from "../frame/options.ts";
import type { Values } from "../frame/define-command.ts";
import {
  folderPath,
  listenAddress,
  matchingNumber,
  oneOf,
  wholeNumber,
} from "../frame/option-parsers.ts";
import { pairSettings } from "./pair-settings.ts";
import { notificationSettings } from "./notification-settings.ts";
import {
  defaultSiteName,
  parseBackupDir,
  parseNetworkText,
  parseSchedule,
  parseSiteName,
  parseSlotLimit,
} from "./setting-parsers.ts";

/** The settings of a server, in the order in which its help shows them. */
export const settings = {
  data: path("--data DIR", "the data folder", {
    fixedReason: "the server has this folder open",
    defaultValue: defaultDataFolder,
    parse: folderPath,
    defaultDescription: "data beside the executable, or the service's /var/lib/berth",
  }),
  siteName: text(
    "--site-name NAME",
    "the name of this server in the page, in exports and in berth status",
    {
      isEditable: true,
      defaultValue: defaultSiteName,
      parse: parseSiteName,
      defaultDescription: "the machine's host name",
    },
  ),
  listen: text("--listen HOST:PORT", "address and port to listen on", {
    fixedReason: "a wrong address would cut off the page",
    defaultValue: "0.0.0.0:8080",
    parse: listenAddress,
  }),
  listenTls: text(
    "--listen-tls HOST:PORT",
    "address and port to listen on with TLS, in addition to plain HTTP",
    { fixedReason: "a wrong address would cut off the page", parse: listenAddress },
  ),
  metricsListen: text(
    "--metrics-listen HOST:PORT",
    "address and port that serve /metrics without a token, and nothing else",
    { fixedReason: "a wrong address would show the metrics to others", parse: listenAddress },
  ),
  tlsCert: path(
    "--tls-cert FILE",
    "the TLS certificate (PEM); default: the one created by berth tls init",
    { fixedReason: "a wrong certificate would cut off the page" },
  ),
  tlsKey: path("--tls-key FILE", "the private key of the TLS certificate (PEM)", {
    fixedReason: "a wrong key would cut off the page",
  }),
  clientCa: path("--client-ca FILE", "require client certificates signed by this CA (PEM)", {
    fixedReason: "a wrong CA would cut off every application",
  }),
  clientNetworks: list(
    "--client-networks CIDR",
    "networks from which clients can connect; default: private networks and this machine's subnets",
    { isEditable: true, isNeverEmpty: true, parse: parseNetworkText },
  ),
  adminNetworks: list(
    "--admin-networks CIDR",
    "networks from which administrators can connect; default: the client networks",
    {
      fixedReason: "a wrong network would lock all administrators out",
      isNeverEmpty: true,
      parse: parseNetworkText,
    },
  ),
  clientAuth: text("--client-auth MODE", "how applications authenticate: open, login or mtls", {
    fixedReason: "applications must be set up for it first",
    defaultValue: "open",
    parse: oneOf("open", "login", "mtls"),
  }),
  allowPlainCredentials: flag(
    "--allow-plain-credentials",
    "accept tokens and passwords from other machines over plain HTTP too",
    { fixedReason: "it exposes tokens and passwords on the network" },
  ),
  names: list(
    "--names NAME",
    "additional host names of this server, as browsers and administrators use them",
    { fixedReason: "a wrong name would let other web sites reach the page" },
  ),
  maxSlotsPerUser: text(
    "--max-slots-per-user N",
    "maximum number of slots per user over all licenses; 0: no limit",
    { isEditable: true, defaultValue: "0", parse: parseSlotLimit },
  ),
  maxSlotsPerPeer: text(
    "--max-slots-per-peer N",
    "maximum number of slots per address; 0: no limit",
    { isEditable: true, defaultValue: "0", parse: parseSlotLimit },
  ),
  maxPlacesPerCaller: text(
    "--max-places-per-caller N",
    "maximum number of places in queues per address, and per person",
    {
      isEditable: true,
      defaultValue: String(limits.placesPerCaller),
      parse: wholeNumber(1, 999_999, "a number of places", "for example 100"),
    },
  ),
  auditBudget: text(
    "--audit-budget MIB",
    "maximum MiB per hour that one address can add to the audit log; 0: no limit",
    {
      isEditable: true,
      defaultValue: "64",
      parse: matchingNumber(
        /^(?:0|[1-9]\d{0,6})$/,
        "must be a number of MiB",
        "for example 64, or 0 for no limit",
      ),
    },
  ),
  expiryWarningDays: text(
    "--expiry-warning-days DAYS",
    "how many days before its end a license, certificate or token is reported",
    {
      isEditable: true,
      defaultValue: String(DEFAULT_WARNING_DAYS),
      parse: wholeNumber(1, 365, "a number of days", "for example 30"),
    },
  ),
  log: text(
    "--log MODE",
    "what to log: default (admin actions, logins, refused, failed and slow requests) or requests (all)",
    {
      fixedReason: "it is for those who read the log on the machine",
      defaultValue: "default",
      parse: oneOf("default", "requests"),
    },
  ),
  identity: text(
    "--identity NAME",
    "a name to bind licenses to if no hardware can be identified, as in a container; a weak binding",
    { fixedReason: "licenses are bound to it" },
  ),
  auditKeepMonths: text(
    "--audit-keep-months N",
    "months of the audit log to keep besides the current one; 0: keep all",
    {
      isEditable: true,
      defaultValue: "0",
      parse: matchingNumber(
        /^\d{1,4}$/,
        "must be a number of months",
        "for example 120, or 0 to keep everything",
      ),
    },
  ),
  usageMonths: text(
    "--usage-months N",
    "months of usage over time to keep besides the current one",
    {
      isEditable: true,
      defaultValue: String(DEFAULT_USAGE_MONTHS),
      parse: wholeNumber(1, 999, "a number of months", "for example 18"),
    },
  ),
  backupSchedule: text(
    "--backup-schedule WHEN",
    "when to make backups: off, hourly, daily HH:MM or weekly DAY HH:MM, in the server's time zone",
    { isEditable: true, defaultValue: "daily 02:30", parse: parseSchedule },
  ),
  backupKeep: text(
    "--backup-keep N",
    "number of scheduled backups to keep; older ones are deleted",
    {
      isEditable: true,
      defaultValue: "7",
      parse: wholeNumber(1, 9999, "a number of backups", "for example 7"),
    },
  ),
  backupDir: path(
    "--backup-dir DIR",
    "the folder for scheduled backups; default: backups in the data folder",
    {
      fixedReason: "a service can write only to folders that its unit names",
      parse: parseBackupDir,
    },
  ),
  ...pairSettings,
  ...notificationSettings,
};

/** The settings of a server, parsed. */
export type ServeSettings = Values<typeof settings>;
