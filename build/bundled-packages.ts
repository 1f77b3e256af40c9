import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const repositoryRoot = join(import.meta.dir, "..");
export const mainEntry = join(repositoryRoot, "src", "main.ts");
export const webFolder = join(repositoryRoot, "src", "web");

/** What a browser runs and wears, each with all that it imports in one file of the same name. */
export const pageEntries = ["page.tsx", "page.css", "docs.tsx", "docs.css"].map((name) =>
  join(webFolder, name),
);

/** The same for every bundle: what is in it hangs on this. */
export const productionDefine = { "process.env.NODE_ENV": '"production"' } as const;

/** A package of which code goes into the executable. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** An SPDX id or expression. */
  readonly license: string;
  /** All license and notice files it carries. */
  readonly text: string;
  /** Of the package as published; null where the lock file has none. */
  readonly integrity: string | null;
  /** Names of other packages. */
  readonly dependencies: readonly string[];
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** Asks the bundler itself: what is installed is more, and what is declared is less. */
export async function findBundledPackages(): Promise<BundledPackage[]> {
  const files = [
    ...(await listBundledFiles([mainEntry], "bun")),
    ...(await listBundledFiles(pageEntries, "browser")),
  ];
  const folders = new Set(files.flatMap((file) => packageFolder(file) ?? []));
  const hashes = readIntegrities();
  return [...folders]
    .map((folder) => readPackage(folder, hashes))
    .toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
}

async function listBundledFiles(
  entrypoints: string[],
  target: "bun" | "browser",
): Promise<string[]> {
  const { metafile } = await Bun.build({
    entrypoints,
    target,
    format: "esm",
    define: productionDefine,
    metafile: true,
  });
  return Object.values(metafile?.outputs ?? {}).flatMap(({ inputs }) => Object.keys(inputs));
}

const idOf = ({ name, version }: Pick<BundledPackage, "name" | "version">): string =>
  `${name}@${version}`;

/** Of the package a bundled file belongs to; the bundler names files from the working folder. */
function packageFolder(file: string): string | null {
  const inside = /^.*\bnode_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0];
  return inside === undefined ? null : join(process.cwd(), inside);
}

function readPackage(folder: string, hashes: ReadonlyMap<string, string>): BundledPackage {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  const { name, version, license, dependencies = {}, peerDependencies = {} } = manifest;
  const texts = readdirSync(folder)
    .filter((file) => /^(?:licen[cs]e|notice|copying)/i.test(file))
    .toSorted()
    .map((file) => readFileSync(join(folder, file), "utf8").trim());
  if (license === undefined || texts.length === 0) {
    throw new Error(`${name} ${version} does not say under what license it may be passed on`);
  }
  return {
    name,
    version,
    license: license.replace(/^\((.*)\)$/, "$1"),
    text: texts.join("\n\n"),
    integrity: hashes.get(idOf(manifest)) ?? null,
    dependencies: Object.keys({ ...dependencies, ...peerDependencies }),
  };
}

function readIntegrities(): ReadonlyMap<string, string> {
  const lock = Bun.JSONC.parse(readFileSync(join(repositoryRoot, "bun.lock"), "utf8")) as {
    readonly packages: Readonly<Record<string, readonly unknown[]>>;
  };
  return new Map(
    Object.values(lock.packages).map((entry) => [String(entry[0]), String(entry.at(-1))]),
  );
}
