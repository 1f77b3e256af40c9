import type { Kind } from "../domain/state.ts";
import type { Services } from "../http/app.ts";
import type { ClientAuth } from "../http/gate.ts";
import {
  listen,
  listenOnSocket,
  probe,
  type Listening,
  type ListenOptions,
  type Policy,
} from "../http/server.ts";
import { listenTls, type Certificate } from "../http/tls-server.ts";
import type { LogMode } from "../http/watch.ts";
import type { Access } from "../operations/access.ts";
import { wallClock } from "../platform/clock.ts";
import { errorCode } from "../platform/disk.ts";
import { log } from "../platform/log.ts";
import { networkMatcher, siteNetworks } from "../platform/networks.ts";
import { Misuse } from "../platform/options.ts";
import type { StoreHealth } from "../store/store-options.ts";
import { openAppliance, socketIn } from "./appliance.ts";
import { DONE, Failure, isSet, listOf, stringOf, type Given } from "./command.ts";
import { doorsOf } from "./doors.ts";
import { parseListen } from "./listen.ts";
import { print, printWarning } from "./terminal.ts";
import { certificateView, readCertificate } from "./tls-files.ts";

export interface Server extends Services {
  /** The address applications use, as a URL. */
  readonly url: string;
  readonly tlsUrl: string | null;
  readonly folder: string;
}

/** Opens the folder, listens, lets `ready` speak, and runs until it is told to stop. */
export async function serveFolder(
  given: Given,
  folder: string,
  kind: Kind,
  prepare: (appliance: Services) => Promise<void>,
  ready: (server: Server) => Promise<void>,
): Promise<number> {
  const stopped = whenTold();
  const { host, port } = parseListen(stringOf(given, "listen") ?? "") ?? { host: "", port: 0 };
  const tls = parseListen(stringOf(given, "listen-tls") ?? "");
  const policy = policyOf(given, kind);
  checkTlsFlags(given, policy);
  const secure = tls === null ? null : { ...tls, certificate: readCertificate(given, folder) };
  // A port that cannot be had must not leave a new data folder behind.
  for (const { host: on, port: at } of [{ host, port }, ...(tls === null ? [] : [tls])]) {
    if (at !== 0) await bound(on, at, () => probe(on, at)).stop();
  }
  const appliance = await openAppliance({
    folder,
    named: stringOf(given, "identity"),
    kind,
    create: true,
    keepMonths: Number(stringOf(given, "history-keep-months") ?? 0),
    caps: {
      perUser: capOf(given, "max-slots-per-user"),
      perPeer: capOf(given, "max-slots-per-peer"),
    },
  });
  const { operations, access } = appliance;
  const services: Services = {
    ...appliance,
    doors: () => doorsOf({ ...asSet(given, policy), ...standingOf(access) }),
    certificate: () => secure && certificateView(secure.certificate, wallClock()),
  };
  const listeners: Listening[] = [];
  try {
    for (const note of operations.health().notes) printWarning(note);
    // Before anybody is served: a clock that was put right while this was off is followed at once.
    await appliance.timekeeping.tick();
    await prepare(appliance);
    const plain = bound(host, port, () => listen({ services, host, port, policy }));
    listeners.push(plain);
    const overTls =
      secure &&
      serveTls({ services, policy, ...secure }, secure, () => readCertificate(given, folder));
    if (overTls !== null) listeners.push(overTls);
    const socket = openSocket(services, folder, policy.log);
    if (socket !== null) listeners.push(socket);
    const tlsUrl = overTls?.address ?? null;
    await ready({ ...services, url: plain.address, tlsUrl, folder });
    await stopped;
    print("stopping");
  } finally {
    await Promise.all(listeners.map((listener) => listener.stop()));
    appliance.timekeeping.stop();
    await operations.close();
  }
  refuseUnfolded(folder, operations.health());
  print("stopped");
  return DONE;
}

