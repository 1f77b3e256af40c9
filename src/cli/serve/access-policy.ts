import { isIPv6 } from "node:net";
import type { DataFolderKind } from "../../domain/model/state.ts";
import type { AccessPolicy } from "../../http/server.ts";
import {
  createNetworkMatcher,
  listSiteNetworks,
  createSiteNetworkMatcher,
  isLoopback,
  SOCKET_PEER,
} from "../../platform/network/networks.ts";
import { Misuse } from "../frame/options.ts";
import type { ListenAddress } from "./listen-address.ts";
import type { LiveSettings } from "./live-settings.ts";
import type { ServeSettings } from "./settings.ts";

/** The access rules from the settings. */
export function createAccessPolicy(live: LivePolicySettings, kind: DataFolderKind): AccessPolicy {
  const { adminNetworks, clientAuth, allowPlainCredentials, names, log } = live.current;
  const isClient = createLiveClientMatcher(live);
  return {
    isClient,
    isAdmin: adminNetworks.length === 0 ? isClient : createNetworkMatcher(adminNetworks),
    clientAuth,
    adminOpen: kind === "demo",
    allowPlain: allowPlainCredentials,
    serverNames: names.map((name) => name.toLowerCase()),
    logMode: log,
  };
}

export type LivePolicySettings = Pick<LiveSettings, "current" | "onChange">;

/** Follows changes of the client networks; a request only calls the matcher of the current ones. */
function createLiveClientMatcher(live: LivePolicySettings): (address: string) => boolean {
  let { clientNetworks } = live.current;
  let matches = createClientMatcher(clientNetworks);
  live.onChange(() => {
    if (live.current.clientNetworks === clientNetworks) return;
    ({ clientNetworks } = live.current);
    matches = createClientMatcher(clientNetworks);
  });
  return (address) => matches(address);
}

const createClientMatcher = (networks: readonly string[]): ((address: string) => boolean) =>
  networks.length === 0 ? createSiteNetworkMatcher() : createNetworkMatcher(networks);

/** Whether an address could administer with these settings, given the right credential. */
export const canAdminister = (
  { clientNetworks, adminNetworks }: Pick<ServeSettings, "clientNetworks" | "adminNetworks">,
  address: string,
): boolean =>
  address === SOCKET_PEER ||
  isLoopback(address) ||
  (adminNetworks.length === 0
    ? createClientMatcher(clientNetworks)(address)
    : createNetworkMatcher(adminNetworks)(address));

/** As of now: if none are set, they depend on the networks of this machine, which may change. */
export function getAllowedNetworks({
  clientNetworks,
  adminNetworks,
}: Pick<ServeSettings, "clientNetworks" | "adminNetworks">): { client: string[]; admin: string[] } {
  const client = clientNetworks.length === 0 ? listSiteNetworks() : [...clientNetworks];
  return { client, admin: adminNetworks.length === 0 ? client : [...adminNetworks] };
}

/** Refuses an address for metrics on which the server listens already. */
export function checkMetricsAddress({ metricsListen, listen, listenTls }: ListenSettings): void {
  if (metricsListen === null) return;
  const other = isSamePort(listen, metricsListen)
    ? "--listen"
    : listenTls !== null && isSamePort(listenTls, metricsListen)
      ? "--listen-tls"
      : null;
  if (other === null) return;
  throw new Misuse(
    `${other} and --metrics-listen use the same port ${metricsListen.port}`,
    "choose another port for the metrics, for example --metrics-listen 127.0.0.1:9109",
  );
}

type ListenSettings = Pick<ServeSettings, "listen" | "listenTls" | "metricsListen">;

/** Refuses settings that need TLS if there is no TLS, instead of ignoring them. */
export function checkTlsSettings(settings: ServeSettings): void {
  const { clientAuth, clientCa, tlsCert, tlsKey, listen, listenTls } = settings;
  if (clientAuth === "mtls" && clientCa === null) {
    throw new Misuse(
      'client_auth = "mtls" requires --client-ca',
      "berth tls init creates a site CA",
    );
  }
  if (listenTls !== null) {
    if (!isSamePort(listen, listenTls)) return;
    const hint = "choose another port for one of them, for example --listen-tls 0.0.0.0:8443";
    throw new Misuse(`--listen and --listen-tls use the same port ${listenTls.port}`, hint);
  }
  const files = { "client-ca": clientCa, "tls-cert": tlsCert, "tls-key": tlsKey };
  const unused = Object.entries(files).find(([, path]) => path !== null);
  if (unused !== undefined)
    throw new Misuse(`--${unused[0]} requires --listen-tls`, "add --listen-tls HOST:PORT");
}

/** Whether the server cannot listen on both. Port 0 is a different port each time. */
function isSamePort(a: ListenAddress, b: ListenAddress): boolean {
  if (a.port !== b.port || a.port === 0) return false;
  const hosts = [a.host, b.host];
  if (a.host === b.host || hosts.includes("::")) return true;
  return hosts.includes("0.0.0.0") && !hosts.some((host) => isIPv6(host));
}
