// What an executable contains, and what it loads.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Notices } from "../../src/platform/embedded/notices.ts";
import { runExecutable, startServer, type Executable } from "./smoke.ts";

interface Component {
  readonly type: string;
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly hashes?: readonly object[];
}

export interface SbomLibrary {
  /** Name and version. */
  readonly title: string;
  readonly isHashed: boolean;
}

export function readSbomLibraries(path: string): SbomLibrary[] {
  const { components } = JSON.parse(readFileSync(path, "utf8")) as {
    readonly components: readonly Component[];
  };
  return components
    .filter(({ type }) => type === "library")
    .map(({ group, name, version, hashes }) => ({
      title: `${group === undefined ? "" : `${group}/`}${name} ${version}`,
      isHashed: hashes !== undefined,
    }));
}

/** Name and version of each package that an executable reports. */
export async function readBundledPackages(
  executable: Executable,
  folder: string,
): Promise<readonly string[]> {
  const text = (await runExecutable(executable, folder, "notices", "--json")) ?? "{}";
  return (JSON.parse(text) as Notices).packages.map(({ name, version }) => `${name} ${version}`);
}

/** Which commands load the C library. Only one that takes a lock needs it. */
export async function findLibcUsers(
  executable: Executable,
  work: string,
): Promise<Record<string, boolean>> {
  const folder = join(work, "libc");
  // Creates a folder to take a lock of.
  const server = await startServer(executable, work, "serve", "--data", folder);
  await server.stop();
  const loadsLibc = async (...words: string[]): Promise<boolean> => {
    const log = join(folder, `loaded-${words[0]}`);
    const host = { ...executable.host, env: { LD_DEBUG: "files", LD_DEBUG_OUTPUT: log } };
    await runExecutable({ ...executable, host }, work, ...words);
    const logs = readdirSync(folder).filter((name) => name.startsWith(`loaded-${words[0]}`));
    const text = logs.map((name) => readFileSync(join(folder, name), "utf8")).join("");
    return /opening file=\S*libc\.so/.test(text);
  };
  const desk = ["--no-passphrase", "--name", "A", "--dir", join(work, "bare"), "--product", "CAD"];
  return {
    version: await loadsLibc("version"),
    "vendor init": await loadsLibc("vendor", "init", ...desk),
    slots: await loadsLibc("slots", "--data", folder),
  };
}
