import { parseNetwork } from "../platform/networks.ts";
import { defaultDataFolder, type Option, type Value, type Wrong } from "../platform/options.ts";
import { parseListen } from "./listen.ts";

export const listenCheck = (value: Value): Wrong | null =>
  parseListen(String(value)) !== null
    ? null
    : {
        wrong: "must be HOST:PORT, with a port up to 65535",
        hint: "for example 0.0.0.0:8080, or [::]:8080",
      };

const networksCheck = (value: Value): Wrong | null => {
  const wrong = [value].flat().find((network) => parseNetwork(String(network)) === null);
  return wrong === undefined
    ? null
    : {
        wrong: `must be a list of networks; ${wrong} is not a network`,
        hint: "for example 10.1.0.0/16",
      };
};

export const oneOf =
  (...known: readonly string[]) =>
  (value: Value): Wrong | null =>
    known.includes(String(value))
      ? null
      : { wrong: `must be one of ${known.join(", ")}`, hint: "" };

const slotsCheck = (value: Value): Wrong | null =>
  /^(?:0|[1-9]\d{0,8})$/.test(String(value))
    ? null
    : { wrong: "must be a number of slots", hint: "for example 2, or 0 for no limit" };

/** MiB; also what a demo has, which takes no such setting. */
export const DEFAULT_AUDIT_BUDGET = "64";

const mebibytesCheck = (value: Value): Wrong | null =>
  /^(?:0|[1-9]\d{0,6})$/.test(String(value))
    ? null
    : { wrong: "must be a number of MiB", hint: "for example 64, or 0 for no limit" };

const monthsCheck = (value: Value): Wrong | null =>
  /^\d{1,4}$/.test(String(value))
    ? null
    : { wrong: "must be a number of months", hint: "for example 120, or 0 to keep everything" };

/** What a site's server can be told, in the order its help shows it. */
export const settings = {
  data: {
    name: "data",
    type: "string",
    value: "DIR",
    help: "the data folder",
    setting: true,
    path: true,
    fallback: defaultDataFolder,
    usual: "data beside the executable, or the service's /var/lib/berth",
  },
  listen: {
    name: "listen",
    type: "string",
    value: "HOST:PORT",
    help: "address and port to listen on",
    setting: true,
    fallback: () => "0.0.0.0:8080",
    check: listenCheck,
  },
  listenTls: {
    name: "listen-tls",
    type: "string",
    value: "HOST:PORT",
    help: "address and port to listen on with TLS, in addition to plain HTTP",
    setting: true,
    check: listenCheck,
  },
  tlsCert: {
    name: "tls-cert",
    type: "string",
    value: "FILE",
    help: "the TLS certificate (PEM); default: the one created by berth tls init",
    setting: true,
    path: true,
  },
  tlsKey: {
    name: "tls-key",
    type: "string",
    value: "FILE",
    help: "the private key of the TLS certificate (PEM)",
    setting: true,
    path: true,
  },
  clientCa: {
    name: "client-ca",
    type: "string",
    value: "FILE",
    help: "require client certificates signed by this CA (PEM)",
    setting: true,
    path: true,
  },
  clientNetworks: {
    name: "client-networks",
    type: "list",
    value: "CIDR",
    help: "networks from which clients can connect; default: private networks and this machine's subnets",
    setting: true,
    check: networksCheck,
  },
  adminNetworks: {
    name: "admin-networks",
    type: "list",
    value: "CIDR",
    help: "networks from which administrators can connect; default: the client networks",
    setting: true,
    check: networksCheck,
  },
  clientAuth: {
    name: "client-auth",
    type: "string",
    value: "MODE",
    help: "how applications authenticate: open, login or mtls",
    setting: true,
    fallback: () => "open",
    check: oneOf("open", "login", "mtls"),
  },
  allowPlainCredentials: {
    name: "allow-plain-credentials",
    type: "boolean",
    help: "accept tokens and passwords from other machines over plain HTTP too",
    setting: true,
  },
  names: {
    name: "names",
    type: "list",
    value: "NAME",
    help: "additional host names of this server, as browsers and administrators use them",
    setting: true,
  },
  maxSlotsPerUser: {
    name: "max-slots-per-user",
    type: "string",
    value: "N",
    help: "maximum number of slots per user over all licenses; 0: no limit",
    setting: true,
    fallback: () => "0",
    check: slotsCheck,
  },
  maxSlotsPerPeer: {
    name: "max-slots-per-peer",
    type: "string",
    value: "N",
    help: "maximum number of slots per address; 0: no limit",
    setting: true,
    fallback: () => "0",
    check: slotsCheck,
  },
  auditBudget: {
    name: "audit-budget",
    type: "string",
    value: "MIB",
    help: "maximum MiB per hour that one address can add to the audit log; 0: no limit",
    setting: true,
    fallback: () => DEFAULT_AUDIT_BUDGET,
    check: mebibytesCheck,
  },
  log: {
    name: "log",
    type: "string",
    value: "MODE",
    help: "default: admin actions, logins, refused, failed and slow requests; requests: all",
    setting: true,
    fallback: () => "default",
    check: oneOf("default", "requests"),
  },
  identity: {
    name: "identity",
    type: "string",
    value: "NAME",
    help: "a name to bind licenses to if no hardware can be identified, as in a container; a weak binding",
    setting: true,
  },
  auditKeepMonths: {
    name: "audit-keep-months",
    type: "string",
    value: "N",
    help: "months of the audit log to keep besides the current one; 0: keep all",
    setting: true,
    fallback: () => "0",
    check: monthsCheck,
  },
} as const satisfies Readonly<Record<string, Option>>;
