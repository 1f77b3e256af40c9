import { parseNetwork } from "../../platform/network/networks.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import { defaultDataFolder } from "../../platform/environment.ts";
import type { Option, InvalidValue } from "../frame/options.ts";
import type { Values } from "../frame/define-command.ts";
import { folderPath, listenAddress, matchingNumber, oneOf } from "../frame/option-parsers.ts";

const parseNetworkText = (text: string): Result<string, InvalidValue> =>
  parseNetwork(text) !== null
    ? ok(text)
    : err({
        problem: `must be a list of networks; ${text} is not a network`,
        hint: "for example 10.1.0.0/16",
      });

/** Null: no limit. */
const parseSlotLimit = (text: string): Result<number | null, InvalidValue> =>
  /^(?:0|[1-9]\d{0,8})$/.test(text)
    ? ok(Number(text) || null)
    : err({ problem: "must be a number of slots", hint: "for example 2, or 0 for no limit" });

/** The settings of a server, in the order in which its help shows them. */
export const settings = {
  data: {
    name: "data",
    type: "string",
    placeholder: "DIR",
    help: "the data folder",
    isSetting: true,
    isPath: true,
    defaultValue: defaultDataFolder,
    parse: folderPath,
    defaultDescription: "data beside the executable, or the service's /var/lib/berth",
  },
  listen: {
    name: "listen",
    type: "string",
    placeholder: "HOST:PORT",
    help: "address and port to listen on",
    isSetting: true,
    defaultValue: () => "0.0.0.0:8080",
    parse: listenAddress,
  },
  listenTls: {
    name: "listen-tls",
    type: "string",
    placeholder: "HOST:PORT",
    help: "address and port to listen on with TLS, in addition to plain HTTP",
    isSetting: true,
    parse: listenAddress,
  },
  tlsCert: {
    name: "tls-cert",
    type: "string",
    placeholder: "FILE",
    help: "the TLS certificate (PEM); default: the one created by berth tls init",
    isSetting: true,
    isPath: true,
  },
  tlsKey: {
    name: "tls-key",
    type: "string",
    placeholder: "FILE",
    help: "the private key of the TLS certificate (PEM)",
    isSetting: true,
    isPath: true,
  },
  clientCa: {
    name: "client-ca",
    type: "string",
    placeholder: "FILE",
    help: "require client certificates signed by this CA (PEM)",
    isSetting: true,
    isPath: true,
  },
  clientNetworks: {
    name: "client-networks",
    type: "list",
    placeholder: "CIDR",
    help: "networks from which clients can connect; default: private networks and this machine's subnets",
    isSetting: true,
    parse: parseNetworkText,
  },
  adminNetworks: {
    name: "admin-networks",
    type: "list",
    placeholder: "CIDR",
    help: "networks from which administrators can connect; default: the client networks",
    isSetting: true,
    parse: parseNetworkText,
  },
  clientAuth: {
    name: "client-auth",
    type: "string",
    placeholder: "MODE",
    help: "how applications authenticate: open, login or mtls",
    isSetting: true,
    defaultValue: () => "open",
    parse: oneOf("open", "login", "mtls"),
  },
  allowPlainCredentials: {
    name: "allow-plain-credentials",
    type: "boolean",
    help: "accept tokens and passwords from other machines over plain HTTP too",
    isSetting: true,
  },
  names: {
    name: "names",
    type: "list",
    placeholder: "NAME",
    help: "additional host names of this server, as browsers and administrators use them",
    isSetting: true,
  },
  maxSlotsPerUser: {
    name: "max-slots-per-user",
    type: "string",
    placeholder: "N",
    help: "maximum number of slots per user over all licenses; 0: no limit",
    isSetting: true,
    defaultValue: () => "0",
    parse: parseSlotLimit,
  },
  maxSlotsPerPeer: {
    name: "max-slots-per-peer",
    type: "string",
    placeholder: "N",
    help: "maximum number of slots per address; 0: no limit",
    isSetting: true,
    defaultValue: () => "0",
    parse: parseSlotLimit,
  },
  auditBudget: {
    name: "audit-budget",
    type: "string",
    placeholder: "MIB",
    help: "maximum MiB per hour that one address can add to the audit log; 0: no limit",
    isSetting: true,
    defaultValue: () => "64",
    parse: matchingNumber(/^(?:0|[1-9]\d{0,6})$/, {
      problem: "must be a number of MiB",
      hint: "for example 64, or 0 for no limit",
    }),
  },
  log: {
    name: "log",
    type: "string",
    placeholder: "MODE",
    help: "what to log: default (admin actions, logins, refused, failed and slow requests) or requests (all)",
    isSetting: true,
    defaultValue: () => "default",
    parse: oneOf("default", "requests"),
  },
  identity: {
    name: "identity",
    type: "string",
    placeholder: "NAME",
    help: "a name to bind licenses to if no hardware can be identified, as in a container; a weak binding",
    isSetting: true,
  },
  auditKeepMonths: {
    name: "audit-keep-months",
    type: "string",
    placeholder: "N",
    help: "months of the audit log to keep besides the current one; 0: keep all",
    isSetting: true,
    defaultValue: () => "0",
    parse: matchingNumber(/^\d{1,4}$/, {
      problem: "must be a number of months",
      hint: "for example 120, or 0 to keep everything",
    }),
  },
} as const satisfies Readonly<Record<string, Option>>;

/** The settings of a server, parsed. */
export type ServeSettings = Values<typeof settings>;
