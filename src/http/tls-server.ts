import { steer } from "../platform/shared-port.ts";
import {
  drain,
  handle,
  IDLE_SECONDS,
  LIMITS,
  urlOf,
  type Listening,
  type ListenOptions,
} from "./server.ts";

/** PEM texts; a client CA asks every client for a certificate, and turns away those without. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  readonly clientCa: string | null;
}

export interface TlsListening extends Listening {
  /** From now on new connections get this one; requests under way end as they began. */
  readonly replace: (certificate: Certificate) => void;
}

/** By then a connection that was kept has been told to close, or was idle for too long. */
const LINGER = (IDLE_SECONDS + 5) * 1_000;

interface Listener {
  readonly server: Bun.Server<undefined>;
  leaving: boolean;
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
): TlsListening {
  const { handler, endStreams } = handle(services, policy, true);
  const start = ({ cert, key, clientCa }: Certificate, on: number): Listener => {
    const asks = clientCa !== null && { ca: clientCa, requestCert: true, rejectUnauthorized: true };
    const server = Bun.serve({
      ...LIMITS,
      hostname: host,
      port: on,
      reusePort: true,
      tls: { cert, key, ...asks },
      async fetch(request, from) {
        const response = await handler(request, from);
        if (listener.leaving) response.headers.set("connection", "close");
        return response;
      },
    });
    const listener = { server, leaving: false };
    return listener;
  };
  let current = start(certificate, port);
  const bound = current.server.port ?? port;
  /** In the order the system counts them. */
  const group = [current];
  const waiting = new Set<Timer>();
  const close = async (listener: Listener): Promise<void> => {
    // As the system does it: the last one takes the place of the one that goes.
    const last = group.pop();
    if (last !== undefined && last !== listener) group[group.indexOf(listener)] = last;
    const closed = drain(listener.server);
    steer(bound, group.indexOf(current));
    await closed;
  };
  return {
    address: urlOf("https", host, bound),
    replace(fresh) {
      const old = current;
      current = start(fresh, bound);
      group.push(current);
      steer(bound, group.indexOf(current));
      old.leaving = true;
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
