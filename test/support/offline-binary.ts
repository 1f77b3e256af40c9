// The compiled binary where nothing goes in or out: every command in a network namespace of its own
// with no way out, where the machine allows that; one can also be given another machine's hardware.
import { onTestFinished } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildBinary } from "./binary.ts";
import { tempFolder } from "./temp-folder.ts";

const works = (...words: string[]): boolean => {
  try {
    return Bun.spawnSync(words, { stdout: "ignore", stderr: "ignore" }).exitCode === 0;
  } catch {
    return false;
  }
};

const OFFLINE = ["unshare", "-rn"];

/** Whether commands run without any network; else they run plainly. */
export const isOffline = works(...OFFLINE, "true");
/** Whether a command can be shown other hardware than there is. */
export const canFakeHardware = works("unshare", "-rnm", "mount", "--bind", "/etc", "/sys");

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const around = { cwd: "/", env: {} } as const;
const start = isOffline ? [...OFFLINE, "--"] : [];

function spawnToEnd(words: readonly string[]): CommandResult {
  const done = Bun.spawnSync([...words], { ...around, stdin: "ignore" });
  return { code: done.exitCode, stdout: done.stdout.toString(), stderr: done.stderr.toString() };
}

/** One command, to its end. */
export const runBerth = (...words: string[]): CommandResult =>
  spawnToEnd([...start, buildBinary(), ...words]);

/** One command that is meant to be done; what it printed. */
export function runOrThrow(...words: string[]): string {
  return printed(runBerth(...words), words);
}

export const runJsonOrThrow = (...words: string[]): unknown =>
  JSON.parse(runOrThrow(...words, "--json"));

function printed({ code, stdout, stderr }: CommandResult, words: readonly string[]): string {
  if (code !== 0) throw new Error(`berth ${words.join(" ")}: exit ${code}: ${stderr}${stdout}`);
  return stdout;
}

/** A machine with another name and no hardware that shows: commands run as if they ran there. */
export function makeOtherMachineRunner(): (...words: string[]) => string {
  const folder = tempFolder();
  const [id, sys] = [join(folder, "machine-id"), join(folder, "sys")];
  writeFileSync(id, `${crypto.randomUUID().replaceAll("-", "")}\n`);
  mkdirSync(sys);
  const disguise = `mount --bind ${id} /etc/machine-id && mount --bind ${sys} /sys && exec "$@"`;
  const prefix = ["unshare", "-rnm", "sh", "-c", disguise, "sh"];
  return (...words) => printed(spawnToEnd([...prefix, buildBinary(), ...words]), words);
}

/** A server that nobody calls but through its socket; gone with the end of the test at the latest. */
export async function serve(
  folder: string,
  ...more: readonly string[]
): Promise<{ stop(): Promise<number> }> {
  const words = ["serve", "--data", folder, "--listen", "127.0.0.1:0", ...more];
  const child = Bun.spawn([...start, buildBinary(), ...words], {
    ...around,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await child.exited;
  });
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    text += decoder.decode(chunk, { stream: true });
    if (/^ready$/m.test(text)) break;
  }
  if (!/^ready$/m.test(text)) throw new Error(`it is not ready: ${await child.stderr.text()}`);
  return {
    async stop() {
      child.kill("SIGTERM");
      return child.exited;
    },
  };
}
