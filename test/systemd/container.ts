// A machine of its own for a service: Debian in a container, booted by its own systemd, with a
// network of its own in which there is nobody else.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { atEnd, skip, finish } from "../support/suite-harness.ts";
import { PATIENCE } from "../support/patience.ts";

const SUITE = "bookworm";
const PACKAGES = "systemd,systemd-sysv,dbus";
const MAX_ATTEMPTS = 3;

/** A root file system kept from an earlier run saves its making. */
const KEPT_ROOT = process.env["BERTH_TEST_ROOTFS"];

export class Container {
  readonly #leader: number;

  private constructor(leader: number) {
    this.#leader = leader;
  }

  /** What lies in `shared` is at the same path inside, and nothing else of this machine is. */
  static async boot(shared: readonly string[]): Promise<Container> {
    const root = rootFileSystem();
    const binds = shared.map((path) => `--bind-ro=${path}`);
    const child = Bun.spawn(
      [
        "systemd-nspawn",
        `--directory=${root}`,
        // What happens inside is gone afterwards.
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
    // With its first process everything inside ends; without it, all of it would go on.
    if (leader !== null) atEnd(() => process.kill(leader, "SIGKILL"));
    if (leader === null) {
      child.kill("SIGKILL");
      const said = await new Response(child.stderr).text();
      skip("a service on a real systemd", `no container here: ${said.trim().slice(0, 200)}`);
      finish();
    }
    const container = new Container(leader);
    await container.#waitForBoot();
    return container;
  }

  /** Runs a program inside, with what it says shown as it comes; its exit code. */
  async run(words: readonly string[]): Promise<number> {
    const child = Bun.spawn(this.#enterCommand(words), {
      stdin: "ignore",
      stdout: "inherit",
      stderr: "inherit",
    });
    return child.exited;
  }

  #enterCommand(words: readonly string[]): string[] {
    const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    const enter = ["nsenter", "-t", String(this.#leader), "-m", "-u", "-i", "-n", "-p", "-C"];
    return [...enter, "env", "-i", `PATH=${PATH}`, "LC_ALL=C", ...words];
  }

  async #waitForBoot(): Promise<void> {
    const until = Date.now() + PATIENCE;
    while (Date.now() < until) {
      const asked = Bun.spawnSync(this.#enterCommand(["systemctl", "is-system-running"]));
      if (/^(?:running|degraded)/.test(asked.stdout.toString())) return;
      await Bun.sleep(100);
    }
    throw new Error("the container's systemd does not get ready");
  }
}

function rootFileSystem(): string {
  if (KEPT_ROOT !== undefined && existsSync(join(KEPT_ROOT, "etc"))) return KEPT_ROOT;
  const root = KEPT_ROOT ?? join(mkdtempSync("/var/tmp/berth-systemd-"), "root");
  if (KEPT_ROOT === undefined) atEnd(() => rmSync(dirname(root), { recursive: true, force: true }));
  for (let tries = 1; ; tries += 1) {
    mkdirSync(root, { recursive: true });
    const said = bootstrap(root);
    if (said === null) break;
    if (tries === MAX_ATTEMPTS) throw new Error(`debootstrap failed ${tries} times: ${said}`);
    console.log(`debootstrap failed, and is tried again: ${said}`);
    // What is half there is taken for done.
    rmSync(root, { recursive: true, force: true });
  }
  // Every boot is that of another machine.
  rmSync(join(root, "etc/machine-id"), { force: true });
  return root;
}

/** Null where all went well: mirrors do not always answer. */
function bootstrap(root: string): string | null {
  const words = ["debootstrap", "--variant=minbase", `--include=${PACKAGES}`, SUITE, root];
  const { exitCode, stdout } = Bun.spawnSync(words, { stdin: "ignore" });
  return exitCode === 0 ? null : stdout.toString().slice(-1_000);
}

/** The first process inside, as seen from here. */
async function waitForLeader(pid: number): Promise<number | null> {
  const until = Date.now() + PATIENCE;
  while (Date.now() < until && existsSync(`/proc/${pid}`)) {
    const leader = childrenOf(pid).find((child) => INIT.test(commandOf(child)));
    if (leader !== undefined) return leader;
    await Bun.sleep(100);
  }
  return null;
}

/** The container's init. Before it begins, systemd-nspawn has children of its own name. */
const INIT = /\/(?:systemd|init)$/;

const childrenOf = (pid: number): number[] =>
  readIfThere(`/proc/${pid}/task/${pid}/children`).trim().split(" ").map(Number).filter(Boolean);

const commandOf = (pid: number): string => readIfThere(`/proc/${pid}/cmdline`).split("\0")[0] ?? "";

/** A process may end between being listed and being read. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
