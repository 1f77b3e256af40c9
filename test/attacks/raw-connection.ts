// A connection that sends any bytes, and reads the answer.
import { connect, type Socket } from "node:net";
import { PATIENCE } from "../support/patience.ts";

export interface RawAnswer {
  readonly status: number;
  /** Status line and headers, unchanged. */
  readonly head: string;
  readonly body: string;
  readonly ms: number;
}

const LAST_CHUNK = "\r\n0\r\n\r\n";

/** Sends one request at a time; reconnects for the next one if the server closed the connection. */
export class RawConnection {
  readonly #port: number;
  #socket: Socket | null = null;
  #parts: Buffer[] = [];
  #size = 0;
  #needed = 0;
  #hasNoBody = false;
  #waiting: PromiseWithResolvers<string | null> | null = null;

  constructor(port: number) {
    this.#port = port;
  }

  /** Null: no complete answer came before the connection ended or the time limit. */
  async send(bytes: Uint8Array, hasNoBody = false): Promise<RawAnswer | null> {
    const socket = (this.#socket ??= await this.#open());
    this.#hasNoBody = hasNoBody;
    this.#waiting = Promise.withResolvers();
    const started = performance.now();
    socket.write(bytes);
    const timeout = setTimeout(() => this.#end(), PATIENCE);
    const text = await this.#waiting.promise;
    clearTimeout(timeout);
    const ms = performance.now() - started;
    this.#waiting = null;
    if (text === null) return null;
    const split = text.indexOf("\r\n\r\n");
    const head = text.slice(0, split);
    // The rest of a request that was refused half read must not be taken for the next one.
    if (/^connection: close/im.test(head)) this.close();
    return { status: Number(head.slice(9, 12)), head, body: text.slice(split + 4), ms };
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = null;
    this.#parts = [];
    this.#size = 0;
    this.#needed = 0;
  }

  #open(): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: "127.0.0.1", port: this.#port, noDelay: true });
      socket.once("connect", () => resolve(socket));
      socket.on("error", reject);
      socket.on("data", (part: Buffer) => this.#socket === socket && this.#read(part));
      socket.on("close", () => this.#socket === socket && this.#end());
    });
  }

  #end(): void {
    this.close();
    this.#waiting?.resolve(null);
  }

  #read(part: Buffer): void {
    this.#parts.push(part);
    this.#size += part.length;
    if (this.#needed === 0) this.#needed = this.#measure();
    if (this.#needed === 0 || (this.#size < this.#needed && !this.#hasLastChunk())) return;
    const text = Buffer.concat(this.#parts).toString("utf8");
    this.#parts = [];
    this.#size = 0;
    this.#needed = 0;
    this.#waiting?.resolve(text);
  }

  /** The length of the answer; 0: its head is not complete yet; Infinity: it is chunked. */
  #measure(): number {
    const text = Buffer.concat(this.#parts).toString("latin1");
    const split = text.indexOf("\r\n\r\n");
    if (split < 0) return 0;
    if (this.#hasNoBody) return split + 4;
    const head = text.slice(0, split);
    if (/^transfer-encoding: chunked/im.test(head)) return Infinity;
    const length = /^content-length: (\d+)/im.exec(head)?.[1];
    return split + 4 + Number(length ?? 0);
  }

  /** Chunked answers are JSON, which cannot contain this line. */
  #hasLastChunk(): boolean {
    const end = Buffer.concat(this.#parts.slice(-LAST_CHUNK.length)).subarray(-LAST_CHUNK.length);
    return this.#needed === Infinity && end.toString("latin1") === LAST_CHUNK;
  }
}
