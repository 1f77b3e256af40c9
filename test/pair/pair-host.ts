// One host of a pair: a process of the compiled executable with its own data folder.
import { buildBinary } from "../support/binary.ts";
import { atEnd } from "../support/suite-harness.ts";

export interface HostOptions {
  readonly name: string;
  readonly folder: string;
  /** Its own; clients reach it through a proxy. */
  readonly port: number;
  /** Where clients reach it. */
  readonly clientUrl: string;
  readonly logUrl: string;
  readonly termSeconds: number;
  readonly identity: string;
  /** Its own address; default: only this machine reaches it. */
  readonly address?: string;
  /** Before the command line, to run it elsewhere. */
  readonly prefix?: readonly string[];
  /** Variables that change its clock; {} for none. */
  readonly environment?: Readonly<Record<string, string>>;
}

const running = new Set<PairHost>();
atEnd(() => {
  for (const host of running) host.kill();
});

/** How much of what a host prints is kept for a failed test. */
const KEPT_OUTPUT = 4_000;

export class PairHost {
  readonly options: HostOptions;
  #child: Bun.Subprocess<"ignore", "pipe", "pipe"> | null = null;
  #output = "";
  #isReady = false;
  isStopped = false;

  constructor(options: HostOptions) {
    this.options = options;
  }

  get name(): string {
    return this.options.name;
  }

  /** What all its processes printed last. */
  get output(): string {
    return this.#output;
  }

  get isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** It printed `ready`: it answers, if only that it is the standby. */
  get isReady(): boolean {
    return this.isRunning && this.#isReady;
  }

  get exitCode(): number | null {
    return this.#child?.exitCode ?? null;
  }

  start(): void {
    const { name, folder, port, clientUrl, logUrl, termSeconds, identity } = this.options;
    const { environment = {}, address = "127.0.0.1", prefix = [] } = this.options;
    this.#isReady = false;
    this.isStopped = false;
    const folderFlags = [
      "--data",
      folder,
      "--listen",
      `${address}:${port}`,
      "--identity",
      identity,
    ];
    const pairFlags = ["--pair-log", logUrl, "--pair-host", name, "--pair-url", clientUrl];
    const limits = ["--pair-takeover-seconds", String(termSeconds), "--audit-budget", "0"];
    const flags = [...folderFlags, ...pairFlags, ...limits];
    const child = Bun.spawn([...prefix, buildBinary(), "serve", ...flags], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      cwd: "/",
      env: { ...environment },
      detached: true,
    });
    this.#child = child;
    running.add(this);
    void child.exited.then(() => this.#child === child && running.delete(this));
    void this.#read(child.stdout, child);
    void this.#read(child.stderr, child);
  }

  /** SIGKILL, with its checkpoint. */
  kill(): void {
    this.#signal("SIGKILL");
  }

  /** SIGSTOP: the process stands still, and its connections stay open. */
  suspend(): void {
    this.isStopped = true;
    this.#signal("SIGSTOP");
  }

  resume(): void {
    this.isStopped = false;
    this.#signal("SIGCONT");
  }

  terminate(): void {
    this.#child?.kill("SIGTERM");
  }

  async waitForExit(): Promise<number | null> {
    await this.#child?.exited;
    return this.exitCode;
  }

  #signal(name: "SIGKILL" | "SIGSTOP" | "SIGCONT"): void {
    if (this.#child === null) return;
    try {
      process.kill(-this.#child.pid, name);
    } catch {
      // All processes of the group have ended.
    }
  }

  async #read(stream: ReadableStream<Uint8Array>, child: Bun.Subprocess): Promise<void> {
    const decoder = new TextDecoder();
    for await (const part of stream) {
      const text = decoder.decode(part, { stream: true });
      // A standby logs each request that it refuses.
      const kept = text.split(/^/m).filter((line) => !line.includes('"status":503'));
      this.#output = (this.#output + kept.join("")).slice(-KEPT_OUTPUT);
      if (this.#child === child && /^ready$/m.test(text)) this.#isReady = true;
    }
  }
}
