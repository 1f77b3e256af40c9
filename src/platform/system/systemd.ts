import { existsSync } from "node:fs";

/** Whether systemd manages this machine. */
export const hasSystemd = (): boolean => existsSync("/run/systemd/system");

const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export interface ToolResult {
  readonly ok: boolean;
  /** stdout and stderr, without the last line end. */
  readonly output: string;
}

/** Kills the tool after `timeoutMs`; 0: no timeout. */
export function runTool(command: readonly string[], timeoutMs = 0): ToolResult {
  const [tool = ""] = command;
  if (Bun.which(tool, { PATH }) === null) return { ok: false, output: `${tool} is not installed` };
  const { exitCode, exitedDueToTimeout, stdout, stderr } = Bun.spawnSync([...command], {
    stdin: "ignore",
    env: { PATH, LC_ALL: "C" },
    ...(timeoutMs > 0 && { timeout: timeoutMs, killSignal: "SIGKILL" }),
  });
  if (exitedDueToTimeout === true) {
    return { ok: false, output: `${tool} did not answer within ${timeoutMs / 1_000} s` };
  }
  return { ok: exitCode === 0, output: `${stdout.toString()}${stderr.toString()}`.trimEnd() };
}

export const systemctl = (...command: readonly string[]): ToolResult =>
  runTool(["systemctl", ...command]);

/** The last log lines of a service. */
export const readServiceLog = (unit: string, lines = 20): string =>
  runTool(["journalctl", "-u", unit, "-n", String(lines), "--no-pager", "-o", "cat"]).output;

export const isActive = (unit: string): boolean => systemctl("is-active", "--quiet", unit).ok;
