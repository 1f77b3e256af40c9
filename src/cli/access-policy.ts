import { isIPv6 } from "node:net";
import type { SlotCaps, DataFolderKind } from "../domain/state.ts";
import type { Exposure } from "../http/app.ts";
import type { ClientAuth } from "../http/gate.ts";
import type { AccessPolicy } from "../http/server.ts";
import type { LogMode } from "../http/access-log.ts";
import type { AccessControl } from "../operations/access-control.ts";
import {
  createNetworkMatcher,
  listSiteNetworks,
  createSiteNetworkMatcher,
} from "../platform/networks.ts";
import { Misuse } from "../platform/options.ts";
import { isFlagSet, getListFlag, getStringFlag, type FlagValues } from "./command.ts";
import { findExposures } from "./exposures.ts";
import type { ListenAddress } from "./listen-address.ts";

/** Who may do what, as it was set. */
export function readAccessPolicy(given: FlagValues, kind: DataFolderKind): AccessPolicy {
  const isClient = clientNetworks(getListFlag(given, "client-networks"));
  const admins = getListFlag(given, "admin-networks");
  return {
    isClient,
    isAdmin: admins.length === 0 ? isClient : createNetworkMatcher(admins),
    clientAuth: (getStringFlag(given, "client-auth") ?? "open") as ClientAuth,
    adminOpen: kind === "demo",
    allowPlain: isFlagSet(given, "allow-plain-credentials"),
    serverNames: getListFlag(given, "names").map((name) => name.toLowerCase()),
    logMode: (getStringFlag(given, "log") ?? "default") as LogMode,
  };
}

/** As in force now: where none are set, what this machine is connected to may change. */
export function getAllowedNetworks(given: FlagValues): { client: string[]; admin: string[] } {
  const [clients, admins] = [
    getListFlag(given, "client-networks"),
    getListFlag(given, "admin-networks"),
  ];
  const client = clients.length === 0 ? listSiteNetworks() : [...clients];
  return { client, admin: admins.length === 0 ? client : [...admins] };
}

export const readSlotCaps = (given: FlagValues): SlotCaps => ({
  perUser: readSlotCap(given, "max-slots-per-user"),
  perPeer: readSlotCap(given, "max-slots-per-peer"),
});

const readSlotCap = (given: FlagValues, name: string): number | null =>
  Number(getStringFlag(given, name) ?? 0) || null;

/** A setting that only TLS could keep must not be dropped in silence. */
export function checkTlsFlags(
  given: FlagValues,
  { clientAuth }: AccessPolicy,
  plain: ListenAddress,
  tls: ListenAddress | null,
): void {
  if (clientAuth === "mtls" && getStringFlag(given, "client-ca") === null) {
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
  const idle = ["client-ca", "tls-cert", "tls-key"].find(
    (name) => getStringFlag(given, name) !== null,
  );
  if (idle !== undefined)
    throw new Misuse(`--${idle} requires --listen-tls`, "add --listen-tls HOST:PORT");
}

/** Whether nobody could listen on both at once. Port 0 is another one each time. */
function isSamePort(one: ListenAddress, other: ListenAddress): boolean {
  if (one.port !== other.port || one.port === 0) return false;
  const hosts = [one.host, other.host];
  if (one.host === other.host || hosts.includes("::")) return true;
  return hosts.includes("0.0.0.0") && !hosts.some((host) => isIPv6(host));
}

/** What stands open, now. */
export const listExposures = (
  given: FlagValues,
  policy: AccessPolicy,
  access: AccessControl,
): readonly Exposure[] =>
  findExposures({
    policy,
    isClaimed: access.isClaimed(),
    access: access.list(),
    plain: getStringFlag(given, "listen") ?? "",
    tls: getStringFlag(given, "listen-tls"),
    clientNetworks: getListFlag(given, "client-networks"),
    adminNetworks: getListFlag(given, "admin-networks"),
  });

const clientNetworks = (networks: readonly string[]): ((address: string) => boolean) =>
  networks.length === 0 ? createSiteNetworkMatcher() : createNetworkMatcher(networks);
