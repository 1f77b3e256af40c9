// A proxy between a client and a real server that breaks connections, delays, answers by itself and
// lies, as a test programs it. It records every request that it receives.
import { createServer, type Server, type Socket } from "node:net";
import { waitUntil } from "../../support/wait-until.ts";
import {
  formatReply,
  forwardRequest,
  takeRequest,
  type ProxiedReply,
  type ProxiedRequest,
} from "./proxy-http.ts";

/** What the proxy does with one request instead of forwarding it and its reply. */
export type Fault =
  /** Closes the connection; the server never sees the request. */
  | { readonly kind: "cut before" }
  /** The server executes the request, but its reply is lost. */
  | { readonly kind: "cut after" }
  /** As above, but the client gets the head and half of the body. */
  | { readonly kind: "cut body" }
  /** Never answers, and never closes the connection. */
  | { readonly kind: "hang" }
  /** The server executes the request, but the client waits in vain for its reply. */
  | { readonly kind: "hang after" }
  | { readonly kind: "delay"; readonly ms: number }
  /** Interim replies of a proxy before the reply. */
  | { readonly kind: "early hints" }
  /** Sends the reply byte by byte. */
  | { readonly kind: "drip"; readonly ms: number }
  /** The server never sees the request. */
  | { readonly kind: "answer"; readonly reply: OwnReply }
  /** These bytes instead of a reply; then the connection is closed. */
  | { readonly kind: "raw"; readonly bytes: string | Buffer }
  /** The second text again and again, until the client closes the connection. */
  | { readonly kind: "endless"; readonly head: string; readonly part: string };

export interface OwnReply {
  readonly status: number;
  /** The appliance that seems to answer; null: the header is missing; absent: the server's own. */
  readonly appliance?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  readonly body?: string | Readonly<Record<string, unknown>>;
}

export interface RecordedRequest extends ProxiedRequest {
  /** Milliseconds on the monotonic clock of the test. */
  readonly at: number;
  /** When the reply was sent, or the connection was cut; null: not yet. */
  answeredAt: number | null;
  /** The status that the client got; null: none. */
  status: number | null;
  /** What was sent of an endless reply, in bytes. */
  endlessBytes: number;
}

type Matches = (request: ProxiedRequest) => boolean;

interface Rule {
  readonly matches: Matches;
  readonly fault: Fault | (() => Fault | null);
  remaining: number;
}

type Rewrite = (reply: ProxiedReply, request: ProxiedRequest) => ProxiedReply;

export class FaultyProxy {
  readonly requests: RecordedRequest[] = [];
  readonly #target: string;
  /** By this factor shortened time-outs are longer. */
  readonly #timeScale: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #rules: Rule[] = [];
  readonly #rewrites: Rewrite[] = [];
  #isAway = false;
  #appliance = "";

