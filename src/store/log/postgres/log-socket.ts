import { connect, isIP, type Socket } from "node:net";
import { checkServerIdentity, connect as connectTls } from "node:tls";
import { messageOfError } from "../../../platform/error-message.ts";
import { FolderRefused } from "../../folder/refusal.ts";

export interface SocketAddress {
  readonly host: string;
  readonly port: number;
}

/** How the connection to a server is encrypted. */
export interface TlsOptions {
  /** `prefer`: unless the server does not offer it. */
  readonly mode: "disable" | "prefer" | "require" | "verify-full";
  /** The certificate that signed the server's; null: those of the system. */
  readonly certificate: string | null;
}

/** The request of PostgreSQL's protocol to continue with TLS, and the answer that agrees. */
const TLS_REQUEST = Uint8Array.of(0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f);
const AGREED = "S";

/**
 * Connects to a database server, with TLS if the options say so. The driver would leave a socket
 * open for as long as its peer does not answer: this one is destroyed by the signal.
 */
export async function openSocket(
  address: SocketAddress,
  tls: TlsOptions,
  signal: AbortSignal,
): Promise<Socket> {
  const socket = connect({ ...address, noDelay: true });
  try {
    await waitFor(socket, "connect", signal);
    if (tls.mode === "disable") return socket;
    socket.write(TLS_REQUEST);
    // More than one byte was not sent by a server: it would be read as if TLS had protected it.
    const answer = String(await waitFor(socket, "data", signal));
    if (answer !== AGREED) {
      if (tls.mode === "prefer" && answer === "N") return socket;
      throw new FolderRefused(
        "the server does not offer TLS",
        "set ssl = on in postgresql.conf, or write sslmode=disable in pair_log if the network is trusted",
      );
    }
    return await encrypt(socket, address, tls, signal);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

async function encrypt(
  socket: Socket,
  { host }: SocketAddress,
  { mode, certificate }: TlsOptions,
  signal: AbortSignal,
): Promise<Socket> {
  const encrypted = connectTls({
    socket,
    ...(isIP(host) === 0 && { servername: host }),
    rejectUnauthorized: mode === "verify-full",
    ...(certificate !== null && { ca: certificate }),
    // With the address too, if the host is one.
    checkServerIdentity: (_name, peer) => checkServerIdentity(host, peer),
  });
  try {
    await waitFor(encrypted, "secureConnect", signal);
    return encrypted;
  } catch (error) {
    encrypted.destroy();
    throw isCertificateError(error)
      ? new FolderRefused(
          `the certificate of the server is not accepted: ${messageOfError(error)}`,
          "sslrootcert must be the certificate that signed it, and it must name the server's host",
        )
      : error;
  }
}

const isCertificateError = (error: unknown): boolean =>
  error instanceof Error && "code" in error && /CERT|SIGNATURE|ISSUER/.test(String(error.code));

/** The first value of an event, unless the socket fails or the signal aborts. */
function waitFor(
  socket: Socket,
  event: "connect" | "secureConnect" | "data",
  signal: AbortSignal,
): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const fail = (error: Error): void => reject(error);
  const close = (): void => reject(new Error("the server closed the connection"));
  const abort = (): void => reject(new Error("no answer"));
  socket.once(event, resolve).once("error", fail).once("close", close);
  signal.addEventListener("abort", abort);
  if (signal.aborted) abort();
  return promise.finally(() => {
    socket.off(event, resolve).off("error", fail).off("close", close);
    signal.removeEventListener("abort", abort);
  });
}
