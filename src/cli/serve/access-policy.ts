import { isIPv6 } from "node:net";
import type { SlotCaps } from "../../domain/rule-context.ts";
import type { DataFolderKind } from "../../domain/state.ts";
import type { Exposure } from "../../http/services.ts";
import type { ClientAuth } from "../../http/access/gate.ts";
import type { AccessPolicy } from "../../http/server.ts";
import type { LogMode } from "../../http/access/access-log.ts";
import type { AccessControl } from "../../operations/access-control.ts";
import {
  createNetworkMatcher,
  listSiteNetworks,
  createSiteNetworkMatcher,
} from "../../platform/networks.ts";
import { Misuse } from "../../platform/options.ts";
import { isFlagSet, getListFlag, getStringFlag, type FlagValues } from "../frame/command.ts";
import { findExposures } from "./exposures.ts";
import type { ListenAddress } from "./listen-address.ts";

/** The access rules from the settings. */
export function readAccessPolicy(flags: FlagValues, kind: DataFolderKind): AccessPolicy {
  const isClient = createClientMatcher(getListFlag(flags, "client-networks"));
  const admins = getListFlag(flags, "admin-networks");
  return {
    isClient,
    isAdmin: admins.length === 0 ? isClient : createNetworkMatcher(admins),
    clientAuth: (getStringFlag(flags, "client-auth") ?? "open") as ClientAuth,
    adminOpen: kind === "demo",
    allowPlain: isFlagSet(flags, "allow-plain-credentials"),
    serverNames: getListFlag(flags, "names").map((name) => name.toLowerCase()),
    logMode: (getStringFlag(flags, "log") ?? "default") as LogMode,
  };
}

/** As of now: if none are set, they depend on the networks of this machine, which may change. */
export function getAllowedNetworks(flags: FlagValues): { client: string[]; admin: string[] } {
  const [clients, admins] = [
    getListFlag(flags, "client-networks"),
    getListFlag(flags, "admin-networks"),
  ];
  const client = clients.length === 0 ? listSiteNetworks() : [...clients];
  return { client, admin: admins.length === 0 ? client : [...admins] };
}

export const readSlotCaps = (flags: FlagValues): SlotCaps => ({
  perUser: readSlotCap(flags, "max-slots-per-user"),
  perPeer: readSlotCap(flags, "max-slots-per-peer"),
});

const readSlotCap = (flags: FlagValues, name: string): number | null =>
  Number(getStringFlag(flags, name) ?? 0) || null;

/** Refuses settings that need TLS if there is no TLS, instead of ignoring them. */
export function checkTlsFlags(
  flags: FlagValues,
  { clientAuth }: AccessPolicy,
  plain: ListenAddress,
  tls: ListenAddress | null,
): void {
  if (clientAuth === "mtls" && getStringFlag(flags, "client-ca") === null) {
    throw new Misuse(
      'client_auth = "mtls" requires --client-ca',
      "berth tls init creates a site CA",
    );
  }
  if (tls !== null && isSamePort(plain, tls)) {
    const hint = "choose another port for one of them, for example --listen-tls 0.0.0.0:8443";
    throw new Misuse(`--listen and --listen-tls use the same port ${tls.port}`, hint);
  }
  if (tls !== null) return;
  const unusedFlag = ["client-ca", "tls-cert", "tls-key"].find(
    (name) => getStringFlag(flags, name) !== null,
  );
  if (unusedFlag !== undefined)
    throw new Misuse(`--${unusedFlag} requires --listen-tls`, "add --listen-tls HOST:PORT");
}

/** Whether the server cannot listen on both. Port 0 is a different port each time. */
function isSamePort(a: ListenAddress, b: ListenAddress): boolean {
  if (a.port !== b.port || a.port === 0) return false;
  const hosts = [a.host, b.host];
  if (a.host === b.host || hosts.includes("::")) return true;
  return hosts.includes("0.0.0.0") && !hosts.some((host) => isIPv6(host));
}

/** The current exposures. */
export const listExposures = (
  flags: FlagValues,
  policy: AccessPolicy,
  access: AccessControl,
): readonly Exposure[] =>
  findExposures({
    policy,
    isClaimed: access.isClaimed(),
    access: access.list(),
    plain: getStringFlag(flags, "listen") ?? "",
    tls: getStringFlag(flags, "listen-tls"),
    clientNetworks: getListFlag(flags, "client-networks"),
    adminNetworks: getListFlag(flags, "admin-networks"),
  });

const createClientMatcher = (networks: readonly string[]): ((address: string) => boolean) =>
  networks.length === 0 ? createSiteNetworkMatcher() : createNetworkMatcher(networks);
