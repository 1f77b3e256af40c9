// A PostgreSQL server for tests, in a temporary folder, as an unprivileged user.
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { postgresFolder } from "./postgres-programs.ts";
import { findFreePort } from "../support/free-ports.ts";
import { AS_NOBODY, isRoot } from "../support/other-user.ts";

/** Without a password, as only this machine can connect. */
const USER = "berth";
const NOBODY = 65_534;

export class PostgresCluster {
  readonly port: number;
  readonly #folder: string;
  readonly #programs: string;

  private constructor(folder: string, port: number, programs: string) {
    this.#folder = folder;
    this.port = port;
    this.#programs = programs;
  }

  /** Creates and starts a server; `remove` stops it. */
  static start(settings: Readonly<Record<string, string>> = {}): PostgresCluster {
    const cluster = PostgresCluster.#prepare();
    cluster.#run("initdb", ["-A", "trust", "-U", USER, "--encoding=UTF8", "--no-sync"]);
    cluster.configure({ synchronous_commit: "on", wal_level: "replica", ...settings });
    cluster.startServer();
    return cluster;
  }

  /** A copy of this server that receives its changes; the name is for synchronous_standby_names. */
  startStandby(name: string): PostgresCluster {
    const standby = PostgresCluster.#prepare();
    const source = ["-h", "127.0.0.1", "-p", String(this.port), "-U", USER];
    standby.#run("pg_basebackup", [...source, "-R", "-X", "stream", "-c", "fast", "--no-sync"]);
    standby.configure({
      port: String(standby.port),
      primary_conninfo: `host=127.0.0.1 port=${this.port} user=${USER} application_name=${name}`,
    });
    standby.startServer();
    return standby;
  }

  static #prepare(): PostgresCluster {
    const programs = postgresFolder();
    const parent = mkdtempSync(join(tmpdir(), "berth-postgres-"));
    if (isRoot) chownSync(parent, NOBODY, NOBODY);
    return new PostgresCluster(join(parent, "db"), findFreePort(), programs);
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
    const prefix = isRoot ? AS_NOBODY : [];
    const command = [...prefix, join(this.#programs, program), "-D", this.#folder, ...args];
    const { exitCode, stderr, stdout } = Bun.spawnSync(command, {
      cwd: "/",
      env: { PATH: process.env["PATH"] ?? "", LC_ALL: "C.UTF-8" },
    });
    if (exitCode === 0) return;
    throw new Error(`${program} failed: ${stderr.toString()}${stdout.toString()}`);
  }
}
