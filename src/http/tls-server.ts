import { steerConnections } from "../platform/shared-port.ts";
import {
  drain,
  createHandler,
  IDLE_SECONDS,
  SERVER_LIMITS,
  urlOf,
  type Listener,
  type ListenOptions,
} from "./server.ts";

/** PEM texts; a client CA asks every client for a certificate, and turns away those without. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  readonly clientCa: string | null;
}

export interface TlsListener extends Listener {
  /** From now on new connections get this one; requests under way end as they began. */
  readonly replaceCertificate: (certificate: Certificate) => void;
}

/** By then a connection that was kept has been told to close, or was idle for too long. */
const LINGER = (IDLE_SECONDS + 5) * 1_000;

interface TlsServer {
  readonly server: Bun.Server<undefined>;
  isReplaced: boolean;
}

/**
 * The runtime cannot change a certificate, so a second listener takes over on the same port: new
 * connections go to it alone, and those of the first are told to come again. The first one closes
 * when it has none left: one that closes at once resets whoever it had just let in. The folder's
 * lock keeps other servers off a port that can be shared.
 */
export function listenTls(
  { services, host, port, policy }: ListenOptions,
  certificate: Certificate,
): TlsListener {
  const { handler, endStreams } = createHandler(services, policy, true);
  const start = ({ cert, key, clientCa }: Certificate, on: number): TlsServer => {
    const asks = clientCa !== null && { ca: clientCa, requestCert: true, rejectUnauthorized: true };
    const server = Bun.serve({
      ...SERVER_LIMITS,
      hostname: host,
      port: on,
      reusePort: true,
      tls: { cert, key, ...asks },
      async fetch(request, from) {
        const response = await handler(request, from);
        if (listener.isReplaced) response.headers.set("connection", "close");
        return response;
      },
    });
    const listener = { server, isReplaced: false };
    return listener;
  };
  let current = start(certificate, port);
  const bound = current.server.port ?? port;
  /** In the order the system counts them. */
  const group = [current];
  const waiting = new Set<Timer>();
  const close = async (listener: TlsServer): Promise<void> => {
    // As the system does it: the last one takes the place of the one that goes.
    const last = group.pop();
    if (last !== undefined && last !== listener) group[group.indexOf(listener)] = last;
    const closed = drain(listener.server);
    steerConnections(bound, group.indexOf(current));
    await closed;
  };
  return {
    address: urlOf("https", host, bound),
    replaceCertificate(fresh) {
      const old = current;
      current = start(fresh, bound);
      group.push(current);
      steerConnections(bound, group.indexOf(current));
      old.isReplaced = true;
      // Whoever watches comes again, and meets the new one.
      endStreams();
      const timer = setTimeout(() => {
        waiting.delete(timer);
        void close(old);
      }, LINGER);
      waiting.add(timer);
    },
    stop: async () => {
      for (const timer of waiting) clearTimeout(timer);
      endStreams();
      await Promise.all(group.map(({ server }) => drain(server)));
    },
  };
}
