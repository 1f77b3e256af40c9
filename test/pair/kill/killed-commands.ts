// Kills `berth pair join` and `berth pair leave`, or the server that does their work. The command can
// be repeated, and only one host ever serves what the pair had.
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expectPromise } from "../../faults/shared/promises.ts";
import { startServer, type ServerProcess } from "../../faults/shared/server-process.ts";
import { buildBinary, runBinary } from "../../support/binary.ts";
import { PATIENCE } from "../../support/patience.ts";
import { isEventuallyTrue } from "../../support/wait-until.ts";
import { connectTo } from "../form-pair.ts";
import { createDatabase, type Host } from "../hosts-of-pair.ts";
import type { PostgresCluster } from "../postgres-cluster.ts";
import { compareWithLog } from "./compare-with-log.ts";
import { isLeading } from "./log-servers.ts";

/** A statement has half of it. */
const TAKEOVER = ["--pair-takeover-seconds", "3"];
const POLL = { maxPause: 20 };

/** Runs a command and sends SIGKILL after this time; null: it ended before. */
async function killCommand(args: readonly string[], delayMs: number): Promise<number | null> {
  const child = Bun.spawn([buildBinary(), ...args], {
    stdio: ["ignore", "ignore", "ignore"],
    cwd: "/",
    env: {},
  });
  await Promise.race([Bun.sleep(delayMs), child.exited]);
  child.kill("SIGKILL");
  await child.exited;
  return child.signalCode === null ? child.exitCode : null;
}

export interface StoppedPair {
  readonly cluster: PostgresCluster;
  /** The database of both hosts, which are stopped. */
  readonly database: string;
  readonly alpha: Host;
  readonly beta: Host;
  /** For copies of the folders. */
  readonly root: string;
  readonly ports: readonly [number, number];
}

/** One host of a copy of a pair. */
interface CopiedHost {
  readonly name: string;
  readonly folder: string;
  readonly flags: readonly string[];
  readonly logFlags: readonly string[];
  readonly start: () => ServerProcess;
  readonly startAlone: () => ServerProcess;
}

/** A copy of a pair, with a copy of its database. */
class CopiedPair {
  readonly databaseUrl: string;
  readonly alpha: CopiedHost;
  readonly beta: CopiedHost;

  constructor(databaseUrl: string, alpha: CopiedHost, beta: CopiedHost) {
    this.databaseUrl = databaseUrl;
    this.alpha = alpha;
    this.beta = beta;
  }

  static make(pair: StoppedPair, name: string): CopiedPair {
    const databaseUrl = createDatabase(pair.cluster, pair.database);
    const copyHost = ({ name: host, folder }: Host, port: number): CopiedHost => {
      const path = join(pair.root, name, host);
      copyFolder(folder, path);
      const identity = ["--identity", host];
      const logFlags = ["--pair-log", databaseUrl, "--pair-host", host, ...TAKEOVER];
      return {
        name: host,
        folder: path,
        flags: ["--data", path, ...identity],
        logFlags,
        start: () => startServer(path, port, [...identity, ...logFlags]),
        startAlone: () => startServer(path, port, identity),
      };
    };
    const [first, second] = pair.ports;
    return new CopiedPair(databaseUrl, copyHost(pair.alpha, first), copyHost(pair.beta, second));
  }
}

function copyFolder(from: string, to: string): void {
  mkdirSync(join(to, ".."), { recursive: true });
  cpSync(from, to, { recursive: true, filter: (name) => !name.endsWith(".sock") });
}

/** True: it leads. False: it ended, or said that it cannot. */
async function leads(server: ServerProcess, patience?: number): Promise<boolean> {
  let isLeader = false;
  await isEventuallyTrue(
    async () => (isLeader = await isLeading(server)) || server.hasExited(),
    patience === undefined ? POLL : { ...POLL, patience },
  );
  return isLeader;
}

async function end(server: ServerProcess): Promise<void> {
  server.kill("group");
  await server.exited;
}

/** Sends `pair leave` to a leader that is killed meanwhile; true: the leader was killed in time. */
export async function killLeavingServer(
  pair: StoppedPair,
  name: string,
  delayMs: number,
): Promise<boolean> {
  const copy = CopiedPair.make(pair, name);
  const { alpha, beta } = copy;
  const servers = [alpha.start()];
  expectPromise(await leads(servers[0] as ServerProcess), "alpha does not lead");
  servers.push(beta.start());
  await servers[1]?.ready;
  const command = runBinary(["pair", "leave", ...alpha.flags, "--yes"]);
  await Bun.sleep(delayMs);
  servers[0]?.kill("group");
  const { code } = await command;
  await servers[0]?.exited;
  await end(servers[1] as ServerProcess);
  await checkLeft(copy, code === 0);
  return code !== 0;
}

/**
 * Kills `pair leave` on a stopped host; true: it was killed before its end. Null: it is not killed,
 * but the folder loses what the log has, as by a kill between the two.
 */
