// Runs a suite in namespaces: its mounts and processes end with it, even if it is killed.
import { atEnd, makeTempFolder } from "../../support/suite-harness.ts";

const FOLDER_VARIABLE = "BERTH_SUITE_FOLDER";

/**
 * Everything inside ends with the process that started it, including the mounts. The first process
 * inherits orphaned processes; a shell reaps them.
 */
const UNSHARE_COMMAND = `setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc sh -c`;
const NAMESPACE_COMMAND = [...UNSHARE_COMMAND.split(" "), '"$@"; exit $?', "sh"];

/**
 * Runs this script again in new namespaces and exits with its code. Inside, returns the folder to
 * work in. If the machine does not allow namespaces, returns the reason.
 */
export async function enterNamespaces(): Promise<
  { readonly folder: string } | { readonly reason: string }
> {
  const folder = process.env[FOLDER_VARIABLE];
  if (folder !== undefined) return { folder };
  const attempt = Bun.spawnSync([...NAMESPACE_COMMAND, "true"]);
  if (attempt.exitCode !== 0) return { reason: attempt.stderr.toString().trim() };
  const child = Bun.spawn([...NAMESPACE_COMMAND, process.execPath, ...process.argv.slice(1)], {
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, [FOLDER_VARIABLE]: makeTempFolder() },
  });
  atEnd(() => child.kill("SIGKILL"));
  process.exit(await child.exited);
}
