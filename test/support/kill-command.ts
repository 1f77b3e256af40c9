// Kills a command when a file of a certain name appears, which shows how far it has come.
import { existsSync, readdirSync } from "node:fs";
import { buildBinary } from "./binary.ts";

export const spawnBerth = (...args: string[]): Bun.Subprocess<"ignore", "ignore", "ignore"> =>
  Bun.spawn([buildBinary(), ...args], {
    cwd: "/",
    env: {},
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });

interface KillMoment {
  readonly folder: string;
  /** Of the file; null: at a random instant up to `longest` ms. */
  readonly name: RegExp | null;
  readonly longest: number;
}

/** Returns the exit code: 0 if the command was faster. */
export async function killCommand(
  child: Bun.Subprocess,
  { folder, name, longest }: KillMoment,
): Promise<number> {
  if (name === null) {
    await Promise.race([Bun.sleep(Math.random() * longest), child.exited]);
  } else {
    const hasAppeared = (): boolean =>
      existsSync(folder) && readdirSync(folder).some((file) => name.test(file));
    // Without a pause, because a step may take less than a millisecond.
    while (child.exitCode === null && !hasAppeared()) {
      await new Promise(setImmediate);
    }
  }
  child.kill("SIGKILL");
  return child.exited;
}
