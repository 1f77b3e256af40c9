// A PostgreSQL server with a synchronous standby, controlled from a process of its own: starting and
// copying a server takes seconds, in which the proxies and clients of a test must go on.
import { atEnd } from "../support/suite-harness.ts";
import { DatabasePair } from "./database-pair.ts";

/** What can be called, by its name. */
type Method = "restart" | "failOver" | "rebuildStandby" | "suspend" | "resume";

interface Call {
  readonly method: Method;
  readonly argument?: string;
}

interface Reply {
  readonly primary: number;
  readonly standby: number;
  readonly error?: string;
}

/** The databases of a pair, as the test sees them. */
export class Databases {
  readonly #child: Bun.Subprocess;
  #reply = Promise.withResolvers<Reply>();
  #calls: Promise<unknown>;
  /** The ports of the servers. */
  ports: { readonly primary: number; readonly standby: number } = { primary: 0, standby: 0 };

  private constructor() {
    this.#child = Bun.spawn([process.execPath, import.meta.path], {
      stdio: ["ignore", "inherit", "inherit"],
      env: { ...process.env },
      ipc: (message) => this.#reply.resolve(message as Reply),
    });
    atEnd(() => this.#child.kill("SIGTERM"));
    this.#calls = this.#receive();
  }

  static async start(): Promise<Databases> {
    const databases = new Databases();
    await databases.#calls;
    return databases;
  }

  get url(): string {
    return `postgres://berth@127.0.0.1:${this.ports.primary}/postgres`;
  }

  restart(mode: "fast" | "immediate"): Promise<void> {
    return this.#call({ method: "restart", argument: mode });
  }

  failOver(end: "stops" | "hangs"): Promise<void> {
    return this.#call({ method: "failOver", argument: end });
  }

  rebuildStandby(): Promise<void> {
    return this.#call({ method: "rebuildStandby" });
  }

  suspend(): Promise<void> {
    return this.#call({ method: "suspend" });
  }

  resume(): Promise<void> {
    return this.#call({ method: "resume" });
  }

  /** One after the other. */
  async #call(call: Call): Promise<void> {
    const last = this.#calls;
    const calling = (async () => {
      await last;
      this.#reply = Promise.withResolvers();
      this.#child.send(call);
      await this.#receive();
    })();
    this.#calls = calling;
    await calling;
  }

  async #receive(): Promise<void> {
    const { error, ...ports } = await this.#reply.promise;
    if (error !== undefined) throw new Error(error);
    this.ports = ports;
  }
}

function serveCalls(): void {
  const databases = new DatabasePair();
  const portsNow = (): Reply => ({
    primary: databases.primary.port,
    standby: databases.standby.port,
  });
  process.on("disconnect", () => process.exit());
  process.on("message", ({ method, argument }: Call) => {
    try {
      (databases[method] as (argument: string | undefined) => void).call(databases, argument);
      process.send?.(portsNow());
    } catch (error) {
      process.send?.({ ...portsNow(), error: String(error) });
    }
  });
  process.send?.(portsNow());
}

if (import.meta.main) serveCalls();
