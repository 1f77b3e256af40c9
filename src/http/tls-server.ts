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

/** PEM texts. With a client CA, connections without a client certificate are rejected. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  readonly clientCa: string | null;
}

export interface TlsListener extends Listener {
  /** New connections get this certificate; open connections keep the previous one. */
  readonly replaceCertificate: (certificate: Certificate) => void;
}

/** By then every kept-alive connection got `Connection: close`, or reached the idle timeout. */
const LINGER_MS = (IDLE_SECONDS + 5) * 1_000;

interface TlsServer {
  readonly server: Bun.Server<undefined>;
  isReplaced: boolean;
}

/**
 * The runtime cannot change a certificate, so a second listener starts on the same port and gets
 * all new connections; replies of the first one close their connections. The first one stops when
 * it has none left: stopping at once would reset connections that it had just accepted. The port
 * can be shared, so the lock of the data folder is what keeps a second server away from it.
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
    const server = Bun.serve({
      ...SERVER_LIMITS,
      hostname: host,
      port: listenPort,
      reusePort: true,
      tls: { cert, key, ...clientCheck },
      async fetch(request, bunServer) {
        const response = await handler(request, bunServer);
        if (listener.isReplaced) response.headers.set("connection", "close");
        return response;
      },
    });
    const listener = { server, isReplaced: false };
    return listener;
  };
  let current = start(certificate, port);
  const boundPort = current.server.port ?? port;
  /** In the kernel's order of the sockets of this port. */
  const group = [current];
  const timers = new Set<Timer>();
  const close = async (listener: TlsServer): Promise<void> => {
    // As the kernel does it: the last socket takes the index of the one that closes.
    const last = group.pop();
    if (last !== undefined && last !== listener) group[group.indexOf(listener)] = last;
    const closed = drain(listener.server);
    steerConnections(boundPort, group.indexOf(current));
    await closed;
  };
  return {
    address: urlOf("https", host, boundPort),
    replaceCertificate(replacement) {
      const previous = current;
      current = start(replacement, boundPort);
      group.push(current);
      steerConnections(boundPort, group.indexOf(current));
      previous.isReplaced = true;
      // Viewers open their streams again, on the new listener.
      endStreams();
      const timer = setTimeout(() => {
        timers.delete(timer);
        void close(previous);
      }, LINGER_MS);
      timers.add(timer);
    },
    stop: async () => {
      for (const timer of timers) clearTimeout(timer);
      endStreams();
      await Promise.all(group.map(({ server }) => drain(server)));
    },
  };
}
