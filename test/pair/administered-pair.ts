// Two hosts on one machine, which are called as an administrator does. The first one leads first.
import { cpSync } from "node:fs";
import { join } from "node:path";
import { LogConnection } from "../../src/store/log/postgres/log-connection.ts";
import { createLog } from "../../src/store/log/postgres/schema.ts";
import { findFreePorts } from "../support/free-ports.ts";
import { startBinary, type ServerProcess } from "../support/binary.ts";
import { makePairFolder } from "../support/pair-folder.ts";
import { atEnd, makeTempFolder } from "../support/suite-harness.ts";
import { waitUntil } from "../support/wait-until.ts";
import type { PostgresCluster } from "./postgres-cluster.ts";
import { createDatabase, PATIENT } from "./test-databases.ts";

export const ADMIN = "/api/admin/v1";

const LOG_ID = "log of the test";
/** Of both hosts: they are on one machine. */
const IDENTITY = "machine of the test";
/** A statement has half of it: less would fail on a busy machine. */
const TAKEOVER_SECONDS = "6";
const POLL = { maxPause: 50 };

export interface Host {
  readonly name: string;
  readonly folder: string;
  readonly url: string;
}

interface Reply {
  readonly status: number;
  readonly reply: Record<string, unknown>;
}

export const tokenOf = ({ token }: Record<string, unknown>): string => String(token);

export class AdministeredPair {
  readonly #logUrl: string;
  readonly #hosts: readonly [Host, Host];
  readonly #processes = new Map<Host, ServerProcess>();
  readonly database: string;
  leader: Host;

  static async start(cluster: PostgresCluster): Promise<AdministeredPair> {
    const { name: database, url } = await createDatabase(cluster);
    const pair = new AdministeredPair(database, url.text, makeTempFolder());
    const [alpha, beta] = pair.#hosts;
    const hardware = [{ kind: "named", value: IDENTITY }] as const;
    const terms = { product: "cad", slots: 3 };
    const log = await makePairFolder(alpha.folder, terms, { log: LOG_ID, hardware });
    cpSync(alpha.folder, beta.folder, { recursive: true });
    const connection = new LogConnection({ ...PATIENT, url });
    await createLog(connection, { id: LOG_ID, ...log });
    connection.close();
    await pair.#startHost(alpha);
    await pair.#waitForLeader(alpha);
    await pair.#startHost(beta);
    await pair.#waitForStandby();
    return pair;
  }

  private constructor(database: string, logUrl: string, root: string) {
    this.database = database;
    this.#logUrl = logUrl;
    const [first = 0, second = 0] = findFreePorts(2);
    const makeHost = (name: string, port: number): Host => ({
      name,
      folder: join(root, name),
      url: `http://127.0.0.1:${port}`,
    });
    this.#hosts = [makeHost("alpha", first), makeHost("beta", second)];
    [this.leader] = this.#hosts;
  }

  get standby(): Host {
    const [alpha, beta] = this.#hosts;
    return this.leader === alpha ? beta : alpha;
  }

  /** Kills the leader, and starts it again when the other host leads. */
  async killLeader(): Promise<void> {
    const killed = this.leader;
    const exited = this.#processes.get(killed)?.kill();
    await this.#waitForLeader(this.standby);
    await exited;
    await this.#startHost(killed);
    await this.#waitForStandby();
  }

  /** Calls the leader. */
  async call(path: string, headers: Record<string, string>, body?: object): Promise<Reply> {
    const response = await fetch(`${this.leader.url}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { "content-type": "application/json", ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const reply = (await response.json()) as Record<string, unknown>;
    return { status: response.status, reply };
  }

  async callOrThrow(
    path: string,
    headers: Record<string, string>,
    body?: object,
  ): Promise<Record<string, unknown>> {
    const { status, reply } = await this.call(path, headers, body);
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(reply)}`);
    return reply;
  }

  async startSession(headers: Record<string, string>): Promise<string> {
    const { session } = await this.callOrThrow(`${ADMIN}/sessions`, headers, {});
    return tokenOf(session as Record<string, unknown>);
  }

  async #startHost(host: Host): Promise<void> {
    const { name, folder, url } = host;
    const site = ["--data", folder, "--listen", new URL(url).host, "--identity", IDENTITY];
    const pair = ["--pair-log", this.#logUrl, "--pair-host", name, "--pair-url", url];
    const term = ["--pair-takeover-seconds", TAKEOVER_SECONDS];
    const child = await startBinary("serve", ...site, ...pair, ...term);
    this.#processes.set(host, child);
    atEnd(() => child.signal("SIGKILL"));
  }

  async #waitForLeader(host: Host): Promise<void> {
    const isLeading = async (): Promise<boolean> =>
      (await fetch(`${host.url}/api/v4/health`).catch(() => null))?.status === 200;
    await waitUntil(isLeading, `${host.name} leads`, POLL);
    this.leader = host;
  }

  /** Until it knows which host leads. */
  async #waitForStandby(): Promise<void> {
    const { name, url } = this.standby;
    const isFollowing = async (): Promise<boolean> =>
      (await fetch(url)).headers.get("berth-leader") === this.leader.url;
    await waitUntil(isFollowing, `${name} follows`, POLL);
  }
}
