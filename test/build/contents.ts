// Checks what an executable contains and what it must not contain.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Notices } from "../../src/platform/notices.ts";
import { check } from "../support/suite-harness.ts";
import { runExecutable, startServer, type Executable } from "./smoke.ts";

interface Component {
  readonly type: string;
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly hashes?: readonly object[];
}

/** Checks that the SBOM beside the executables lists the packages that an executable reports. */
export async function checkSbom(executable: Executable, out: string): Promise<void> {
  const name = readdirSync(out).find((file) => file.endsWith(".cdx.json")) ?? "";
  const { components } = JSON.parse(readFileSync(join(out, name), "utf8")) as {
    readonly components: readonly Component[];
  };
  const libraries = components.filter(({ type }) => type === "library");
  const listed = libraries.map(
    ({ group, name, version }) => `${group === undefined ? "" : `${group}/`}${name} ${version}`,
  );
  const { packages } = JSON.parse(
    (await runExecutable(executable, out, "notices", "--json")) ?? "{}",
  ) as Notices;
  const bundled = packages.map(({ name, version }) => `${name} ${version}`);
  const same = bundled.length > 10 && Bun.deepEquals(listed, bundled);
  check(`the SBOM lists the ${bundled.length} packages in the executable`, same, {
    listed,
    bundled,
  });
  const unhashed = libraries.filter(({ hashes }) => hashes === undefined);
  check("every package in the SBOM has the hash of the lock file", unhashed.length === 0, unhashed);
}

export async function checkContents(executable: Executable, work: string): Promise<void> {
  const offset = readFileSync(executable.path).indexOf(work);
  check("the executable contains no path of the build machine", offset === -1, offset);
  const folder = join(work, "libc");
  // Only a command that takes a lock needs the C library; this creates a folder for one.
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
  const init = [
    "vendor",
    "init",
    "--no-passphrase",
    "--name",
    "A",
    "--dir",
    join(work, "bare"),
    "--product",
    "CAD",
  ];
  const loaded = [
    await loadsLibc("version"),
    await loadsLibc(...init),
    await loadsLibc("slots", "--data", folder),
  ];
  const isLazy = Bun.deepEquals(loaded, [false, false, true]);
  check("the C library is loaded with the first lock, not at the start", isLazy, loaded);
}