/** Who may do what, as it was set. */
function policyOf(given: Given, kind: Kind): Policy {
  const isClient = clientNetworks(listOf(given, "client-networks"));
  const admins = listOf(given, "admin-networks");
  return {
    isClient,
    isAdmin: admins.length === 0 ? isClient : networkMatcher(admins),
    clientAuth: (stringOf(given, "client-auth") ?? "open") as ClientAuth,
    adminOpen: kind === "demo",
    allowPlain: isSet(given, "allow-plain-credentials"),
    names: listOf(given, "names").map((name) => name.toLowerCase()),
    log: (stringOf(given, "log") ?? "usual") as LogMode,
  };
}

const capOf = (given: Given, name: string): number | null =>
  Number(stringOf(given, name) ?? 0) || null;

/** A setting that only TLS could keep must not be dropped in silence. */
function checkTlsFlags(given: Given, { clientAuth }: Policy): void {
  if (clientAuth === "mtls" && stringOf(given, "client-ca") === null) {
    throw new Misuse('client_auth = "mtls" needs --client-ca', "berth tls init makes a site CA");
  }
  if (stringOf(given, "listen-tls") !== null) return;
  const idle = ["client-ca", "tls-cert", "tls-key"].find((name) => stringOf(given, name) !== null);
  if (idle !== undefined)
    throw new Misuse(`--${idle} needs --listen-tls`, "--listen-tls HOST:PORT");
}

const asSet = (given: Given, policy: Policy) => ({
  policy,
  plain: stringOf(given, "listen") ?? "",
  tls: stringOf(given, "listen-tls"),
  clientNetworks: listOf(given, "client-networks"),
  adminNetworks: listOf(given, "admin-networks"),
});

const standingOf = (access: Access) => ({ isClaimed: access.isClaimed(), access: access.list() });

/** With SIGHUP it reads its certificate again: a new one is used from then on, a bad one is not. */
function serveTls(
  options: ListenOptions,
  held: { certificate: Certificate },
  read: () => Certificate,
): Listening {
  const { host, port } = options;
  const listening = bound(host, port, () => listenTls(options, held.certificate));
  const again = (): void => {
    try {
      const fresh = read();
      if (certificateView(fresh, wallClock()).state === "ended") throw new Error("it has ended");
      listening.replace(fresh);
      held.certificate = fresh;
      log.info("the certificate was read again");
    } catch (error) {
      log.error("the certificate in use stays: the new one cannot be used", { error });
    }
  };
  process.on("SIGHUP", again);
  return {
    address: listening.address,
    stop: async () => {
      process.off("SIGHUP", again);
      await listening.stop();
    },
  };
}

/** Nothing is lost by it, but the state is not everything, and an operator may count on that. */
function refuseUnfolded(folder: string, { fault, checkpointError }: StoreHealth): void {
  if (fault === null && checkpointError === null) return;
  const why =
    fault?.code === "storage_full" ? "the disk is full" : (checkpointError ?? "the disk failed");
  throw new Failure(
    `stopped, but state.json in ${folder} is not up to date: ${why}`,
    "nothing that was answered is lost: the next start reads the rest from the journal",
  );
}

function whenTold(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => resolve());
  });
}

const clientNetworks = (networks: readonly string[]): ((address: string) => boolean) =>
  networks.length === 0 ? siteNetworks() : networkMatcher(networks);

function bound<T extends Listening>(host: string, port: number, start: () => T): T {
  try {
    return start();
  } catch (error) {
    const code = errorCode(error);
    if (code === "EADDRINUSE") {
      throw new Failure(
        `port ${port} on ${host} is in use`,
        "choose another with --listen HOST:PORT",
      );
    }
    if (code === "EACCES" || code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
      throw new Failure(`cannot listen on ${host}:${port} (${code})`, "check --listen HOST:PORT");
    }
    throw error;
  }
}

/** The longest path a unix socket can have, its closing zero counted. */
const SOCKET_PATH = 107;

function openSocket(services: Services, folder: string, mode: LogMode): Listening | null {
  const path = socketIn(folder);
  if (Buffer.byteLength(path) <= SOCKET_PATH) return listenOnSocket(services, path, mode);
  printWarning(
    `${folder} is too long a path for a socket: other berth commands cannot reach this server`,
  );
  return null;
}
