// A separate machine for the service: Debian in a container, booted by its own systemd, with a
// private network without other hosts.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { atEnd } from "../support/suite-harness.ts";
import { keepFolder } from "../support/kept-folder.ts";
import { PATIENCE } from "../support/patience.ts";

const SUITE = "bookworm";
const PACKAGES = "systemd,systemd-sysv,dbus";
const MAX_ATTEMPTS = 3;

export class Container {
  readonly #leader: number;

  private constructor(leader: number) {
    this.#leader = leader;
  }

  /**
   * Boots a container that sees the `shared` paths of this machine, read-only, and no others. Null:
   * this machine cannot boot one; the reason is printed.
   */
  static async boot(shared: readonly string[]): Promise<Container | null> {
    const root = prepareRootFileSystem();
    const binds = shared.map((path) => `--bind-ro=${path}`);
    const child = Bun.spawn(
      [
        "systemd-nspawn",
        `--directory=${root}`,
        // Changes inside the container are discarded at its end.
        "--volatile=overlay",
        "--boot",
        "--register=no",
        "--keep-unit",
        "--private-network",
        "--console=pipe",
        ...binds,
      ],
      { stdin: "ignore", stdout: "pipe", stderr: "pipe" },
    );
    atEnd(() => child.kill("SIGKILL"));
    const leader = await waitForLeader(child.pid);
    // Killing the first process ends everything inside; otherwise all of it would continue to run.
    if (leader !== null) atEnd(() => process.kill(leader, "SIGKILL"));
    if (leader === null) {
      child.kill("SIGKILL");
      const output = await new Response(child.stderr).text();
      console.log(output.trim().slice(0, 200));
      return null;
    }
    const container = new Container(leader);
    await container.#waitForBoot();
    return container;
  }

  /** Runs a program inside, shows its output, and returns its exit code. */
  async run(command: readonly string[]): Promise<number> {
    const child = Bun.spawn(this.#enterCommand(command), {
      stdin: "ignore",
      stdout: "inherit",
      stderr: "inherit",
    });
    return child.exited;
  }

  #enterCommand(command: readonly string[]): string[] {
    const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    const enter = ["nsenter", "-t", String(this.#leader), "-m", "-u", "-i", "-n", "-p", "-C"];
    return [...enter, "env", "-i", `PATH=${PATH}`, "LC_ALL=C", ...command];
  }

  async #waitForBoot(): Promise<void> {
    const deadline = Date.now() + PATIENCE;
    while (Date.now() < deadline) {
      const status = Bun.spawnSync(this.#enterCommand(["systemctl", "is-system-running"]));
      if (/^(?:running|degraded)/.test(status.stdout.toString())) return;
      await Bun.sleep(100);
    }
    throw new Error("the container's systemd did not become ready in time");
  }
}

/** No run changes it. */
const prepareRootFileSystem = (): string =>
  keepFolder("rootfs", `${SUITE} ${PACKAGES}`, (root) => {
    for (let attempt = 1; ; attempt += 1) {
      const output = bootstrap(root);
      if (output === null) break;
      if (attempt === MAX_ATTEMPTS)
        throw new Error(`debootstrap failed ${attempt} times: ${output}`);
      console.log(`debootstrap failed, retrying: ${output}`);
      // debootstrap would take an incomplete root for a finished one.
      rmSync(root, { recursive: true, force: true });
    }
    // Without it, every boot gets a new machine ID.
    rmSync(join(root, "etc/machine-id"), { force: true });
  });

/** Returns null on success, else the output; mirrors do not always answer. */
function bootstrap(root: string): string | null {
  const command = ["debootstrap", "--variant=minbase", `--include=${PACKAGES}`, SUITE, root];
  const { exitCode, stdout } = Bun.spawnSync(command, { stdin: "ignore" });
  return exitCode === 0 ? null : stdout.toString().slice(-1_000);
}

/** Waits for the first process inside and returns its pid on this machine; null: none appeared. */
async function waitForLeader(pid: number): Promise<number | null> {
  const deadline = Date.now() + PATIENCE;
  while (Date.now() < deadline && existsSync(`/proc/${pid}`)) {
    const leader = childrenOf(pid).find((child) => INIT.test(commandOf(child)));
    if (leader !== undefined) return leader;
    await Bun.sleep(100);
  }
  return null;
}

/** The container's init. Before it starts, systemd-nspawn has children with its own name. */
const INIT = /\/(?:systemd|init)$/;

const childrenOf = (pid: number): number[] =>
  readIfPresent(`/proc/${pid}/task/${pid}/children`).trim().split(" ").map(Number).filter(Boolean);

const commandOf = (pid: number): string =>
  readIfPresent(`/proc/${pid}/cmdline`).split("\0")[0] ?? "";

/** Returns "" for a missing file: a process may end between being listed and being read. */
function readIfPresent(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
