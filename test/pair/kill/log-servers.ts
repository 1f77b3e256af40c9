// What serves a site whose log is in PostgreSQL: one host, or both hosts of a pair. Its data folders
// and its database are new.
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Terms } from "../../../src/domain/model/licenses/terms.ts";
import type { ServerRun } from "../../faults/kill/calls.ts";
import type { KillServers } from "../../faults/kill/kill-servers.ts";
import type { KillResults } from "../../faults/kill/results.ts";
import { startServer, type ServerProcess } from "../../faults/shared/server-process.ts";
import { runBinary } from "../../support/binary.ts";
import { isEventuallyTrue } from "../../support/wait-until.ts";
import { formPair } from "../form-pair.ts";
import { compareWithLog } from "./compare-with-log.ts";
import { disturbStandby, type DisturbanceCounts } from "./disturb-standby.ts";

/** Short: a host that is killed has to wait for its end. A statement has half of it. */
const TERM_SECONDS = 2;
/** Both hosts have it: they are on one machine. */
const IDENTITY = "machine of the test";
const NAMES = ["alpha", "beta"] as const;
const POLL = { maxPause: 20 };

export interface LogHost {
  readonly folder: string;
  readonly start: () => ServerProcess;
}

/** A server with the log in this database. It is ready when it leads. */
export const makeLogHost = (
  name: string,
  folder: string,
  port: number,
  databaseUrl: string,
): LogHost => {
  const url = `http://127.0.0.1:${port}`;
  const names = ["--identity", IDENTITY, "--pair-log", databaseUrl, "--pair-host", name];
  const flags = [...names, "--pair-url", url, "--pair-takeover-seconds", String(TERM_SECONDS)];
  return { folder, start: () => withoutPolls(startServer(folder, port, flags)) };
};

/** Without the lines about the health checks of this suite, which hide why a server ended. */
const withoutPolls = (server: ServerProcess): ServerProcess => ({
  ...server,
  exited: server.exited.then(({ code, stderr }) => {
    const lines = stderr.split(/^/m).filter((line) => !line.includes('"path":"/api/v4/health"'));
    return { code, stderr: lines.join("") };
  }),
});

interface LogSite {
  /** For the data folders. */
  readonly root: string;
  readonly databaseUrl: string;
  /** Of each host that is started. */
  readonly ports: readonly number[];
  readonly random: () => number;
  readonly counts: PairKillCounts;
}

/** What happened beside the kills of the host that answers. */
export interface PairKillCounts extends DisturbanceCounts {
  takeovers: number;
  bothHosts: number;
  comparedLines: number;
  verifiedFolders: number;
}

export class LogServers implements KillServers {
  readonly canLoseTerm = true;
  readonly #site: LogSite;
  readonly #hosts: readonly LogHost[];
  /** The last process of each host. */
  readonly #processes = new Map<LogHost, ServerProcess>();
  /** Lines before it were compared after an earlier kill. */
  readonly #comparedLines = new Map<LogHost, number>();
  #lastLeader: LogHost | null = null;

  constructor(site: LogSite) {
    this.#site = site;
    this.#hosts = site.ports.map((port, index) =>
      makeLogHost(NAMES[index] ?? "", this.#folders[index] ?? "", port, site.databaseUrl),
    );
  }