export async function killLeavingCommand(
  pair: StoppedPair,
  name: string,
  delayMs: number | null,
): Promise<boolean> {
  const copy = CopiedPair.make(pair, name);
  const { flags, logFlags } = copy.alpha;
  const words = ["pair", "leave", ...flags, ...logFlags, "--yes"];
  const code = await killCommand(words, delayMs ?? PATIENCE);
  if (delayMs === null) {
    rmSync(copy.alpha.folder, { recursive: true });
    copyFolder(pair.alpha.folder, copy.alpha.folder);
  }
  const hadEnded = await hasEnded(copy);
  const repeated = await runBinary(words);
  // If it had ended already, the command says so; the host must serve alone in both cases.
  const isExpected = hadEnded ? repeated.stderr.includes("has ended") : repeated.code === 0;
  expectPromise(isExpected, `the repeated command: ${repeated.stderr}`);
  await checkLeft(copy, true);
  return code === null;
}

async function hasEnded({ databaseUrl }: CopiedPair): Promise<boolean> {
  const connection = connectTo(databaseUrl);
  try {
    const rows = await connection.runStatement(
      `SELECT 1 FROM berth.journal WHERE line LIKE '%"type":"PairLeft"%'`,
    );
    return rows.length > 0;
  } finally {
    connection.close();
  }
}

/** Either both hosts are a pair as before, or alpha serves alone and beta never answers. */
async function checkLeft(copy: CopiedPair, isCertain: boolean): Promise<void> {
  const { alpha, beta } = copy;
  if (!(await hasEnded(copy))) {
    expectPromise(!isCertain, "the command said that the pair ended, and the log does not");
    await checkStillPair(copy);
    return;
  }
  // Without what only the log has, it must not serve alone; it reads that first.
  const early = alpha.startAlone();
  if (await leads(early)) await end(early);
  else {
    const { code, stderr } = await early.exited;
    expectPromise(code === 78 && stderr.includes("pair_log is not set"), stderr);
    await followToEnd(alpha);
    const late = alpha.startAlone();
    expectPromise(await leads(late), "alpha does not serve alone");
    await end(late);
  }
  await followToEnd(beta);
  const alone = beta.startAlone();
  expectPromise(!(await leads(alone)), "beta serves alone after the pair ended");
  expectPromise((await alone.exited).code === 78, (await alone.exited).stderr);
  for (const { folder } of [alpha, beta]) await verify(folder);
  const { problem } = await compareWithLog(copy.databaseUrl, beta.folder, 0);
  expectPromise(problem === null, problem);
}

/** Starts a host with the log of a pair that ended: it copies the last lines, and must not lead. */
async function followToEnd({ name, folder, start }: CopiedHost): Promise<void> {
  const server = start();
  const isOver = await isEventuallyTrue(async () => {
    expectPromise(!(await isLeading(server)), `${name} leads a pair that has ended`);
    if (server.hasExited()) return true;
    const { stdout } = await runBinary(["pair", "status", "--data", folder, "--json"]);
    return stdout.includes("has ended");
  });
  expectPromise(isOver, `${name} does not notice that the pair has ended`);
  if (server.hasExited()) {
    const { code, stderr } = await server.exited;
    expectPromise(code === 78 && stderr.includes("has ended"), stderr);
  }
  await end(server);
}

async function checkStillPair({ alpha, beta, databaseUrl }: CopiedPair): Promise<void> {
  for (const host of [alpha, beta]) {
    const server = host.start();
    expectPromise(await leads(server), `${host.name} does not lead`);
    // It gives up its term, so that the other one does not have to wait for the end of it.
    server.terminate();
    await server.exited;
    const { problem } = await compareWithLog(databaseUrl, host.folder, 0);
    expectPromise(problem === null, problem);
    await verify(host.folder);
  }
}

async function verify(folder: string): Promise<void> {
  const { code, stdout, stderr } = await runBinary(["verify", "--data", folder]);
  expectPromise(code === 0, `berth verify: ${stdout}${stderr}`);
}

export interface JoiningHost {
  /** With the open request. */
  readonly folder: string;
  readonly admission: string;
  readonly database: string;
  readonly port: number;
}

/** How long a join takes without a kill. */
export async function joinOnce(host: JoiningHost, folder: string): Promise<number> {
  copyFolder(host.folder, folder);
  const started = performance.now();
  const { code, stderr } = await runBinary(joinWords(host, folder));
  expectPromise(code === 0, stderr);
  return performance.now() - started;
}

/** Kills a join and repeats it; true: it was killed before its end. */
export async function killJoin(
  host: JoiningHost,
  folder: string,
  delayMs: number,
): Promise<boolean> {
  copyFolder(host.folder, folder);
  const words = joinWords(host, folder);
  const code = await killCommand(words, delayMs);
  const repeated = await runBinary(words);
  const hasJoined = repeated.code === 0 || repeated.stderr.includes("no request to join a pair");
  expectPromise(hasJoined, `the repeated join: ${repeated.stderr}`);
  await verify(folder);
  const flags = ["--identity", "beta", "--pair-log", host.database, "--pair-host", "beta"];
  const server = startServer(folder, host.port, [...flags, ...TAKEOVER]);
  const isReady = (await server.ready) || (await server.exited).stderr;
  expectPromise(isReady === true, isReady);
  const { stdout } = await runBinary(["pair", "status", "--data", folder, "--json"]);
  expectPromise(stdout.includes('"beta"'), stdout);
  await end(server);
  return code === null;
}

const joinWords = ({ admission, database }: JoiningHost, folder: string): string[] => {
  const names = ["--identity", "beta", "--pair-log", database, "--pair-host", "beta"];
  return ["pair", "join", admission, "--data", folder, ...names];
};
