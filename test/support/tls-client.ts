// TLS clients that report the details of a connection, or that present an unexpected certificate.
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls";

export interface TlsReply {
  readonly status: number;
  readonly protocol: string | null;
  /** SHA-256 fingerprint of the server's certificate. */
  readonly certificate: string;
}

/** Sends one request on a new connection; rejects if the handshake fails. */
export function requestOnce(options: ConnectionOptions, host = "localhost"): Promise<TlsReply> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", servername: "localhost", ...options }, () => {
      socket.write(`GET /api/v4/health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    });
    socket.once("data", (part) => {
      resolve({
        status: parseStatus(part),
        protocol: socket.getProtocol(),
        certificate: readFingerprint(socket),
      });
      socket.destroy();
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the connection was closed without a response")));
  });
}

/**
 * Repeats a request on one connection until `onReply` returns false or a reply closes it; rejects if
 * the server closes it otherwise.
 */
export function requestRepeatedly(
  options: ConnectionOptions,
  pause: number,
  onReply: () => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const sendRequest = (): void => {
      socket.write("GET /api/v4/health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    };
    const socket = connect({ host: "127.0.0.1", servername: "localhost", ...options }, sendRequest);
    let text = "";
    socket.on("data", (part) => {
      text += String(part);
      if (!text.includes('"ok"}')) return;
      const isLast = /^connection: close/im.test(text);
      text = "";
      if (onReply() && !isLast) return void setTimeout(sendRequest, pause);
      resolve();
      socket.destroy();
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the connection was closed before the response")));
  });
}

const parseStatus = (part: string | Buffer): number => Number(String(part).slice(9, 12));

const readFingerprint = (socket: TLSSocket): string => socket.getPeerCertificate().fingerprint256;
