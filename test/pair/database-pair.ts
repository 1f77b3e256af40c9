// A PostgreSQL server with a synchronous standby, and what can happen to them.
import { readFileSync } from "node:fs";
import { atEnd } from "../support/suite-harness.ts";
import { PostgresCluster } from "./postgres-cluster.ts";

const STANDBY = "standby";

export class DatabasePair {
  primary: PostgresCluster;
  standby: PostgresCluster;
  readonly #clusters = new Set<PostgresCluster>();
  #stoppedProcesses: readonly number[] = [];

  constructor() {
    atEnd(() => this.#removeAll());
    this.primary = PostgresCluster.start();
    this.#clusters.add(this.primary);
    this.standby = this.#addStandby();
  }

  /** Stops the primary server without warning and starts it again. */
  restart(mode: "fast" | "immediate"): void {
    this.primary.stopServer(mode);
    this.primary.startServer();
  }

  /** The primary stops, and the standby takes its place, for now without a standby of its own. */
  failOver(end: "stops" | "hangs"): void {
    if (end === "hangs") this.suspend();
    else this.primary.stopServer("immediate");
    const old = this.primary;
    this.standby.configure({ synchronous_standby_names: "" });
    this.standby.promote();
    this.primary = this.standby;
    this.standby = old;
  }

  /** Replaces the old primary with a copy of the new one. */
  rebuildStandby(): void {
    this.resume();
    this.#remove(this.standby);
    this.standby = this.#addStandby();
  }

  /** SIGSTOP to all its processes: connections stay open, and nothing is answered. */
  suspend(): void {
    this.#stoppedProcesses = processesOf(this.primary.processId);
    for (const pid of this.#stoppedProcesses) signal(pid, "SIGSTOP");
  }

  resume(): void {
    for (const pid of this.#stoppedProcesses) signal(pid, "SIGCONT");
    this.#stoppedProcesses = [];
  }

  #addStandby(): PostgresCluster {
    const standby = this.primary.startStandby(STANDBY);
    this.#clusters.add(standby);
    // Before this, a change would wait for a standby that does not exist.
    this.primary.configure({ synchronous_standby_names: STANDBY });
    this.primary.reload();
    return standby;
  }

  #removeAll(): void {
    this.resume();
    for (const cluster of this.#clusters) this.#remove(cluster);
  }

  #remove(cluster: PostgresCluster): void {
    cluster.remove();
    this.#clusters.delete(cluster);
  }
}

/** The server, its helpers, and one process for each connection. */
function processesOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return [pid, ...children.split(" ").filter(Boolean).map(Number)];
}

function signal(pid: number, name: "SIGSTOP" | "SIGCONT"): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}
