// Requests that no library would send, as the bytes they are.
import { connect } from "node:net";
import { PATIENCE } from "./patience.ts";

/** How long it waits for something behind a whole answer, where nothing should come. */
const REST = 100;

/** Sends bytes as they are. All that came back until the server closed, or a whole answer was there. */
export function sendRaw(port: number, request: string | Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    const isHead = String(request.slice(0, 5)) === "HEAD ";
    let answer = "";
    let resting = setTimeout(() => {
      reject(new Error(`neither an answer nor an end: ${answer}`));
      socket.destroy();
    }, PATIENCE);
    socket.on("connect", () => socket.write(request));
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
      if (!isWhole(answer, isHead)) return;
      clearTimeout(resting);
      resting = setTimeout(() => socket.destroy(), REST);
    });
    socket.on("error", (error: Error & { code?: string }) => {
      // The server may hang up before it has read all we send; what it said before still counts.
      if (error.code !== "ECONNRESET" && error.code !== "EPIPE") reject(error);
    });
    socket.on("close", () => {
      clearTimeout(resting);
      resolve(Buffer.from(answer, "latin1").toString("utf8"));
    });
  });
}

/** One that does not tell its length ends with the connection. */
function isWhole(answer: string, isHead: boolean): boolean {
  const end = answer.indexOf("\r\n\r\n");
  if (end < 0) return false;
  const length = /^content-length: (\d+)/im.exec(answer.slice(0, end))?.[1];
  return isHead || (length !== undefined && answer.length >= end + 4 + Number(length));
}
