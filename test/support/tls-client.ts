// Clients of a TLS listener that look closely, or that show what they should not.
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls";

export interface TlsReply {
  readonly status: number;
  readonly protocol: string | null;
  /** SHA-256 of the certificate that was shown. */
  readonly certificate: string;
}

/** One request on a connection of its own; rejects when the two do not agree to talk. */
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
    socket.on("close", () => reject(new Error("closed without an answer")));
  });
}

/** Asks again and again on a connection it keeps until it is told to end; counts the answers. */
export function requestRepeatedly(
  options: ConnectionOptions,
  pause: number,
  until: () => boolean,
): Promise<number> {
  return new Promise((resolve, reject) => {
    let answers = 0;
    const ask = (): void => {
      if (until()) return end();
      socket.write("GET /api/v4/health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    };
    const end = (): void => {
      resolve(answers);
      socket.destroy();
    };
    const socket = connect({ host: "127.0.0.1", servername: "localhost", ...options }, ask);
    let text = "";
    socket.on("data", (part) => {
      text += String(part);
      if (!text.includes('"ok"}')) return;
      answers += 1;
      const isLast = /^connection: close/im.test(text);
      text = "";
      if (isLast) end();
      else setTimeout(ask, pause);
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("closed while it waited for an answer")));
  });
}

const parseStatus = (part: string | Buffer): number => Number(String(part).slice(9, 12));

const readFingerprint = (socket: TLSSocket): string => socket.getPeerCertificate().fingerprint256;
