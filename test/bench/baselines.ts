// The servers that Berth's speed is compared with, compiled like the product, so that only the
// design differs.
import { join } from "node:path";
import { repositoryRoot, mainEntry } from "../../build/bundled-packages.ts";
import { compileOptions, isolationOptions, testDefine } from "../../build/executable.ts";

export const outputFolder = join(repositoryRoot, "build", "out");

export interface Baselines {
  /** Berth without a journal: its store writes nothing. */
  readonly memory: string;
  /** The runtime alone: the ceiling. */
  readonly raw: string;
  /** The framework alone. */
  readonly elysia: string;
  readonly sqlite: string;
}

let built: Promise<Baselines> | null = null;

/** Builds the baselines once per process. */
export const buildBaselines = (): Promise<Baselines> => (built ??= buildAll());

async function buildAll(): Promise<Baselines> {
  return {
    memory: await build("memory", mainEntry, [memoryStorePlugin]),
    raw: await build("raw", join(import.meta.dir, "baseline-raw.ts")),
    elysia: await build("elysia", join(import.meta.dir, "baseline-elysia.ts")),
    sqlite: await build("sqlite", join(import.meta.dir, "baseline-sqlite.ts")),
  };
}

const memoryStorePlugin: Bun.BunPlugin = {
  name: "memory-store",
  setup({ onResolve }) {
    onResolve({ filter: /\/store\/store\.ts$/ }, () => ({
      path: join(import.meta.dir, "memory-store.ts"),
    }));
  },
};

async function build(name: string, entry: string, plugins: Bun.BunPlugin[] = []): Promise<string> {
  const outfile = join(outputFolder, `bench-${name}`);
  const define = { ...compileOptions.define, ...testDefine, BERTH_COMMIT: '"bench"' };
  const compile = { ...isolationOptions, outfile };
  await Bun.build({ ...compileOptions, entrypoints: [entry], plugins, define, compile });
  return outfile;
}
