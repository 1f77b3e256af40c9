import { lookup } from "node:dns/promises";
import { rmSync, symlinkSync } from "node:fs";
import { isIP } from "node:net";
import type { Services } from "../../http/services.ts";
import {
  listen,
  listenOnSocket,
  probeAddress,
  type Listener,
  type ListenOptions,
  type AccessPolicy,
} from "../../http/server.ts";
import { listenForMetrics } from "../../http/metrics/metrics-listener.ts";
import { listenTls, type Certificate } from "../../http/tls-server.ts";
import type { LogMode } from "../../http/access/access-log.ts";
import { wallClock } from "../../platform/clock.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import { log } from "../../platform/log.ts";
import type { Environment } from "../../platform/environment.ts";
import { findListeningProcess } from "../../platform/network/ports.ts";
import { describeProcess } from "../../platform/system/processes.ts";
import { socketPath } from "./appliance.ts";
import { Failure } from "../frame/command.ts";
import { formatListenAddress, type ListenAddress } from "./listen-address.ts";
import { printWarning } from "../frame/terminal.ts";
import { certificateEnd } from "../tls/tls-files.ts";

/** The address of the TLS listener and its certificate, which a reload replaces. */
export interface TlsEndpoint extends ListenAddress {
  readonly readCertificate: () => Certificate;
  certificate: Certificate;
}

/** Throws if the server cannot listen on these addresses now. */
export async function probeAddresses(addresses: readonly (ListenAddress | null)[]): Promise<void> {
  for (const address of addresses) {
    if (address === null) continue;
    await checkHostName(address.host);
    if (address.port === 0) continue;
    await withListenErrors(address, () => probeAddress(address.host, address.port)).stop();
  }
}

/** Throws if no server could listen there, even as root and with the port free. */
export async function checkAddress(address: ListenAddress): Promise<void> {
  await checkHostName(address.host);
  try {
    await probeAddress(address.host, address.port).stop();
  } catch (error) {
    if (errorCode(error) === "EADDRNOTAVAIL") throw unavailableAddressError(address.host);
  }
}

/** The runtime's own error does not say that the host name is the cause. */
async function checkHostName(host: string): Promise<void> {
  if (isIP(host) !== 0) return;
  try {
    await lookup(host);
  } catch (error) {
    throw new Failure(
      `the host name ${host} cannot be resolved (${errorCode(error) ?? "no address"})`,
      "specify an address of this machine as HOST:PORT, for example 0.0.0.0:8080",
    );
  }
}

const unavailableAddressError = (host: string): Failure =>
  new Failure(
    `${host} is not an address of this machine (EADDRNOTAVAIL)`,
    "the command ip address lists the addresses; 0.0.0.0 listens on all of them",
  );

export const servePlain = (options: ListenOptions): Listener =>
  withListenErrors(options, () => listen(options));

/** Serves the metrics without a token, and nothing else. */
export const serveMetrics = (
  sources: Services,
  { serverNames, logMode }: AccessPolicy,
  address: ListenAddress,
): Listener =>
  withListenErrors(address, () => listenForMetrics({ ...address, sources, serverNames, logMode }));

export interface ReloadableTlsListener extends Listener {
  /** Reads the certificate again; a valid one replaces the current one, an invalid one does not. */
  readonly reload: () => void;
}

export function serveTls(
  services: Services,
  policy: AccessPolicy,
  endpoint: TlsEndpoint,
): ReloadableTlsListener {
  const options = { ...endpoint, services, policy };
  const listener = withListenErrors(endpoint, () => listenTls(options, endpoint.certificate));
  const reload = (): void => {
    try {
      const certificate = endpoint.readCertificate();
      if (certificateEnd(certificate) <= wallClock()) throw new Error("it has expired");
      listener.replaceCertificate(certificate);
      endpoint.certificate = certificate;
      log.info("certificate reloaded");
    } catch (error) {
      log.error("certificate reload failed: the previous one stays in use", { error });
    }
  };
  return { address: listener.address, stop: listener.stop, reload };
}

/** HOST:PORT, with the actual port if the configured one is 0. */
export function formatBoundAddress({ host, port }: ListenAddress, { address }: Listener): string {
  return formatListenAddress({ host, port: port === 0 ? Number(new URL(address).port) : port });
}

function withListenErrors<T extends Listener>({ host, port }: ListenAddress, start: () => T): T {
  try {
    return start();
  } catch (error) {
    const code = errorCode(error);
    if (code === "EADDRINUSE") {
      throw new Failure(
        `port ${port} on ${host} is in use by ${describeProcess(findListeningProcess(port))}`,
        "choose another port with --listen, --listen-tls or --metrics-listen HOST:PORT",
      );
    }
    throw listenFailure(host, port, code) ?? error;
  }
}

/** Null: the error is not caused by the operator's settings. */
function listenFailure(host: string, port: number, code: string | null): Failure | null {
  const address = formatListenAddress({ host, port });
  if (code === "EACCES") {
    const other = `${address.slice(0, -String(port).length)}8080`;
    return new Failure(
      `ports below 1024 require root: ${address}`,
      `choose another port, for example --listen ${other}; or allow it with sysctl net.ipv4.ip_unprivileged_port_start=${port}, which the service needs too`,
    );
  }
  return code === "EADDRNOTAVAIL" ? unavailableAddressError(host) : null;
}

/** The longest path of a unix socket, without its closing zero byte. */
const MAX_SOCKET_PATH = 107;

/** In the folder, or in the service manager's runtime folder with a link to it in the folder. */
export function listenOnAdminSocket(
  services: Services,
  folder: string,
  mode: LogMode,
  environment: Environment,
): Listener | null {
  const clientPath = socketPath(folder);
  const [runtime] = environment["RUNTIME_DIRECTORY"]?.split(":") ?? [];
  const path = runtime === undefined ? clientPath : socketPath(runtime);
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH) {
    printWarning(
      `the path ${folder} is too long for a socket: other berth commands cannot reach this server`,
    );
    return null;
  }
  try {
    // Before the server listens there: a dangling link has the same effect as none.
    if (path !== clientPath) {
      rmSync(clientPath, { force: true });
      symlinkSync(path, clientPath);
    }
    const listener = listenOnSocket(services, path, mode);
    if (path === clientPath) return listener;
    return {
      address: path,
      stop: async () => {
        await listener.stop();
        rmSync(clientPath, { force: true });
      },
    };
  } catch (error) {
    const code = errorCode(error);
    if (code === null) throw error;
    printWarning(
      `cannot create the socket ${clientPath} (${code}): the API and the web page work, but berth status, berth slots, berth license and all other commands on this folder cannot reach this server; fix the cause and restart the server`,
    );
    return null;
  }
}
