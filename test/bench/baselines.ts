// What Berth's speed is held against, compiled as the product is, so that only the design differs.
import { join } from "node:path";
import { repositoryRoot, mainEntry } from "../../build/bundled-packages.ts";
import { compileOptions, isolationOptions } from "../../build/executable.ts";

export const outputFolder = join(repositoryRoot, "build", "out");

export interface Baselines {
  /** Berth itself, over a store that keeps nothing. */
  readonly ceiling: string;
  /** The runtime alone. */
  readonly raw: string;
  /** The framework alone. */
  readonly elysia: string;
  readonly sqlite: string;
}

let built: Promise<Baselines> | null = null;

/** Once, whoever asks. */
export const buildBaselines = (): Promise<Baselines> => (built ??= buildAll());

async function buildAll(): Promise<Baselines> {
  return {
    ceiling: await build("ceiling", mainEntry, [memoryStorePlugin]),
    raw: await build("raw", join(import.meta.dir, "baseline-raw.ts")),
    elysia: await build("elysia", join(import.meta.dir, "baseline-elysia.ts")),
    sqlite: await build("sqlite", join(import.meta.dir, "baseline-sqlite.ts")),
  };
}

const memoryStorePlugin: Bun.BunPlugin = {
  name: "a store that keeps nothing",
  setup({ onResolve }) {
    onResolve({ filter: /\/store\/store\.ts$/ }, () => ({
      path: join(import.meta.dir, "memory-store.ts"),
    }));
  },
};

async function build(name: string, from: string, plugins: Bun.BunPlugin[] = []): Promise<string> {
  const outfile = join(outputFolder, `bench-${name}`);
  const define = { ...compileOptions.define, BERTH_COMMIT: '"bench"' };
  const compile = { ...isolationOptions, outfile };
  await Bun.build({ ...compileOptions, entrypoints: [from], plugins, define, compile });
  return outfile;
}
