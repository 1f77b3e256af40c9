// Mounts and processes of a rig's own: whatever becomes of it, nothing stays behind on the machine.
import { atEnd, makeTempFolder } from "../../support/suite-harness.ts";

const FOLDER = "BERTH_SUITE_FOLDER";

/**
 * Everything in there ends with the process that began it, and so do its mounts. The first process
 * inherits orphans: a shell buries them.
 */
const UNSHARE = `setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc sh -c`;
const INSIDE = [...UNSHARE.split(" "), '"$@"; exit $?', "sh"];

/**
 * Runs the script again in namespaces of its own and ends with its code; in there, gives it a
 * folder to work in. Where the machine does not allow that, says why.
 */
export async function enterNamespaces(): Promise<
  { readonly folder: string } | { readonly why: string }
> {
  const given = process.env[FOLDER];
  if (given !== undefined) return { folder: given };
  const tried = Bun.spawnSync([...INSIDE, "true"]);
  if (tried.exitCode !== 0) return { why: tried.stderr.toString().trim() };
  const inside = Bun.spawn([...INSIDE, process.execPath, ...process.argv.slice(1)], {
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, [FOLDER]: makeTempFolder() },
  });
  atEnd(() => inside.kill("SIGKILL"));
  process.exit(await inside.exited);
}
