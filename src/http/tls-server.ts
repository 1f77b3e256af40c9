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

/** A server with one certificate. */
interface TlsServer {
  readonly server: Bun.Server<undefined>;
  readonly clientCa: string | null;
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
): TlsListener {
  const { handler, endStreams } = createHandler(services, policy, true);
  const start = ({ cert, key, clientCa }: Certificate, listenPort: number): TlsServer => {
    const clientCheck = clientCa !== null && {
      ca: clientCa,
      requestCert: true,
      rejectUnauthorized: true,
    };
    const finish = (response: Response): Response => {
      if (started.isReplaced) response.headers.set("connection", "close");
      return response;
    };
    const started: TlsServer = {
      clientCa,
      isReplaced: false,
      server: Bun.serve({
        ...SERVER_LIMITS,
        hostname: host,
        port: listenPort,
        reusePort: true,
        tls: { cert, key, ...clientCheck },
        fetch(request, server) {
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
      endStreams();
      await Promise.all([current, ...replaced].map(({ server }) => drain(server)));
    },
  };
}