  get #folders(): readonly [string, string] {
    const { root } = this.#site;
    return [join(root, NAMES[0]), join(root, NAMES[1])];
  }

  async create(terms: Partial<Terms>): Promise<void> {
    const { databaseUrl } = this.#site;
    const folders = this.#folders;
    await formPair({ folders, names: NAMES, identity: IDENTITY, databaseUrl, terms });
    for (const folder of folders.slice(this.#hosts.length)) rmSync(folder, { recursive: true });
  }

  start(isLast = false): ServerProcess {
    const started = this.#hosts.filter((host) => !this.#isRunning(host));
    for (const host of started) this.#start(host);
    // Sometimes both are killed, or stopped, at once.
    const isBoth = !isLast && this.#hosts.length > 1 && this.#site.random() < 0.25;
    let chosen = started[0] ?? this.#hosts[0];
    let wasKilled = false;
    const current = (): ServerProcess => this.#processOf(chosen);
    const targets = (): readonly ServerProcess[] =>
      isBoth ? [...this.#processes.values()] : [current()];
    const ready = this.#awaitLeader(() => wasKilled).then((leader) => {
      if (leader === null) return false;
      chosen = leader;
      if (this.#lastLeader !== null && this.#lastLeader !== leader)
        this.#site.counts.takeovers += 1;
      this.#lastLeader = leader;
      return true;
    });
    return {
      get pid() {
        return current().pid;
      },
      get folder() {
        return current().folder;
      },
      get url() {
        return current().url;
      },
      get exited() {
        return current().exited;
      },
      ready,
      hasExited: () => current().hasExited(),
      terminate: () => targets().forEach((process) => process.terminate()),
      kill: (target) => {
        wasKilled = true;
        if (isBoth) this.#site.counts.bothHosts += 1;
        for (const process of targets()) process.kill(target);
      },
    };
  }

  async disturb(server: ServerProcess, run: ServerRun): Promise<void> {
    const standby = this.#hosts.find(({ folder }) => folder !== server.folder);
    if (standby === undefined) return;
    const { random, counts } = this.#site;
    await disturbStandby({
      folder: standby.folder,
      process: this.#processOf(standby),
      restart: () => this.#start(standby),
      run,
      random,
      counts,
    });
  }

  async checkEnd(_server: ServerProcess, results: KillResults): Promise<void> {
    for (const host of this.#hosts) {
      const process = this.#processOf(host);
      if (!process.hasExited()) continue;
      const { code, stderr } = await process.exited;
      if (code !== null && code !== 0)
        results.recordViolation("stops", `${host.folder} exited with code ${code}: ${stderr}`);
      await this.#compare(host, results);
    }
  }

  async stopOthers(results: KillResults): Promise<readonly string[]> {
    const stopped: string[] = [];
    for (const host of this.#hosts) {
      if (this.#isRunning(host)) {
        // It leads now, so it has read the log to its end.
        if ((await this.#awaitLeader(() => false)) !== host)
          results.recordViolation("starts", `${host.folder} does not lead`);
        const process = this.#processOf(host);
        process.terminate();
        const { code, stderr } = await process.exited;
        if (code !== 0) results.recordViolation("stops", `exit code ${code}: ${stderr}`);
        else stopped.push(host.folder);
      }
      await this.#compare(host, results, { isWhole: true });
      const { code, stdout, stderr } = await runBinary(["verify", "--data", host.folder]);
      if (code !== 0) results.recordViolation("stops", `berth verify: ${stdout}${stderr}`);
      this.#site.counts.verifiedFolders += 1;
    }
    return stopped;
  }

  async #compare(host: LogHost, results: KillResults, { isWhole = false } = {}): Promise<void> {
    const from = isWhole ? 0 : (this.#comparedLines.get(host) ?? 0);
    const { lines, end, problem } = await compareWithLog(this.#site.databaseUrl, host.folder, from);
    this.#comparedLines.set(host, end);
    this.#site.counts.comparedLines += lines;
    if (problem !== null) results.recordViolation("journals", problem);
  }

  #start(host: LogHost): void {
    this.#processes.set(host, host.start());
  }

  #processOf(host: LogHost | undefined): ServerProcess {
    const process = host && this.#processes.get(host);
    if (process === undefined) throw new Error("no host was started");
    return process;
  }

  #isRunning(host: LogHost): boolean {
    return this.#processes.get(host)?.hasExited() === false;
  }

  /** The host that answers; null: it is not needed any more, or a host has ended by itself. */
  async #awaitLeader(isOver: () => boolean): Promise<LogHost | null> {
    let leader: LogHost | null = null;
    await isEventuallyTrue(async () => {
      for (const host of this.#hosts) {
        if (this.#isRunning(host) && (await isLeading(this.#processOf(host)))) leader = host;
      }
      return leader !== null || isOver() || !this.#hosts.some((host) => this.#isRunning(host));
    }, POLL);
    return leader;
  }
}

export const isLeading = async ({ url }: ServerProcess): Promise<boolean> =>
  (await fetch(`${url}/api/v4/health`).catch(() => null))?.status === 200;

/**
 * One host as a server that is ready when it leads. Its first start is refused if a busy machine
 * does not answer it in time, and is then repeated.
 */
export function startLeading(host: LogHost): ServerProcess {
  let process = host.start();
  let wasKilled = false;
  const lead = async (): Promise<boolean> => {
    await isEventuallyTrue(async () => process.hasExited() || (await isLeading(process)), POLL);
    if (!process.hasExited()) return true;
    const { stderr } = await process.exited;
    if (wasKilled || !stderr.includes("no answer within")) return false;
    process = host.start();
    return lead();
  };
  return {
    ...process,
    get exited() {
      return process.exited;
    },
    ready: lead(),
    kill(target) {
      wasKilled = true;
      process.kill(target);
    },
  };
}
