import { isIPv6 } from "node:net";
import type { SlotCaps, DataFolderKind } from "../domain/state.ts";
import type { Exposure } from "../http/app.ts";
import type { ClientAuth } from "../http/gate.ts";
import type { AccessPolicy } from "../http/server.ts";
import type { LogMode } from "../http/access-log.ts";
import type { AccessControl } from "../operations/access-control.ts";
import { networkMatcher, siteNetworkList, siteNetworks } from "../platform/networks.ts";
import { Misuse } from "../platform/options.ts";
import { isSet, listOf, stringOf, type Given } from "./command.ts";
import { doorsOf } from "./doors.ts";
import type { Address } from "./listen.ts";

/** Who may do what, as it was set. */
export function policyOf(given: Given, kind: DataFolderKind): AccessPolicy {
  const isClient = clientNetworks(listOf(given, "client-networks"));
  const admins = listOf(given, "admin-networks");
  return {
    isClient,
    isAdmin: admins.length === 0 ? isClient : networkMatcher(admins),
    clientAuth: (stringOf(given, "client-auth") ?? "open") as ClientAuth,
    adminOpen: kind === "demo",
    allowPlain: isSet(given, "allow-plain-credentials"),
    serverNames: listOf(given, "names").map((name) => name.toLowerCase()),
    logMode: (stringOf(given, "log") ?? "default") as LogMode,
  };
}

/** As in force now: where none are set, what this machine is connected to may change. */
export function networksOf(given: Given): { client: string[]; admin: string[] } {
  const [clients, admins] = [listOf(given, "client-networks"), listOf(given, "admin-networks")];
  const client = clients.length === 0 ? siteNetworkList() : [...clients];
  return { client, admin: admins.length === 0 ? client : [...admins] };
}

export const capsOf = (given: Given): SlotCaps => ({
  perUser: capOf(given, "max-slots-per-user"),
  perPeer: capOf(given, "max-slots-per-peer"),
});

const capOf = (given: Given, name: string): number | null =>
  Number(stringOf(given, name) ?? 0) || null;

/** A setting that only TLS could keep must not be dropped in silence. */
export function checkTlsFlags(
  given: Given,
  { clientAuth }: AccessPolicy,
  plain: Address,
  tls: Address | null,
): void {
  if (clientAuth === "mtls" && stringOf(given, "client-ca") === null) {
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
  const idle = ["client-ca", "tls-cert", "tls-key"].find((name) => stringOf(given, name) !== null);
  if (idle !== undefined)
    throw new Misuse(`--${idle} requires --listen-tls`, "add --listen-tls HOST:PORT");
}

/** Whether nobody could listen on both at once. Port 0 is another one each time. */
function isSamePort(one: Address, other: Address): boolean {
  if (one.port !== other.port || one.port === 0) return false;
  const hosts = [one.host, other.host];
  if (one.host === other.host || hosts.includes("::")) return true;
  return hosts.includes("0.0.0.0") && !hosts.some((host) => isIPv6(host));
}

/** What stands open, now. */
export const openDoors = (
  given: Given,
  policy: AccessPolicy,
  access: AccessControl,
): readonly Exposure[] =>
  doorsOf({
    policy,
    isClaimed: access.isClaimed(),
    access: access.list(),
    plain: stringOf(given, "listen") ?? "",
    tls: stringOf(given, "listen-tls"),
    clientNetworks: listOf(given, "client-networks"),
    adminNetworks: listOf(given, "admin-networks"),
  });

const clientNetworks = (networks: readonly string[]): ((address: string) => boolean) =>
  networks.length === 0 ? siteNetworks() : networkMatcher(networks);
