import { constants } from "node:crypto";
import {
  drain,
  createHandler,
  SERVER_LIMITS,
  urlOf,
  type Listener,
  type ListenOptions,
} from "./server.ts";

/** PEM texts. With a client CA, connections without a client certificate are rejected. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  readonly clientCa: string | null;
}

export interface TlsListener extends Listener {
  /** New connections get this certificate; requests under way keep the previous one. */
  readonly replaceCertificate: (certificate: Certificate) => void;
}

/**
 * The runtime checks a client certificate when a connection opens, and shows it to nobody later. So
 * connections end after this time, and an expired certificate with them.
 */
const MAX_CLIENT_CONNECTION_MS = 5 * 60_000;

/** A server with one certificate. */
interface TlsServer {
  readonly server: Bun.Server<undefined>;
  readonly clientCa: string | null;
  readonly connections: ConnectionAges;
  /** Another one serves new connections. */
  isReplaced: boolean;
}

/**
 * The runtime cannot change a certificate, so a second server starts on the same port before the
 * first one stops. The first one still finishes its requests and closes their connections. It
 * closes idle connections at once, and those that it has not accepted yet: their clients connect
 * again. The port can be shared, so the lock of the data folder is what keeps a second server away
 * from it.
 */
export function listenTls(
  { services, host, port, policy }: ListenOptions,
  certificate: Certificate,
  maxClientConnectionMs = MAX_CLIENT_CONNECTION_MS,
): TlsListener {
  const { handler, endStreams } = createHandler(services, policy, true);
  const start = ({ cert, key, clientCa }: Certificate, listenPort: number): TlsServer => {
    const connections = new ConnectionAges(maxClientConnectionMs);
    const clientCheck = clientCa !== null && {
      ca: clientCa,
      requestCert: true,
      rejectUnauthorized: true,
      // A TLS session that is continued is not checked again.
      secureOptions: constants.SSL_OP_NO_TICKET,
    };
    const started: TlsServer = {
      clientCa,
      connections,
      isReplaced: false,
      server: Bun.serve({
        ...SERVER_LIMITS,
        hostname: host,
        port: listenPort,
        reusePort: true,
        tls: { cert, key, ...clientCheck },
        fetch(request, server) {
          const isOld = clientCa !== null && connections.isOld(server.requestIP(request));
          const finish = (response: Response): Response => {
            if (isOld || started.isReplaced) response.headers.set("connection", "close");
            return response;
          };
          const reply = handler(request, server);
          return reply instanceof Promise ? reply.then(finish) : finish(reply);
        },
      }),
    };
    return started;
  };
  let current = start(certificate, port);
  const boundPort = current.server.port ?? port;
  /** Servers with an earlier certificate that still have requests. */
  const replaced = new Set<TlsServer>();
  const renewal = setInterval(() => {
    if (current.clientCa === null) return;
    current.connections.forgetEnded();
    // Viewers open their streams again, on a new connection.
    endStreams();
  }, maxClientConnectionMs);
  return {
    address: urlOf("https", host, boundPort),
    replaceCertificate(replacement) {
      const previous = current;
      current = start(replacement, boundPort);
      previous.isReplaced = true;
      replaced.add(previous);
      endStreams();
      void previous.server.stop(false).finally(() => replaced.delete(previous));
      // Certificates of another CA are no longer accepted: their holders get no time to go on.
      for (const { server, clientCa } of replaced) {
        if (clientCa !== replacement.clientCa) void drain(server);
      }
    },
    stop: async () => {
      clearInterval(renewal);
      endStreams();
      await Promise.all([current, ...replaced].map(({ server }) => drain(server)));
    },
  };
}

/** How long each connection has been in use. The runtime shows requests and their peers only. */
class ConnectionAges {
  readonly #maxMs: number;
  /** When the first request of a connection came, by the address and the port of its peer. */
  readonly #startedAt = new Map<string, number>();

  constructor(maxMs: number) {
    this.#maxMs = maxMs;
  }

  isOld(peer: { readonly address: string; readonly port: number } | null): boolean {
    if (peer === null) return true;
    const name = `${peer.address} ${peer.port}`;
    const now = performance.now();
    const startedAt = this.#startedAt.get(name);
    if (startedAt === undefined) this.#startedAt.set(name, now);
    return startedAt !== undefined && now - startedAt >= this.#maxMs;
  }

  /** A connection that has not ended after twice the time is new again with its next request. */
  forgetEnded(): void {
    const limit = performance.now() - 2 * this.#maxMs;
    for (const [name, startedAt] of this.#startedAt) {
      if (startedAt < limit) this.#startedAt.delete(name);
    }
  }
}