  static async open(target: string, timeScale: number): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(target, timeScale);
    const { promise, resolve } = Promise.withResolvers<void>();
    proxy.#server.listen(0, "127.0.0.1", resolve);
    await promise;
    proxy.#appliance = await readAppliance(target);
    return proxy;
  }

  private constructor(target: string, timeScale: number) {
    this.#target = target;
    this.#timeScale = timeScale;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the proxy is closed");
    return `http://127.0.0.1:${address.port}`;
  }

  /** The next requests of an operation, or all (`*`), have a fault; at most `times` of them. */
  fail(operation: string, fault: Fault | (() => Fault | null), times = Infinity): void {
    const matches: Matches = (request) => operation === "*" || request.operation === operation;
    this.#rules.push({ matches, fault, remaining: times });
  }

  /** Answers the next requests of an operation by itself. */
  answer(operation: string, reply: OwnReply, times = Infinity): void {
    this.fail(operation, { kind: "answer", reply }, times);
  }

  /** From now on, requests have no fault; what was rewritten stays rewritten. */
  heal(): void {
    this.#rules.length = 0;
    this.#isAway = false;
  }

  /** Closes all connections, and each new one at once, as if no server ran. */
  goAway(): void {
    this.#isAway = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Accepts connections again. */
  comeBack(): void {
    this.#isAway = false;
  }

  /** Changes fields in the JSON replies with status 200 of an operation. */
  rewriteFields(
    operation: string,
    change: (fields: Record<string, unknown>) => Record<string, unknown>,
  ): void {
    this.rewrite((reply, request) => {
      if (request.operation !== operation || reply.status !== 200) return reply;
      const fields = JSON.parse(reply.body.toString()) as Record<string, unknown>;
      return { ...reply, body: Buffer.from(JSON.stringify(change(fields))) };
    });
  }

  /** Changes all replies of the server before they are sent. */
  rewrite(rewrite: Rewrite): void {
    this.#rewrites.push(rewrite);
  }

  /** The server seems to be another appliance; null: the header is missing. */
  claimAppliance(appliance: string | null): void {
    this.rewrite(({ headers: { "berth-appliance": _own, ...headers }, ...reply }) => ({
      ...reply,
      headers: { ...headers, ...(appliance !== null && { "berth-appliance": appliance }) },
    }));
  }

  /** Slots seem to end after so many seconds; the server keeps its own time. */
  shortenTimeout(seconds: number): void {
    const floating_timeout = (this.#timeScale * seconds) / 60;
    this.rewriteFields("register", (fields) => ({ ...fields, floating_timeout }));
  }

  /** As `shortenTimeout`, for slots of features. */
  shortenFeatureTimeout(seconds: number): void {
    const floating_timeout = (this.#timeScale * seconds) / 60;
    this.rewriteFields("featureRegister", (fields) => ({ ...fields, floating_timeout }));
  }

  requestsOf(operation: string): RecordedRequest[] {
    return this.requests.filter((request) => request.operation === operation);
  }

  count(operation: string): number {
    return this.requestsOf(operation).length;
  }

  /** Waits until so many requests of an operation were received. */
  async waitForCount(operation: string, count: number): Promise<void> {
    await waitUntil(() => this.count(operation) >= count, `${count} requests of ${operation}`);
  }

  close(): void {
    this.goAway();
    this.#server.close();
  }

  #accept(socket: Socket): void {
    // A client may close its connection at any time.
    socket.on("error", () => {});
    if (this.#isAway) return void socket.destroy();
    socket.setNoDelay(true);
    this.#sockets.add(socket);
    const gone = new AbortController();
    socket.on("close", () => {
      this.#sockets.delete(socket);
      gone.abort();
    });
    let received = Buffer.alloc(0);
    let previous = Promise.resolve();
    socket.on("data", (part: Buffer) => {
      received = Buffer.concat([received, part]);
      for (let taken = takeRequest(received); taken !== null; taken = takeRequest(received)) {
        const { request } = taken;
        received = Buffer.from(taken.rest);
        previous = previous.then(() => this.#handle(request, socket, gone.signal));
      }
    });
  }

  async #handle(request: ProxiedRequest, socket: Socket, gone: AbortSignal): Promise<void> {
    const record: RecordedRequest = {
      ...request,
      at: performance.now(),
      answeredAt: null,
      status: null,
      endlessBytes: 0,
    };
    this.requests.push(record);
    try {
      await this.#answer(record, socket, gone);
    } catch (error) {
      // The client or the server closed its connection.
      if (!gone.aborted) socket.destroy();
      if (!(error instanceof Error)) throw error;
    }
    record.answeredAt = performance.now();
  }

  async #answer(record: RecordedRequest, socket: Socket, gone: AbortSignal): Promise<void> {
    const fault = this.#chooseFault(record);
    if (fault?.kind === "cut before") return void socket.destroy();
    if (fault?.kind === "hang") return waitForEnd(gone);
    if (fault?.kind === "raw") return void socket.end(fault.bytes);
    if (fault?.kind === "endless") return sendEndlessly(fault, record, socket, gone);
    if (fault?.kind === "delay") await Bun.sleep(fault.ms);
    const reply =
      fault?.kind === "answer"
        ? makeReply(fault.reply, this.#appliance)
        : await this.#forward(record, fault === null ? gone : new AbortController().signal);
    if (fault?.kind === "cut after") return void socket.destroy();
    if (fault?.kind === "hang after") return waitForEnd(gone);
    const { bytes, bodyStart } = formatReply(reply);
    if (fault?.kind === "cut body") {
      const half = bodyStart + Math.floor((bytes.length - bodyStart) / 2);
      return void socket.end(bytes.subarray(0, half));
    }
    record.status = reply.status;
    if (fault?.kind === "early hints") socket.write(EARLY_HINTS.repeat(3));
    if (fault?.kind !== "drip") return void socket.write(bytes);
    for (const byte of bytes) {
      if (gone.aborted) return;
      socket.write(Buffer.of(byte));
      await Bun.sleep(fault.ms);
    }
  }

  async #forward(request: ProxiedRequest, signal: AbortSignal): Promise<ProxiedReply> {
    const reply = await forwardRequest(this.#target, request, signal);
    return this.#rewrites.reduce((changed, rewrite) => rewrite(changed, request), reply);
  }

  #chooseFault(request: ProxiedRequest): Fault | null {
    const rule = this.#rules.find(({ matches, remaining }) => remaining > 0 && matches(request));
    if (rule === undefined) return null;
    rule.remaining -= 1;
    return typeof rule.fault === "function" ? rule.fault() : rule.fault;
  }
}

const EARLY_HINTS =
  "HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\ncontent-length: 5\r\n\r\n";

/** A client that reads on must not fill the memory of the machine. */
const MAX_ENDLESS_BYTES = 64 * 2 ** 20;

async function sendEndlessly(
  { head, part }: Extract<Fault, { kind: "endless" }>,
  record: RecordedRequest,
  socket: Socket,
  gone: AbortSignal,
): Promise<void> {
  socket.write(head);
  while (!gone.aborted && record.endlessBytes < MAX_ENDLESS_BYTES) {
    record.endlessBytes += part.length;
    if (socket.write(part)) continue;
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.once("drain", resolve);
    gone.addEventListener("abort", () => resolve(), { once: true });
    await promise;
  }
  await waitForEnd(gone);
}

function waitForEnd(gone: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (gone.aborted) resolve();
  gone.addEventListener("abort", () => resolve());
  return promise;
}

/** The ID of the appliance that a server is. */
async function readAppliance(url: string): Promise<string> {
  const response = await fetch(`${new URL(url).origin}/api/v4/health`);
  return response.headers.get("berth-appliance") ?? "";
}

function makeReply(own: OwnReply, ownAppliance: string): ProxiedReply {
  const { status, headers = {}, body = "", appliance = ownAppliance } = own;
  const isText = typeof body === "string";
  const type = isText ? "text/plain" : "application/json";
  return {
    status,
    headers: {
      "content-type": type,
      ...(appliance !== null && { "berth-appliance": appliance }),
      ...headers,
    },
    body: Buffer.from(isText ? body : JSON.stringify(body)),
  };
}
