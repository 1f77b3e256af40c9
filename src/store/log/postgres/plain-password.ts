import type { Socket } from "node:net";
import { FolderRefused } from "../../folder/refusal.ts";

/** Of PostgreSQL's protocol: the type of a message, its length, and of this one a request. */
const AUTHENTICATION = "R".charCodeAt(0);
const HEADER_BYTES = 5;
const REQUEST_BYTES = HEADER_BYTES + 4;
const ACCEPTED = 0;
const PLAIN_PASSWORD = 3;

interface GuardedPassword {
  /** For the driver: empty after the server accepted the connection. */
  readonly read: () => string;
  /** Rejects if the password was requested as plain text; never resolves. */
  readonly refused: Promise<never>;
}

/**
 * Ends a connection on which the password is requested as plain text, before it is sent. Without a
 * check of its certificate, any program between this host and the database can be the server. Call
 * it before anything else reads the socket.
 */
export function guardPassword(socket: Socket, password: string): GuardedPassword {
  const { promise, reject } = Promise.withResolvers<never>();
  let received: Buffer = Buffer.alloc(0);
  let isAccepted = false;
  const read = (chunk: Buffer): void => {
    received = Buffer.concat([received, chunk]);
    while (received.length >= HEADER_BYTES) {
      if (received[0] === AUTHENTICATION) {
        if (received.length < REQUEST_BYTES) return;
        const request = received.readInt32BE(HEADER_BYTES);
        if (request === ACCEPTED) return accept();
        if (request === PLAIN_PASSWORD) return refuse();
      }
      // The length includes itself, but not the type.
      const end = 1 + Math.max(HEADER_BYTES - 1, received.readInt32BE(1));
      if (received.length < end) return;
      received = received.subarray(end);
    }
  };
  const stop = (): void => void socket.off("data", read);
  // The driver would also answer a request of an accepted connection.
  const accept = (): void => {
    isAccepted = true;
    stop();
  };
  const refuse = (): void => {
    stop();
    reject(plainPassword());
    socket.destroy();
  };
  socket.on("data", read);
  promise.catch(() => {});
  return { read: () => (isAccepted ? "" : password), refused: promise };
}

const plainPassword = (): FolderRefused =>
  new FolderRefused(
    "the server requests the password as plain text, and its certificate is not checked",
    "use scram-sha-256 in pg_hba.conf, or sslmode=verify-full in pair_log",
  );
