// Runs the compiled binary without any network: every command runs in its own network namespace, if
// the machine allows that. A command can also run with simulated hardware of another machine.
import { onTestFinished } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildBinary } from "./binary.ts";
import { tempFolder } from "./temp-folder.ts";

const succeeds = (...command: string[]): boolean => {
  try {
    return Bun.spawnSync(command, { stdout: "ignore", stderr: "ignore" }).exitCode === 0;
  } catch {
    return false;
  }
};

const OFFLINE = ["unshare", "-rn"];

/** Whether commands run without any network; otherwise they run normally. */
export const isOffline = succeeds(...OFFLINE, "true");
/** Whether a command can run with simulated hardware. */
export const canFakeHardware = succeeds("unshare", "-rnm", "mount", "--bind", "/etc", "/sys");

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const spawnOptions = { cwd: "/", env: {} } as const;
const prefix = isOffline ? [...OFFLINE, "--"] : [];

function runCommand(command: readonly string[]): CommandResult {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], {
    ...spawnOptions,
    stdin: "ignore",
  });
  return { code: exitCode, stdout: stdout.toString(), stderr: stderr.toString() };
}

/** Runs one command to its end. */
export const runBerth = (...args: string[]): CommandResult =>
  runCommand([...prefix, buildBinary(), ...args]);

/** Runs a command that must succeed and returns its output. */
export function runOrThrow(...args: string[]): string {
  return outputOrThrow(runBerth(...args), args);
}

export const runJsonOrThrow = (...args: string[]): unknown =>
  JSON.parse(runOrThrow(...args, "--json"));

function outputOrThrow({ code, stdout, stderr }: CommandResult, args: readonly string[]): string {
  if (code !== 0) throw new Error(`berth ${args.join(" ")}: exit ${code}: ${stderr}${stdout}`);
  return stdout;
}

/** Runs commands as on a machine with another machine id and without readable hardware. */
export function makeOtherMachineRunner(): (...args: string[]) => string {
  const folder = tempFolder();
  const [id, sys] = [join(folder, "machine-id"), join(folder, "sys")];
  writeFileSync(id, `${crypto.randomUUID().replaceAll("-", "")}\n`);
  mkdirSync(sys);
  const script = `mount --bind ${id} /etc/machine-id && mount --bind ${sys} /sys && exec "$@"`;
  const command = ["unshare", "-rnm", "sh", "-c", script, "sh", buildBinary()];
  return (...args) => outputOrThrow(runCommand([...command, ...args]), args);
}

/** Starts a server that is reached through its socket only; it is killed after the test. */
export async function serve(
  folder: string,
  ...flags: readonly string[]
): Promise<{ stop(): Promise<number> }> {
  const args = ["serve", "--data", folder, "--listen", "127.0.0.1:0", ...flags];
  const child = Bun.spawn([...prefix, buildBinary(), ...args], {
    ...spawnOptions,
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
  if (!/^ready$/m.test(text))
    throw new Error(`the server did not start: ${await child.stderr.text()}`);
  return {
    async stop() {
      child.kill("SIGTERM");
      return child.exited;
    },
  };
}
