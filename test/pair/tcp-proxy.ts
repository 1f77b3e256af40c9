// A TCP proxy that a test can cut, freeze and delay, like a cable between two machines.
import { connect, createServer, type Server, type Socket } from "node:net";

/**
 * `open`: forwards. `cut`: closes all connections, and refuses new ones. `frozen`: forwards nothing,
 * closes nothing, as if packets were lost; what was sent meanwhile arrives later. `mute`: forwards
 * what clients send, but no answer.
 */
export type Link = "open" | "cut" | "frozen" | "mute";

interface Connection {
  readonly client: Socket;
  readonly server: Socket;
}

export class TcpProxy {
  readonly #listener: Server;
  readonly #connections = new Set<Connection>();
  readonly #parked = new Set<Socket>();
  /** The port on this machine to which it forwards. */
  target: number;
  /** Milliseconds that each part of an answer is delayed. */
  delayMs = 0;
  #link: Link = "open";

  private constructor(target: number) {
    this.target = target;
    this.#listener = createServer((client) => this.#accept(client));
  }

  static async start(
    target: number,
    { port = 0, address = "127.0.0.1" }: { readonly port?: number; readonly address?: string } = {},
  ): Promise<TcpProxy> {
    const proxy = new TcpProxy(target);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    proxy.#listener.once("error", reject).listen(port, address, resolve);
    await promise;
    return proxy;
  }

  get port(): number {
    const address = this.#listener.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  get link(): Link {
    return this.#link;
  }

  set link(link: Link) {
    this.#link = link;
    if (link === "cut") this.dropConnections();
    for (const connection of this.#connections) this.#applyLink(connection);
    if (link !== "open") return;
    for (const client of this.#parked) this.#forward(client);
    this.#parked.clear();
  }

  /** Closes all connections; what they did not forward yet is lost. */
  dropConnections(): void {
    for (const { client, server } of this.#connections) {
      client.destroy();
      server.destroy();
    }
    for (const client of this.#parked) client.destroy();
    this.#parked.clear();
  }

  stop(): void {
    this.dropConnections();
    this.#listener.close();
  }

  #accept(client: Socket): void {
    client.on("error", () => {});
    if (this.#link === "cut") client.destroy();
    else if (this.#link === "open" || this.#link === "mute") this.#forward(client);
    else {
      client.pause();
      this.#parked.add(client);
      client.once("close", () => this.#parked.delete(client));
    }
  }

  #forward(client: Socket): void {
    const server = connect({ host: "127.0.0.1", port: this.target, allowHalfOpen: true });
    const connection = { client, server };
    this.#connections.add(connection);
    client.setNoDelay(true);
    server.setNoDelay(true);
    server.on("error", () => client.destroy());
    client.on("data", (bytes: Buffer) => server.write(bytes));
    server.on("data", (bytes: Buffer) => this.#answer(client, bytes));
    client.on("end", () => server.end());
    server.on("end", () => client.end());
    client.on("close", () => server.end());
    server.on("close", () => {
      this.#connections.delete(connection);
      client.destroy();
    });
    client.resume();
    this.#applyLink(connection);
  }

  #answer(client: Socket, bytes: Uint8Array): void {
    if (this.delayMs === 0) client.write(bytes);
    else setTimeout(() => client.writable && client.write(bytes), this.delayMs);
  }

  #applyLink({ client, server }: Connection): void {
    if (this.#link === "frozen") client.pause();
    else client.resume();
    if (this.#link === "open") server.resume();
    else server.pause();
  }
}
