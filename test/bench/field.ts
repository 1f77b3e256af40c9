// The servers of one comparison, all up at once.
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atEnd } from "../faults/rig.ts";
import { buildBinary, startProgram, type Running } from "../support/binary.ts";
import { Books } from "./books.ts";
import { contactOf, PRODUCT, userOf } from "./crowd.ts";
import { run, type Load, type Round, type Subject } from "./load.ts";
import type { Yardsticks } from "./yardsticks.ts";

/** A folder of the benchmark's own on a real disk, gone at the end. */
export function benchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "berth-bench-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A site's folder in which so many hold a slot. */
export async function crowdIn(
  folder: string,
  registrations: number,
  ...where: readonly "apart"[]
): Promise<string> {
  const script = join(import.meta.dir, "crowd.ts");
  const child = Bun.spawn([process.execPath, script, folder, String(registrations), ...where]);
  if ((await child.exited) !== 0) throw new Error(`no crowd of ${registrations} could be made`);
  return folder;
}

/** All load comes from one address, which may write as much as it can. */
const LISTEN = ["--listen", "127.0.0.1:0", "--audit-budget", "0"];

/** A server with what it must have acknowledged; of one that lends nothing, without. */
export class Server implements Subject {
  readonly name: string;
  readonly books: Books | null;
  readonly users: number;
  readonly #running: Running;

  static berth(folder: string, users: number): Promise<Server> {
    return Server.lending("berth", [buildBinary()], folder, users);
  }

  static async lending(
    name: string,
    program: readonly string[],
    folder: string,
    users: number,
  ): Promise<Server> {
    const running = await startProgram([...program, "serve", "--data", folder, ...LISTEN]);
    return new Server(name, running, users, new Books(running.url, users));
  }

  static async constant(name: string, program: readonly string[], users: number): Promise<Server> {
    return new Server(name, await startProgram(program), users, null);
  }

  private constructor(name: string, running: Running, users: number, books: Books | null) {
    this.name = name;
    this.#running = running;
    this.users = users;
    this.books = books;
    atEnd(() => running.signal("SIGKILL"));
  }

  get url(): string {
    return this.#running.url;
  }

  get pid(): number {
    return this.#running.pid;
  }

  /** One run, entered in its books. */
  async run(load: Omit<Load, "users">): Promise<Round> {
    const round = await run(this, { ...load, users: this.users });
    const what = `${load.kind} at ${load.connections} connections, ${this.name}`;
    if (this.books !== null) await this.books.enter(load.kind, what, round);
    else if (Object.keys(round.errors).length > 0) {
      throw new Error(`${what}: ${JSON.stringify(round.errors)}`);
    }
    return round;
  }

  kill(): Promise<void> {
    return this.#running.kill();
  }
}

export interface Field {
  readonly berth: Server;
  readonly ceiling: Server;
  readonly raw: Server;
  readonly elysia: Server;
  readonly sqlite: Server;
}

/** Berth and what it is held against, with the same crowd. */
export async function openField(yardsticks: Yardsticks, users: number): Promise<Field> {
  const folder = benchFolder();
  const own = await crowdIn(join(folder, "berth"), users);
  const copy = join(folder, "ceiling");
  cpSync(own, copy, { recursive: true });
  const berth = await Server.berth(own, users);
  const bytes = String(await answerBytes(berth.url));
  const tables = join(folder, "sqlite");
  mkdirSync(tables);
  return {
    berth,
    ceiling: await Server.lending("ceiling", [yardsticks.ceiling], copy, users),
    raw: await Server.constant("raw", [yardsticks.raw, bytes], users),
    elysia: await Server.constant("elysia", [yardsticks.elysia, bytes], users),
    sqlite: await Server.constant("sqlite", [yardsticks.sqlite, bytes, tables], users),
  };
}

/** How long the answer to a heartbeat is. */
export async function answerBytes(url: string): Promise<number> {
  const { hostname: os_hostname, ip: ip_local, info: user_info } = contactOf(0);
  const fields = { product: PRODUCT, user: userOf(0), os_hostname, ip_local, user_info };
  const response = await fetch(`${url}/api/v4/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(fields),
  });
  if (response.status !== 200) throw new Error(`a heartbeat was answered ${response.status}`);
  return (await response.arrayBuffer()).byteLength;
}
