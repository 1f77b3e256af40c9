import { chmodSync, existsSync, unlinkSync } from "node:fs";
import { hostname } from "node:os";
import { createApp, type Services } from "./app.ts";
import { socketGate, type Gate } from "./gate.ts";

export interface Listening {
  /** Where clients reach it, as a URL; for the socket, its path. */
  readonly address: string;
  readonly stop: () => Promise<void>;
}

export interface PlainListener {
  readonly services: Services;
  readonly host: string;
  readonly port: number;
  readonly isClient: (address: string) => boolean;
  readonly adminOpen: boolean;
}

/**
 * Larger bodies are refused by us, in JSON, before they are read; the runtime's own refusal is
 * empty.
 */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;
const DRAIN = 5_000;
const IDLE_SECONDS = 60;

export function listen({ services, host, port, isClient, adminOpen }: PlainListener): Listening {
  const gate: Gate = {
    peerOf: (request) => server.requestIP(request)?.address ?? null,
    trusted: false,
    isClient,
    adminOpen,
    names: ownNames(),
  };
  const app = createApp(services, gate);
  const server = Bun.serve({
    hostname: host,
    port,
    // Shared ports are how two servers come to lend the same slots without ever noticing.
    reusePort: false,
    maxRequestBodySize: NO_LIMIT,
    idleTimeout: IDLE_SECONDS,
    fetch: app.fetch,
  });
  return { address: urlOf(host, server.port ?? port), stop: () => drain(server) };
}

/**
 * For the command line on the same machine. Called with the folder's lock held: a socket there is
 * stale.
 */
export function listenOnSocket(services: Services, path: string): Listening {
  // Made when somebody speaks: most starts are not followed by a command.
  let app: ReturnType<typeof createApp> | null = null;
  const fetch = (request: Request) => (app ??= createApp(services, socketGate)).fetch(request);
  if (existsSync(path)) unlinkSync(path);
  const server = Bun.serve({ unix: path, maxRequestBodySize: NO_LIMIT, fetch });
  chmodSync(path, 0o600);
  return {
    address: path,
    stop: async () => {
      await drain(server);
      if (existsSync(path)) unlinkSync(path);
    },
  };
}

/** Takes an address and gives it back: can it be had? */
export function probe(host: string, port: number): Listening {
  const server = Bun.serve({ hostname: host, port, reusePort: false, fetch: notYet });
  return { address: urlOf(host, port), stop: () => server.stop(true) };
}

const notYet = (): Response => new Response(null, { status: 503 });

/** Lets requests under way finish, but not for ever: an open stream would hold the server up. */
async function drain(server: Bun.Server<unknown>): Promise<void> {
  const finished = server.stop(false);
  await Promise.race([finished, Bun.sleep(DRAIN)]);
  await server.stop(true);
}

const ownNames = (): string[] => {
  const full = hostname().toLowerCase();
  return [full, full.split(".")[0] ?? full];
};

function urlOf(host: string, port: number): string {
  const any = { "0.0.0.0": "127.0.0.1", "::": "[::1]" }[host];
  return `http://${any ?? (host.includes(":") ? `[${host}]` : host)}:${port}`;
}
