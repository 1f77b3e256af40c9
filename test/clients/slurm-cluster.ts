// A Slurm cluster of one node on this machine, for one test file: its files are in one folder, and
// its daemons run as root.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { findFreePort } from "../support/free-ports.ts";
import { atEnd, makeTempFolder } from "../support/suite-harness.ts";
import { waitUntil } from "../support/wait-until.ts";

export const SLURM_PACKAGES = {
  munge: "munged",
  slurmctld: "slurmctld",
  slurmd: "slurmd",
  "slurm-client": "sbatch",
};

/** More than the machine has: the jobs only wait. */
const CPUS = 16;

export class SlurmCluster {
  readonly folder = makeTempFolder();
  readonly environment: Readonly<Record<string, string>>;

  constructor() {
    const file = (name: string): string => join(this.folder, name);
    this.environment = {
      PATH: process.env["PATH"] ?? "",
      SLURM_CONF: file("slurm.conf"),
    };
    for (const name of ["state", "spool"]) mkdirSync(file(name));
    writeFileSync(file("munge.key"), crypto.getRandomValues(new Uint8Array(128)), { mode: 0o400 });
    writeFileSync(file("slurm.conf"), this.#configuration());
    atEnd(() => this.#stop());
    this.#start("munged", "--force", `--key-file=${file("munge.key")}`, ...this.#mungeFiles());
    this.#start("slurmctld", "-f", file("slurm.conf"));
    this.#start("slurmd", "-f", file("slurm.conf"));
  }

  /** The node is ready, and no process of a job is left. */
  async waitUntilIdle(): Promise<void> {
    await waitUntil(
      () => this.run(["sinfo", "--noheader", "--format=%T"]).stdout.trim() === "idle",
      "an idle Slurm node",
    );
  }

  run(command: readonly string[], cwd = this.folder) {
    const { exitCode, stdout, stderr } = Bun.spawnSync([...command], {
      cwd,
      env: this.environment,
    });
    return { exitCode, stdout: stdout.toString(), stderr: stderr.toString() };
  }

  #start(...command: string[]): void {
    const { exitCode, stderr } = this.run(command);
    if (exitCode !== 0) throw new Error(`${command[0]} did not start: ${stderr}`);
  }

  #stop(): void {
    for (const name of ["slurmd", "slurmctld", "munged"]) {
      const path = join(this.folder, `${name}.pid`);
      process.kill(Number(readFileSync(path, "utf8")), "SIGKILL");
    }
  }

  #mungeFiles(): string[] {
    return [
      `--socket=${join(this.folder, "munge.socket")}`,
      `--pid-file=${join(this.folder, "munged.pid")}`,
      `--log-file=${join(this.folder, "munged.log")}`,
      `--seed-file=${join(this.folder, "munged.seed")}`,
    ];
  }

  #configuration(): string {
    const [host] = hostname().split(".");
    const port = findFreePort();
    return `ClusterName=berth
SlurmctldHost=${host}(127.0.0.1)
SlurmctldPort=${port}
SlurmdPort=${findFreePort()}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=${this.folder}/munge.socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
StateSaveLocation=${this.folder}/state
SlurmdSpoolDir=${this.folder}/spool
SlurmctldPidFile=${this.folder}/slurmctld.pid
SlurmdPidFile=${this.folder}/slurmd.pid
SlurmctldLogFile=${this.folder}/slurmctld.log
SlurmdLogFile=${this.folder}/slurmd.log
SchedulerParameters=sched_interval=1,bf_interval=1
NodeName=${host} NodeAddr=127.0.0.1 CPUs=${CPUS} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`;
  }
}
