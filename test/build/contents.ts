// What is inside an executable, and what is not.
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

/** The list beside the executables names what an executable itself says is in it. */
export async function checkSbom(executable: Executable, out: string): Promise<void> {
  const name = readdirSync(out).find((one) => one.endsWith(".cdx.json")) ?? "";
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
  const inside = packages.map(({ name, version }) => `${name} ${version}`);
  const same = inside.length > 10 && Bun.deepEquals(listed, inside);
  check(`the SBOM lists the ${inside.length} packages inside`, same, { listed, inside });
  const bare = libraries.filter(({ hashes }) => hashes === undefined);
  check("each with the hash of the lock file", bare.length === 0, bare);
}

export async function checkContents(executable: Executable, work: string): Promise<void> {
  const found = readFileSync(executable.path).indexOf(work);
  check("no path of the machine that built it is inside", found === -1, found);
  const folder = join(work, "libc");
  // A command that takes a lock needs the C library, and shows that the others do not.
  const server = await startServer(executable, work, "serve", "--data", folder);
  await server.stop();
  const asks = async (...words: string[]): Promise<boolean> => {
    const log = join(folder, `asked-${words[0]}`);
    const host = { ...executable.host, env: { LD_DEBUG: "files", LD_DEBUG_OUTPUT: log } };
    await runExecutable({ ...executable, host }, work, ...words);
    const logs = readdirSync(folder).filter((name) => name.startsWith(`asked-${words[0]}`));
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
  const asked = [await asks("version"), await asks(...init), await asks("slots", "--data", folder)];
  const lazily = Bun.deepEquals(asked, [false, false, true]);
  check("the C library is asked for with the first lock, not at the start", lazily, asked);
}
