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
 * The runtime cannot change a certificate, so a second server starts on the same port before the
 * first one stops. The first one still finishes its requests, but closes idle connections and those
 * that it has not accepted yet: their clients connect again. The port can be shared, so the lock of
 * the data folder is what keeps a second server away from it.
 */
export function listenTls(
  { services, host, port, policy }: ListenOptions,
  certificate: Certificate,
): TlsListener {
  const { handler, endStreams } = createHandler(services, policy, true);
  const start = ({ cert, key, clientCa }: Certificate, listenPort: number) => {
    const clientCheck = clientCa !== null && {
      ca: clientCa,
      requestCert: true,
      rejectUnauthorized: true,
    };
    return Bun.serve({
      ...SERVER_LIMITS,
      hostname: host,
      port: listenPort,
      reusePort: true,
      tls: { cert, key, ...clientCheck },
      fetch: handler,
    });
  };
  let current = start(certificate, port);
  const boundPort = current.port ?? port;
  /** Servers with an earlier certificate that still have requests. */
  const replaced = new Set<Bun.Server<undefined>>();
  return {
    address: urlOf("https", host, boundPort),
    replaceCertificate(replacement) {
      const previous = current;
      current = start(replacement, boundPort);
      replaced.add(previous);
      // Viewers open their streams again, on the new server.
      endStreams();
      void previous.stop(false).finally(() => replaced.delete(previous));
    },
    stop: async () => {
      endStreams();
      await Promise.all([current, ...replaced].map(drain));
    },
  };
}
