import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dir, "..");
export const entry = join(root, "src", "main.ts");
export const web = join(root, "src", "web");

/** What a browser runs and wears, each with all that it imports in one file of the same name. */
export const pageEntries = ["page.tsx", "page.css", "docs.tsx", "docs.css"].map((name) =>
  join(web, name),
);

/** The same for every bundle: what is in it hangs on this. */
export const productionOnly = { "process.env.NODE_ENV": '"production"' } as const;

/** A package of which code goes into the executable. */
export interface Package {
  readonly name: string;
  readonly version: string;
  /** An SPDX id or expression. */
  readonly license: string;
  /** All license and notice files it carries. */
  readonly text: string;
  /** Of the package as published; null where the lock file has none. */
  readonly integrity: string | null;
  /** Names of other packages. */
  readonly needs: readonly string[];
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** Asks the bundler itself: what is installed is more, and what is declared is less. */
export async function bundledPackages(): Promise<Package[]> {
  const files = [...(await filesIn([entry], "bun")), ...(await filesIn(pageEntries, "browser"))];
  const folders = new Set(files.flatMap((file) => folderOf(file) ?? []));
  const hashes = integrities();
  return [...folders]
    .map((folder) => readPackage(folder, hashes))
    .toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
}

async function filesIn(entrypoints: string[], target: "bun" | "browser"): Promise<string[]> {
  const { metafile } = await Bun.build({
    entrypoints,
    target,
    format: "esm",
    define: productionOnly,
    metafile: true,
  });
  return Object.values(metafile?.outputs ?? {}).flatMap(({ inputs }) => Object.keys(inputs));
}

const idOf = ({ name, version }: Pick<Package, "name" | "version">): string => `${name}@${version}`;

/** Of the package a bundled file belongs to; the bundler names files from the working folder. */
function folderOf(file: string): string | null {
  const inside = /^.*\bnode_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0];
  return inside === undefined ? null : join(process.cwd(), inside);
}

function readPackage(folder: string, hashes: ReadonlyMap<string, string>): Package {
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
    needs: Object.keys({ ...dependencies, ...peerDependencies }),
  };
}

function integrities(): ReadonlyMap<string, string> {
  const lock = Bun.JSONC.parse(readFileSync(join(root, "bun.lock"), "utf8")) as {
    readonly packages: Readonly<Record<string, readonly unknown[]>>;
  };
  return new Map(
    Object.values(lock.packages).map((entry) => [String(entry[0]), String(entry.at(-1))]),
  );
}
