import { parseNetwork } from "../../domain/model/rules/network.ts";
import { isLoopback } from "../../platform/network/networks.ts";
import { createFinding, passedReport, type Finding, type HealthReport } from "./finding.ts";

/** How a running server can be reached, and by whom. */
export interface ServerAccess {
  /** Whether administration requires a credential. */
  readonly isClaimed: boolean;
  /** A demo: every client may administer while no credential exists. */
  readonly isDemo: boolean;
  readonly clientAuth: "open" | "login" | "mtls";
  /** Whether credentials are accepted over plain HTTP from other machines. */
  readonly allowsPlainCredentials: boolean;
  /** Empty: private networks and those of this machine. */
  readonly clientNetworks: readonly string[];
  readonly adminNetworks: readonly string[];
  /** Where plain HTTP is served. */
  readonly plainHost: string;
  readonly plainAddress: string;
  readonly hasTls: boolean;
  /** Where metrics are served without a credential; null: nowhere. */
  readonly metrics: { readonly host: string; readonly address: string } | null;
}

/** Open access to the server, and how to restrict it. */
export function checkExposures(access: ServerAccess): HealthReport {
  const { clientNetworks, adminNetworks } = access;
  const findings = [
    ...adminFindings(access),
    ...clientFindings(access),
    ...networkFindings("Applications", "client-networks", clientNetworks),
    ...networkFindings("Administrators", "admin-networks", adminNetworks),
    ...plainHttpFindings(access),
    ...metricsFindings(access),
  ];
  return findings.length === 0 ? passedReport("exposures", PROTECTED) : { findings, passed: [] };
}

const PROTECTED = "Administration and applications need a credential, and networks are limited";

export const describeNetworks = (networks: readonly string[]): string =>
  networks.join(", ") || "private networks and this machine's subnets";

function adminFindings({ isClaimed, isDemo }: ServerAccess): Finding[] {
  if (isClaimed) return [];
  const command = "berth admin token --name me";
  if (isDemo) {
    return [
      createFinding("admin_open", "note", {
        summary: "Demo: every client can administer it without a credential",
        remedy: "Create an admin token, or use berth serve for production",
        command,
      }),
    ];
  }
  return [
    createFinding("admin_open", "warning", {
      summary: "Administration is open to everybody on this machine, tunnels and proxies included",
      remedy: "Create an admin token",
      command,
    }),
  ];
}

function clientFindings({ clientAuth, clientNetworks }: ServerAccess): Finding[] {
  if (clientAuth !== "open") return [];
  const networks = describeNetworks(clientNetworks);
  return [
    createFinding("clients_open", "note", {
      summary: `Applications from ${networks} call without a login, in any user's name`,
      remedy: 'Set client_auth to "login" or "mtls", or restrict client_networks',
    }),
  ];
}

/** A network with fewer bits is larger than any site: a mistake, or a choice to be made visible. */
const MIN_PREFIX_BITS = 7;

function networkFindings(group: string, setting: string, networks: readonly string[]): Finding[] {
  const wide = networks.filter(
    (network) => (parseNetwork(network)?.bits ?? MIN_PREFIX_BITS) < MIN_PREFIX_BITS,
  );
  if (wide.length === 0) return [];
  return [
    createFinding("networks_wide", "warning", {
      summary: `${group} can connect from ${wide.join(", ")}, which is larger than one site`,
      remedy: `Set ${setting.replace("-", "_")} to the site's own networks`,
      subject: setting,
    }),
  ];
}

const isLocalHost = (host: string): boolean => host === "localhost" || isLoopback(host);

function metricsFindings({ metrics }: ServerAccess): Finding[] {
  if (metrics === null || isLocalHost(metrics.host)) return [];
  return [
    createFinding("metrics_open", "warning", {
      summary: `Metrics on ${metrics.address} can be read by every machine that reaches it`,
      remedy: "Set metrics_listen to 127.0.0.1:9109, or use a token with the role metrics instead",
      command: "berth admin token --name prometheus --role metrics",
    }),
  ];
}

function plainHttpFindings(access: ServerAccess): Finding[] {
  const { plainHost, plainAddress, hasTls, allowsPlainCredentials } = access;
  const findings: Finding[] = [];
  if (!isLocalHost(plainHost)) {
    findings.push(
      createFinding("plain_http", "note", {
        summary: `Plain HTTP on ${plainAddress}: traffic can be read and changed on the network`,
        remedy: hasTls
          ? "Set listen to 127.0.0.1:8080 once every application uses TLS"
          : "Create a certificate, then set listen_tls, and listen to 127.0.0.1:8080",
        command: hasTls ? null : "berth tls init",
      }),
    );
  }
  if (allowsPlainCredentials) {
    findings.push(
      createFinding("plain_credentials", "warning", {
        summary: "Tokens and passwords from other machines are accepted over plain HTTP",
        remedy: "Remove allow_plain_credentials from the settings",
      }),
    );
  }
  return findings;
}
