// A PostgreSQL server for tests, in a temporary folder, as an unprivileged user.
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { postgresFolder } from "./postgres-programs.ts";
import { findFreePort } from "../support/free-ports.ts";
import { AS_NOBODY, isRoot } from "../support/other-user.ts";
import { atEnd } from "../support/suite-harness.ts";

/** Without a password, as only this machine can connect. */
const USER = "berth";
const NOBODY = 65_534;

const MEMORY = "/dev/shm";
/** For several servers; a container may have only 64 MB. */
const ENOUGH_MEMORY = 1_000_000_000;

/**
 * In memory if possible: the processes of a server fail, not the machine. On a disk that other
 * programs use, a crash recovery, which syncs every file, takes many seconds.
 */
function findRoot(): string {
  if (!existsSync(MEMORY)) return tmpdir();
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize < ENOUGH_MEMORY ? tmpdir() : MEMORY;
}

/** Names the folder of a new server, of which each server starts as a copy. */
const TEMPLATE = "BERTH_POSTGRES_TEMPLATE";

/** Runs initdb, once for all servers of this process and of those that it starts. */
export function initializeTemplate(): string {
  const template = process.env[TEMPLATE] ?? makeFolder(findRoot());
  if (process.env[TEMPLATE] === undefined) {
    process.env[TEMPLATE] = template;
    atEnd(() => {
      // The next file of this process makes its own.
      delete process.env[TEMPLATE];
      rmSync(dirname(template), { recursive: true, force: true });
    });
    const options = ["-A", "trust", "-U", USER, "--encoding=UTF8", "--no-sync", "--wal-segsize=1"];
    runAsUser(join(postgresFolder(), "initdb"), "-D", template, ...options);
  }
  return template;
}

/** A path in a new folder that belongs to the user of the servers. */
function makeFolder(root: string): string {
  const parent = mkdtempSync(join(root, "berth-postgres-"));
  if (isRoot) chownSync(parent, NOBODY, NOBODY);
  return join(parent, "db");
}

function runAsUser(...command: readonly string[]): void {
  const { exitCode, stderr, stdout } = Bun.spawnSync([...(isRoot ? AS_NOBODY : []), ...command], {
    cwd: "/",
    env: { PATH: process.env["PATH"] ?? "", LC_ALL: "C.UTF-8" },
  });
  if (exitCode === 0) return;
  throw new Error(`${command.join(" ")} failed: ${stderr.toString()}${stdout.toString()}`);
}

export class PostgresCluster {
  readonly port = findFreePort();
  readonly #folder: string;

  private constructor(root: string) {
    this.#folder = makeFolder(root);
  }

  /** Creates and starts a server, by default in memory; `remove` stops it. */
  static start(
    settings: Readonly<Record<string, string>> = {},
    root: string = findRoot(),
  ): PostgresCluster {
    const cluster = new PostgresCluster(root);
    runAsUser("cp", "-a", initializeTemplate(), cluster.#folder);
    cluster.configure({ synchronous_commit: "on", wal_level: "replica", ...settings });
    cluster.startServer();
    return cluster;
  }

  /** A copy of this server that receives its changes; the name is for synchronous_standby_names. */
  startStandby(name: string): PostgresCluster {
    const standby = new PostgresCluster(dirname(dirname(this.#folder)));
    const source = ["-h", "127.0.0.1", "-p", String(this.port), "-U", USER];
    standby.#run("pg_basebackup", [...source, "-R", "-X", "stream", "-c", "fast", "--no-sync"]);
    standby.configure({
      port: String(standby.port),
      primary_conninfo: `host=127.0.0.1 port=${this.port} user=${USER} application_name=${name}`,
      // By default it connects again after 5 seconds; until then its primary server acknowledges
      // nothing if it is synchronous.
      wal_retrieve_retry_interval: "200ms",
    });
    standby.startServer();
    return standby;
  }

  /** Stops the server and removes its files. */
  remove(): void {
    this.stopServer("immediate");
    rmSync(dirname(this.#folder), { recursive: true, force: true });
  }

  get url(): string {
    return `postgres://${USER}@127.0.0.1:${this.port}/postgres`;
  }

  configure(settings: Readonly<Record<string, string>>): void {
    const common = {
      port: String(this.port),
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      ...settings,
    };
    const lines = Object.entries(common).map(([name, value]) => `${name} = '${value}'\n`);
    appendFileSync(join(this.#folder, "postgresql.auto.conf"), lines.join(""));
  }

  /** A line of pg_hba.conf, before all others. */
  addAccessRule(line: string): void {
    const path = join(this.#folder, "pg_hba.conf");
    writeFileSync(path, `${line}\n${readFileSync(path, "utf8")}`);
    this.reload();
  }

  /** Lets the server offer TLS; the files are readable for its user. */
  offerTls(certificate: string, key: string): void {
    const paths = {
      certificate: join(this.#folder, "tls.crt"),
      key: join(this.#folder, "tls.key"),
    };
    writeFileSync(paths.certificate, certificate);
    writeFileSync(paths.key, key, { mode: 0o600 });
    if (isRoot) for (const path of Object.values(paths)) chownSync(path, NOBODY, NOBODY);
    this.configure({ ssl: "on", ssl_cert_file: paths.certificate, ssl_key_file: paths.key });
    this.reload();
  }

  startServer(): void {
    this.#run("pg_ctl", ["-w", "-l", join(this.#folder, "server.log"), "start"]);
  }

  stopServer(mode: "fast" | "immediate"): void {
    if (!existsSync(join(this.#folder, "postmaster.pid"))) return;
    this.#run("pg_ctl", ["-w", "-m", mode, "stop"]);
  }

  reload(): void {
    this.#run("pg_ctl", ["reload"]);
  }

  /** Makes a standby the primary server. */
  promote(): void {
    this.#run("pg_ctl", ["-w", "promote"]);
  }

  get processId(): number {
    return Number(readFileSync(join(this.#folder, "postmaster.pid"), "utf8").split("\n")[0]);
  }

  #run(program: string, args: readonly string[]): void {
    runAsUser(join(postgresFolder(), program), "-D", this.#folder, ...args);
  }
}
