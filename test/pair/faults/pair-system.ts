// A whole pair: two hosts, a database with a synchronous standby, and a proxy on each connection
// between them, and between each host and its clients.
import { join } from "node:path";
import { consumptionTerms } from "../../support/scenario.ts";
import { atEnd, makeTempFolder } from "../../support/suite-harness.ts";
import { isEventuallyTrue, waitUntil } from "../../support/wait-until.ts";
import { PRODUCT } from "../../faults/kill/calls.ts";
import { findFreePorts } from "../../support/free-ports.ts";
import { Databases } from "../database-process.ts";
import { connectTo, formPair } from "../form-pair.ts";
import { PairHost } from "../pair-host.ts";
import { TcpProxy, type Link } from "../tcp-proxy.ts";
import { callHost, type HostAddress } from "./calls.ts";

export const SLOTS = 30;
const NAMES = ["alpha", "beta"] as const;
const IDENTITY = "machine of the test";

const START_PATIENCE = 60_000;

/** One host, with its connections. */
export interface Member {
  readonly host: PairHost;
  readonly address: HostAddress;
  readonly clients: TcpProxy;
  /** One to each server of the database. */
  readonly databases: readonly [TcpProxy, TcpProxy];
}

export interface PairSystemOptions {
  readonly termSeconds: number;
  readonly random: () => number;
  /** The environment of a host, which may change its clock. */
  readonly environment?: (name: string) => Readonly<Record<string, string>>;
}

export class PairSystem {
  readonly databases: Databases;
  readonly members: readonly [Member, Member];
  readonly termMs: number;
  /** When the database accepted changes again after its last fault. */
  databaseReadyAt = 0;

  private constructor(databases: Databases, members: readonly [Member, Member], termMs: number) {
    this.databases = databases;
    this.members = members;
    this.termMs = termMs;
  }

  /** Starts everything; one of the hosts will lead soon. */
  static async start(options: PairSystemOptions): Promise<PairSystem> {
    const root = makeTempFolder();
    const databases = await Databases.start();
    const folders = [join(root, NAMES[0]), join(root, NAMES[1])] as const;
    await formPair({
      folders,
      names: NAMES,
      identity: IDENTITY,
      databaseUrl: databases.url,
      terms: {
        product: PRODUCT,
        slots: SLOTS,
        timeoutMinutes: 24 * 60,
        borrowHours: 1_000,
        consumption: consumptionTerms({ max: null }),
      },
    });
    const ports = findFreePorts(4);
    const makeMember = async (index: 0 | 1): Promise<Member> => {
      const [own = 0, clients = 0] = ports.slice(2 * index);
      const proxies = await Promise.all([
        TcpProxy.start(databases.ports.primary),
        TcpProxy.start(databases.ports.standby),
      ]);
      const name = NAMES[index];
      const url = `http://127.0.0.1:${clients}`;
      const addresses = proxies.map(({ port }) => `127.0.0.1:${port}`).join(",");
      const host = new PairHost({
        name,
        folder: folders[index],
        port: own,
        clientUrl: url,
        logUrl: `postgres://berth@${addresses}/postgres`,
        termSeconds: options.termSeconds,
        identity: IDENTITY,
        environment: options.environment?.(name) ?? {},
      });
      return {
        host,
        address: { name, url },
        clients: await TcpProxy.start(own, { port: clients }),
        databases: proxies,
      };
    };
    const members = [await makeMember(0), await makeMember(1)] as const;
    const system = new PairSystem(databases, members, options.termSeconds * 1_000);
    atEnd(() => system.#stopProxies());
    for (const { host } of members) host.start();
    await system.waitUntilReady();
    return system;
  }

  get addresses(): readonly [HostAddress, HostAddress] {
    return [this.members[0].address, this.members[1].address];
  }

  member(name: string): Member {
    return this.members[0].host.name === name ? this.members[0] : this.members[1];
  }

  otherThan({ host }: Member): Member {
    return this.members[0].host === host ? this.members[1] : this.members[0];
  }

  /** Starts hosts that have ended, and waits until both answer at least that they are there. */
  async waitUntilReady(): Promise<void> {
    for (const { host } of this.members) {
      const isReady = await isEventuallyTrue(
        () => {
          if (!host.isRunning) host.start();
          return host.isReady;
        },
        { patience: START_PATIENCE, maxPause: 100 },
      );
      if (!isReady) throw new Error(`${host.name} did not become ready: ${host.output}`);
    }
  }

  /** The host that answers now, asked past the proxies; null: none does. */
  async findLeader(): Promise<Member | null> {
    for (const member of this.members) {
      const { name, port } = member.host.options;
      const url = `http://127.0.0.1:${port}`;
      const call = { path: "/api/v4/health", body: null, timeoutMs: 1_000 };
      const answer = member.host.isStopped ? null : await callHost({ name, url }, call);
      if (answer?.status === 200) return member;
    }
    return null;
  }

  async waitForLeader(): Promise<Member> {
    let leader: Member | null = null;
    await waitUntil(async () => (leader = await this.findLeader()) !== null, "a host leads", {
      patience: 60_000,
      maxPause: 20,
    });
    return leader ?? this.members[0];
  }

  /** Of the connections between a host and both servers of the database. */
  setDatabaseLink({ databases }: Member, link: Link): void {
    for (const proxy of databases) proxy.link = link;
  }

  setDatabaseDelay({ databases }: Member, delayMs: number): void {
    for (const proxy of databases) proxy.delayMs = delayMs;
  }

  noteDatabaseReady(): void {
    this.databaseReadyAt = performance.now();
  }

  /** The old primary becomes a standby again, at the place that it had. */
  async rebuildStandby(): Promise<void> {
    const { primary } = this.databases.ports;
    await this.databases.rebuildStandby();
    for (const { databases } of this.members) {
      for (const proxy of databases)
        if (proxy.target !== primary) proxy.target = this.databases.ports.standby;
    }
  }

  /** The hosts that led, in this order, as the log has them. */
  async readLeaders(afterEpoch: number): Promise<{ epoch: number; host: string }[]> {
    const rows = await this.#query(
      `SELECT line FROM berth.journal WHERE epoch > ${afterEpoch}
       AND line LIKE '%"LeaderChanged"%' ORDER BY seq`,
    );
    return rows.flatMap(({ line }) =>
      (
        JSON.parse(String(line)) as { events: { type: string; epoch: number; host: string }[] }
      ).events
        .filter(({ type }) => type === "LeaderChanged")
        .map(({ epoch, host }) => ({ epoch, host })),
    );
  }

  /** All lines of the log. */
  async readLines(): Promise<ReadonlyMap<number, string>> {
    const rows = await this.#query("SELECT seq, line FROM berth.journal ORDER BY seq");
    return new Map(rows.map(({ seq, line }) => [Number(seq), String(line)]));
  }

  async #query(statement: string) {
    const connection = connectTo(this.databases.url);
    try {
      return await connection.runStatement(statement);
    } finally {
      connection.close();
    }
  }

  #stopProxies(): void {
    for (const { clients, databases } of this.members)
      for (const proxy of [clients, ...databases]) proxy.stop();
  }
}
