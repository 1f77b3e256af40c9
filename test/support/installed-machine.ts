// Simulates the files of a machine with an installed service: commands run in a mount namespace in
// which /etc/berth and /var/lib/berth are folders of the test. No systemd runs there.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildBinary } from "./binary.ts";
import { tempFolder } from "./temp-folder.ts";

const MOUNT_NAMESPACE = ["unshare", "--map-root-user", "--mount", "sh", "-euc"];

/** Copies back the hidden files of the machine that a process needs. */
const SCRIPT = `
  mount -t tmpfs -o mode=755 none /mnt
  cp /etc/passwd /etc/group /mnt/
  [ ! -e /etc/machine-id ] || cp /etc/machine-id /mnt/
  mkdir /mnt/berth
  mount --bind "$1/etc" /mnt/berth
  mount --rbind /mnt /etc
  mount -t tmpfs -o mode=755 none /run
  [ ! -d /var/backups ] || mount -t tmpfs none /var/backups
  mount -t tmpfs -o mode=755 none /var/lib
  mkdir /var/lib/berth
  mount --bind "$1/data" /var/lib/berth
  shift
  exec "$@"`;

/** Whether this machine allows a test to create a mount namespace. */
export const canMount =
  Bun.which("unshare") !== null &&
  Bun.spawnSync([...MOUNT_NAMESPACE, "mount -t tmpfs none /etc"]).success;

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface InstalledMachine {
  /** The folder that is /etc/berth there. */
  readonly etc: string;
  /** The folder that is /var/lib/berth there. */
  readonly data: string;
  readonly run: (...args: string[]) => Promise<CommandResult>;
  /** Runs another program than the built executable. */
  readonly runProgram: (...command: string[]) => Promise<CommandResult>;
}

/** `settings` is the content of /etc/berth/berth.toml; null: there is no such file. */
export function makeInstalledMachine(settings: string | null): InstalledMachine {
  const folder = tempFolder();
  const [etc, data] = [join(folder, "etc"), join(folder, "data")];
  mkdirSync(etc);
  mkdirSync(data, { mode: 0o700 });
  chmodSync(folder, 0o755);
  if (settings !== null) writeFileSync(join(etc, "berth.toml"), settings);
  const runProgram = async (...command: string[]): Promise<CommandResult> => {
    const child = Bun.spawn([...MOUNT_NAMESPACE, SCRIPT, "sh", folder, ...command], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      cwd: "/",
      env: { PATH: process.env["PATH"] ?? "" },
    });
    const [code, stdout, stderr] = await Promise.all([
      child.exited,
      child.stdout.text(),
      child.stderr.text(),
    ]);
    return { code, stdout, stderr };
  };
  return { etc, data, runProgram, run: (...args) => runProgram(buildBinary(), ...args) };
}
