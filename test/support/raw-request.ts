// Sends raw bytes as HTTP requests, including requests that no library would send.
import { connect } from "node:net";
import { PATIENCE } from "./patience.ts";

/** How long to wait for unexpected bytes after a complete response. */
const EXTRA_BYTES_WAIT = 100;

/** Returns everything that was received until the server closed or a response was complete. */
export function sendRaw(port: number, request: string | Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    const isHead = String(request.slice(0, 5)) === "HEAD ";
    let received = "";
    let timer = setTimeout(() => {
      reject(new Error(`neither a complete response nor an end: ${received}`));
      socket.destroy();
    }, PATIENCE);
    socket.on("connect", () => socket.write(request));
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      if (!isComplete(received, isHead)) return;
      clearTimeout(timer);
      timer = setTimeout(() => socket.destroy(), EXTRA_BYTES_WAIT);
    });
    socket.on("error", (error: Error & { code?: string }) => {
      // The server may close before it has read the whole request; its response still counts.
      if (error.code !== "ECONNRESET" && error.code !== "EPIPE") reject(error);
    });
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(Buffer.from(received, "latin1").toString("utf8"));
    });
  });
}

/** A response without Content-Length ends with the connection. */
function isComplete(response: string, isHead: boolean): boolean {
  const end = response.indexOf("\r\n\r\n");
  if (end < 0) return false;
  const length = /^content-length: (\d+)/im.exec(response.slice(0, end))?.[1];
  return isHead || (length !== undefined && response.length >= end + 4 + Number(length));
}
