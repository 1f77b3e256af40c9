import { chmodSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { createApp } from "./app.ts";
import { socketGate, type Gate } from "./access/gate.ts";
import { WaitingCount } from "./access/waiting-count.ts";
import { withAccessLog, type LogMode } from "./access/access-log.ts";
import { compressReply } from "./compress.ts";
import type { Services } from "./services.ts";

export interface Listener {
  /** URL for clients; of the unix socket, its path. */
  readonly address: string;
  readonly stop: () => Promise<void>;
}

/** The access rules of every listener except the socket. */
export type AccessPolicy = Pick<
  Gate,
  "isClient" | "isAdmin" | "clientAuth" | "adminOpen" | "allowPlain"
> & { readonly serverNames: readonly string[]; readonly logMode: LogMode };

export interface ListenOptions {
  readonly services: Services;
  readonly host: string;
  readonly port: number;
  readonly policy: AccessPolicy;
}

/**
 * Bodies that are too large are refused by the routes, in JSON and before they are read: a refusal
 * by the runtime would have no body.
 */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;
const DRAIN_MS = 5_000;
export const IDLE_SECONDS = 60;

export function listen({ services, host, port, policy }: ListenOptions): Listener {
  const { handler, endStreams } = createHandler(services, policy, false);
  const server = Bun.serve({
    ...SERVER_LIMITS,
    hostname: host,
    port,
    // On a shared port, two servers could lend the same slots without noticing each other.
    reusePort: false,
    fetch: handler,
  });
  return {
    address: urlOf("http", host, server.port ?? port),
    stop: () => {
      endStreams();
      return drain(server);
    },
  };
}

export const SERVER_LIMITS = { maxRequestBodySize: NO_LIMIT, idleTimeout: IDLE_SECONDS };

type RequestServer = Pick<Bun.Server<unknown>, "requestIP" | "timeout">;

export type Handler = (request: Request, server: RequestServer) => Response | Promise<Response>;

export interface ListenerHandler {
  readonly handler: Handler;
  /** Ends the status streams of this listener. */
  readonly endStreams: () => void;
}

export function createHandler(
  services: Services,
  { serverNames, logMode, ...policy }: AccessPolicy,
  isTls: boolean,
): ListenerHandler {
  let server: RequestServer | null = null;
  /** Requests that were replaced; nearly none is. */
  const originals = new WeakMap<Request, Request>();
  const originalOf = (request: Request): Request =>
    isTls ? (originals.get(request) ?? request) : request;
  const waitingCount = new WaitingCount();
  const gate: Gate = {
    ...policy,
    waitingCount,
    peerOf: (request) => server?.requestIP(originalOf(request))?.address ?? null,
    keepOpen(request) {
      const original = originalOf(request);
      server?.timeout(original, 0);
      return () => server?.timeout(original, IDLE_SECONDS);
    },
    isTrusted: false,
    isTls,
    serverNames: [...hostNames(), ...serverNames],
    access: services.access,
  };
  const app = createApp(services, gate);
  const fetch = withAccessLog(
    (request) => compressReply(request, app.fetch(request)),
    logMode,
    services.requestDurations,
    waitingCount,
  );
  const handler: Handler = (originalRequest, listener) => {
    server = listener;
    if (!isTls) return fetch(originalRequest);
    const request = withLongHostName(originalRequest);
    if (request !== originalRequest) originals.set(request, originalRequest);
    return fetch(request);
  };
  return { handler, endStreams: () => services.streams.endStreamsOf(gate) };
}

/** The framework searches the path of an https URL from this character on. */
const PATH_SEARCH_START = 11;

/** With a host name of one or two letters on port 443, the path begins before that character. */
function withLongHostName(request: Request): Request {
  const start = request.url.indexOf("/", "https://".length);
  if (start >= PATH_SEARCH_START) return request;
  return new Request(`https://localhost${request.url.slice(start)}`, request);
}

/**
 * Without this, a command whose reply takes ten seconds is disconnected. The runtime supports the
 * option on unix sockets, but its types do not have it there.
 */
const NEVER_IDLE: object = { idleTimeout: 0 };

/**
 * For the command line on the same machine. The caller holds the lock of the data folder, so an
 * existing socket file is stale.
 */
export function listenOnSocket(services: Services, path: string, logMode: LogMode): Listener {
  // Created with the first request: after most starts no command follows.
  let app: ReturnType<typeof createApp> | null = null;
  const fetch = withAccessLog(
    (request) => (app ??= createApp(services, socketGate)).fetch(request),
    logMode,
    services.requestDurations,
    socketGate.waitingCount,
  );
  rmSync(path, { force: true });
  const server = Bun.serve({
    ...NEVER_IDLE,
    unix: path,
    maxRequestBodySize: NO_LIMIT,
    fetch: (request) => fetch(request),
  });
  chmodSync(path, 0o600);
  return {
    address: path,
    stop: async () => {
      services.streams.endStreamsOf(socketGate);
      await drain(server);
      rmSync(path, { force: true });
    },
  };
}

/** Listens on an address, to find out whether it is available. */
export function probeAddress(host: string, port: number): Listener {
  const server = Bun.serve({ hostname: host, port, reusePort: false, fetch: unavailableResponse });
  return { address: urlOf("http", host, port), stop: () => server.stop(true) };
}

const unavailableResponse = (): Response => new Response(null, { status: 503 });

/** Waits for open requests, but not forever: a client may never finish its request. */
export async function drain(server: Bun.Server<unknown>): Promise<void> {
  const finished = server.stop(false);
  await Promise.race([finished, Bun.sleep(DRAIN_MS)]);
  await server.stop(true);
}

/** The names of this machine. */
export const hostNames = (): string[] => {
  const full = hostname().toLowerCase();
  return [full, full.split(".")[0] ?? full];
};

export function urlOf(scheme: string, host: string, port: number): string {
  const anyAddress = { "0.0.0.0": "127.0.0.1", "::": "[::1]" }[host];
  return `${scheme}://${anyAddress ?? (host.includes(":") ? `[${host}]` : host)}:${port}`;
}
