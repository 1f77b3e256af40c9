import { existsSync } from "node:fs";

/** Is this machine run by systemd? */
export const hasSystemd = (): boolean => existsSync("/run/systemd/system");

const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export interface ToolResult {
  readonly ok: boolean;
  /** What it said, whichever way; without the last line end. */
  readonly output: string;
}

/** `patience`, in milliseconds: it is ended when it takes longer; 0: it may take what it needs. */
export function runTool(words: readonly string[], patience = 0): ToolResult {
  const [tool = ""] = words;
  if (Bun.which(tool, { PATH }) === null) return { ok: false, output: `${tool} is not installed` };
  const { exitCode, exitedDueToTimeout, stdout, stderr } = Bun.spawnSync([...words], {
    stdin: "ignore",
    env: { PATH, LC_ALL: "C" },
    ...(patience > 0 && { timeout: patience, killSignal: "SIGKILL" }),
  });
  if (exitedDueToTimeout === true) {
    return { ok: false, output: `${tool} did not answer within ${patience / 1_000} s` };
  }
  return { ok: exitCode === 0, output: `${stdout.toString()}${stderr.toString()}`.trimEnd() };
}

export const systemctl = (...words: readonly string[]): ToolResult =>
  runTool(["systemctl", ...words]);

/** What a service said last. */
export const readServiceLog = (unit: string, lines = 20): string =>
  runTool(["journalctl", "-u", unit, "-n", String(lines), "--no-pager", "-o", "cat"]).output;

export const isActive = (unit: string): boolean => systemctl("is-active", "--quiet", unit).ok;
