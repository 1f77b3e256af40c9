import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const repositoryRoot = join(import.meta.dir, "..");
export const mainEntry = join(repositoryRoot, "src", "main.ts");
export const webFolder = join(repositoryRoot, "src", "web");

/** The browser's scripts and styles; each is bundled into one file of the same name. */
export const pageEntries = ["page.tsx", "page.css", "docs.tsx", "docs.css"].map((name) =>
  join(webFolder, name),
);

/** The same for every bundle, because it decides which packages are bundled. */
export const productionDefine = { "process.env.NODE_ENV": '"production"' } as const;

/** A package whose code is in the executable. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** An SPDX id or expression. */
  readonly license: string;
  /** The text of all its license and notice files. */
  readonly text: string;
  /** Hash of the published package; null if the lock file has none. */
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

/** Uses the bundler's own list: more is installed, and less is declared. */
export async function findBundledPackages(): Promise<BundledPackage[]> {
  const files = [
    ...(await listBundledFiles([mainEntry], "bun")),
    ...(await listBundledFiles(pageEntries, "browser")),
  ];
  const folders = new Set(files.flatMap((file) => findPackageFolder(file) ?? []));
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

const PUBLIC_DOMAIN = "Released into the public domain by its authors: https://unlicense.org";

const idOf = ({ name, version }: Pick<BundledPackage, "name" | "version">): string =>
  `${name}@${version}`;

/** The package that a bundled file is from; the bundler's paths start at the working folder. */
function findPackageFolder(file: string): string | null {
  const path = /^.*\bnode_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0];
  return path === undefined ? null : join(process.cwd(), path);
}

function readPackage(folder: string, hashes: ReadonlyMap<string, string>): BundledPackage {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  const { name, version, license, dependencies = {}, peerDependencies = {} } = manifest;
  const texts = readdirSync(folder)
    .filter((file) => /^(?:licen[cs]e|notice|copying)/i.test(file))
    .toSorted()
    .map((file) => readFileSync(join(folder, file), "utf8").trim());
  // A dedication to the public domain requires no text.
  if (license === "Unlicense" && texts.length === 0) texts.push(PUBLIC_DOMAIN);
  if (license === undefined || texts.length === 0) {
    throw new Error(
      `${name} ${version} has no license field or no license file, so it cannot be distributed`,
    );
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
