// An HTTP client with one keep-alive connection on a plain socket: much cheaper than `fetch`, and
// it can send any bytes. It sends the next request only after the response to the last one.
import { connect, type Socket } from "node:net";

export class KeepAliveClient {
  readonly #socket: Socket;
  readonly #host: string;
  #pendingStatus = Promise.withResolvers<number>();
  #text = "";

  static async open(url: string): Promise<KeepAliveClient> {
    const { hostname, port, host } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", () => resolve());
      socket.once("error", reject);
    });
    return new KeepAliveClient(socket, host);
  }

  private constructor(socket: Socket, host: string) {
    this.#socket = socket;
    this.#host = host;
    // A caller that waits gets the error; without a caller, a closed connection is not an error.
    this.#pendingStatus.promise.catch(() => {});
    socket.on("error", () => {});
    socket.on("close", () =>
      this.#pendingStatus.reject(new Error("the server closed the connection")),
    );
    socket.on("data", (part) => this.#read(part.toString("latin1")));
  }

  get(path: string): Promise<number> {
    return this.send("GET", path);
  }

  post(path: string, fields: Readonly<Record<string, unknown>>): Promise<number> {
    return this.send("POST", path, JSON.stringify(fields));
  }

  /** The status, once the whole response was received. */
  send(method: string, path: string, body: string | null = null): Promise<number> {
    const length = `Content-Length: ${Buffer.byteLength(body ?? "")}\r\n`;
    const type = body === null ? "" : `Content-Type: application/json\r\n${length}`;
    this.#pendingStatus = Promise.withResolvers<number>();
    this.#socket.write(
      `${method} ${path} HTTP/1.1\r\nHost: ${this.#host}\r\n${type}\r\n${body ?? ""}`,
    );
    return this.#pendingStatus.promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(part: string): void {
    this.#text += part;
    const body = this.#text.indexOf("\r\n\r\n") + 4;
    const length = /^content-length: (\d+)/im.exec(this.#text)?.[1];
    if (body < 4 || length === undefined || this.#text.length < body + Number(length)) return;
    const status = Number(this.#text.slice(9, 12));
    this.#text = "";
    this.#pendingStatus.resolve(status);
  }
}
