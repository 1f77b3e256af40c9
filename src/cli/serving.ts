import type { Kind } from "../domain/state.ts";
import type { Services } from "../http/app.ts";
import { listen, listenOnSocket, probe, type Listening } from "../http/server.ts";
import { errorCode } from "../platform/disk.ts";
import { networkMatcher, siteNetworks } from "../platform/networks.ts";
import type { StoreHealth } from "../store/store.ts";
import { openAppliance, socketIn } from "./appliance.ts";
import { DONE, Failure, listOf, stringOf, type Given } from "./command.ts";
import { parseListen } from "./listen.ts";
import { print, printWarning } from "./terminal.ts";

export interface Server extends Services {
  /** The address applications use, as a URL. */
  readonly url: string;
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
  const isClient = clientNetworks(listOf(given, "client-networks"));
  // A port that cannot be had must not leave a new data folder behind.
  if (port !== 0) await bound(host, port, () => probe(host, port)).stop();
  const appliance = await openAppliance({
    folder,
    named: stringOf(given, "identity"),
    kind,
    create: true,
    keepMonths: Number(stringOf(given, "history-keep-months") ?? 0),
  });
  const { operations } = appliance;
  const listeners: Listening[] = [];
  try {
    for (const note of operations.health().notes) printWarning(note);
    // Before anybody is served: a clock that was put right while this was off is followed at once.
    await appliance.timekeeping.tick();
    await prepare(appliance);
    const adminOpen = kind === "demo";
    const plain = bound(host, port, () =>
      listen({ services: appliance, host, port, isClient, adminOpen }),
    );
    listeners.push(plain);
    const socket = openSocket(appliance, folder);
    if (socket !== null) listeners.push(socket);
    await ready({ ...appliance, url: plain.address, folder });
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

function bound(host: string, port: number, start: () => Listening): Listening {
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

function openSocket(services: Services, folder: string): Listening | null {
  const path = socketIn(folder);
  if (Buffer.byteLength(path) <= SOCKET_PATH) return listenOnSocket(services, path);
  printWarning(
    `${folder} is too long a path for a socket: other berth commands cannot reach this server`,
  );
  return null;
}
