// Runs a program in namespaces: its mounts and processes end with it, even if it is killed.
import { atEnd } from "../../support/suite-harness.ts";

/**
 * Everything inside ends with the process that started it, including the mounts. The first process
 * inherits orphaned processes; a shell reaps them.
 */
const UNSHARE_COMMAND = `setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc sh -c`;
const NAMESPACE_COMMAND = [...UNSHARE_COMMAND.split(" "), '"$@"; exit $?', "sh"];

/** Why this machine does not allow namespaces; null: it does. */
export function findNamespaceObstacle(): string | null {
  const attempt = Bun.spawnSync([...NAMESPACE_COMMAND, "true"]);
  return attempt.exitCode === 0 ? null : attempt.stderr.toString().trim();
}

export interface ScriptResult {
  readonly code: number;
  readonly stdout: string;
}

/** Runs a script in new namespaces, and forwards its standard error. */
export async function runInNamespaces(...script: readonly string[]): Promise<ScriptResult> {
  const child = Bun.spawn([...NAMESPACE_COMMAND, process.execPath, ...script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  atEnd(() => child.kill("SIGKILL"));
  const stdout = await new Response(child.stdout).text();
  return { code: await child.exited, stdout };
}
