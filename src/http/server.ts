import { chmodSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { createApp, type Services } from "./app.ts";
import { socketGate, type Gate } from "./gate.ts";
import { withAccessLog, type LogMode } from "./access-log.ts";

export interface Listener {
  /** Where clients reach it, as a URL; for the socket, its path. */
  readonly address: string;
  readonly stop: () => Promise<void>;
}

/** Who may do what, on every listener but the socket. */
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
 * Larger bodies are refused by us, in JSON, before they are read; the runtime's own refusal is
 * empty.
 */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;
const DRAIN = 5_000;
export const IDLE_SECONDS = 60;

export function listen({ services, host, port, policy }: ListenOptions): Listener {
  const { handler, endStreams } = createHandler(services, policy, false);
  const server = Bun.serve({
    ...SERVER_LIMITS,
    hostname: host,
    port,
    // Shared ports are how two servers come to lend the same slots without ever noticing.
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

interface ReceivedRequest {
  readonly peer: string | undefined;
  readonly originalRequest: Request;
  readonly server: RequestServer;
}

export interface ListenerHandler {
  readonly handler: Handler;
  /** Of those who watch through this listener. */
  readonly endStreams: () => void;
}

export function createHandler(
  services: Services,
  { serverNames, logMode, ...policy }: AccessPolicy,
  isTls: boolean,
): ListenerHandler {
  const arrivals = new WeakMap<Request, ReceivedRequest>();
  const gate: Gate = {
    ...policy,
    peerOf: (request) => arrivals.get(request)?.peer ?? null,
    keepOpen(request) {
      const { originalRequest, server } = arrivals.get(request) ?? {};
      if (originalRequest === undefined) return () => {};
      server?.timeout(originalRequest, 0);
      return () => server?.timeout(originalRequest, IDLE_SECONDS);
    },
    isTrusted: false,
    isTls,
    serverNames: [...hostNames(), ...serverNames],
    access: services.access,
  };
  const app = createApp(services, gate);
  const fetch = withAccessLog((request) => app.fetch(request), logMode);
  const handler: Handler = (asked, server) => {
    const peer = server.requestIP(asked)?.address;
    const request = isTls ? withLongHostName(asked) : asked;
    arrivals.set(request, { peer, originalRequest: asked, server });
    return fetch(request);
  };
  return { handler, endStreams: () => services.streams.endStreamsOf(gate) };
}

/** Where the framework begins to look for the path behind https. */
const PATH_FROM = 11;

/** A server named in one or two letters, on port 443: its paths begin before that. */
function withLongHostName(request: Request): Request {
  const start = request.url.indexOf("/", "https://".length);
  if (start >= PATH_FROM) return request;
  return new Request(`https://localhost${request.url.slice(start)}`, request);
}

/**
 * Without it a command whose answer takes ten seconds is cut off. The runtime heeds it on sockets,
 * too, though its types have it elsewhere only.
 */
const NEVER_IDLE: object = { idleTimeout: 0 };

/**
 * For the command line on the same machine. Called with the folder's lock held: a socket there is
 * stale.
 */
export function listenOnSocket(services: Services, path: string, log: LogMode): Listener {
  // Made when somebody speaks: most starts are not followed by a command.
  let app: ReturnType<typeof createApp> | null = null;
  const fetch = withAccessLog(
    (request) => (app ??= createApp(services, socketGate)).fetch(request),
    log,
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

/** Takes an address and gives it back: can it be had? */
export function probeAddress(host: string, port: number): Listener {
  const server = Bun.serve({ hostname: host, port, reusePort: false, fetch: unavailableResponse });
  return { address: urlOf("http", host, port), stop: () => server.stop(true) };
}

const unavailableResponse = (): Response => new Response(null, { status: 503 });

/** Lets requests under way finish, but not for ever: somebody may never finish. */
export async function drain(server: Bun.Server<unknown>): Promise<void> {
  const finished = server.stop(false);
  await Promise.race([finished, Bun.sleep(DRAIN)]);
  await server.stop(true);
}

const hostNames = (): string[] => {
  const full = hostname().toLowerCase();
  return [full, full.split(".")[0] ?? full];
};

export function urlOf(scheme: string, host: string, port: number): string {
  const any = { "0.0.0.0": "127.0.0.1", "::": "[::1]" }[host];
  return `${scheme}://${any ?? (host.includes(":") ? `[${host}]` : host)}:${port}`;
}
