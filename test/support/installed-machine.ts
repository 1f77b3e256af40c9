// A machine with an installed service, as far as files go: commands run in mounts of their own, in
// which /etc/berth and /var/lib/berth are a test's folders, and which no systemd runs.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildBinary } from "./binary.ts";
import { tempFolder } from "./temp-folder.ts";

const OWN_MOUNTS = ["unshare", "--map-root-user", "--mount", "sh", "-euc"];

/** What the mounts hide of the machine is put back as far as a process needs it. */
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

/** Whether this machine lets a test have mounts of its own. */
export const canMount =
  Bun.which("unshare") !== null &&
  Bun.spawnSync([...OWN_MOUNTS, "mount -t tmpfs none /etc"]).success;

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface InstalledMachine {
  /** What is /etc/berth there. */
  readonly etc: string;
  /** What is /var/lib/berth there. */
  readonly data: string;
  readonly run: (...words: string[]) => Promise<CommandResult>;
  /** The same with an executable of another place. */
  readonly runProgram: (...words: string[]) => Promise<CommandResult>;
}

/** The settings are those of /etc/berth/berth.toml; null: there is no such file. */
export function makeInstalledMachine(settings: string | null): InstalledMachine {
  const folder = tempFolder();
  const [etc, data] = [join(folder, "etc"), join(folder, "data")];
  mkdirSync(etc);
  mkdirSync(data, { mode: 0o700 });
  chmodSync(folder, 0o755);
  if (settings !== null) writeFileSync(join(etc, "berth.toml"), settings);
  const runProgram = async (...words: string[]): Promise<CommandResult> => {
    const child = Bun.spawn([...OWN_MOUNTS, SCRIPT, "sh", folder, ...words], {
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
  return { etc, data, runProgram, run: (...words) => runProgram(buildBinary(), ...words) };
}
