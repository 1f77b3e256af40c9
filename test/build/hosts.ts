import { copyFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { ensurePackages } from "../support/suite-harness.ts";

/** How executables of one target are run on this machine. */
export interface ExecutionHost {
  readonly target: string;
  /** The target that `berth version` prints. */
  readonly system: string;
  /** Command words that precede the executable. */
  readonly launcher: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export const nativeHost: ExecutionHost = {
  target: "linux-x64",
  system: "linux-x64",
  launcher: [],
  env: {},
};

const EMULATOR = "qemu-aarch64-static";
const ARM_LIBRARIES = "/usr/aarch64-linux-gnu";

/** Null when the emulator cannot be installed. */
export function findArmEmulator(): ExecutionHost | null {
  const loader = `${ARM_LIBRARIES}/lib/ld-linux-aarch64.so.1`;
  if (!ensurePackages({ "qemu-user-static": EMULATOR, "libc6-arm64-cross": loader })) return null;
  const launcher = [EMULATOR, "-L", ARM_LIBRARIES];
  return { target: "linux-arm64", system: "linux-arm64", launcher, env: {} };
}

const LIBRARIES = "/usr/lib/x86_64-linux-gnu";
const MUSL = "/lib/ld-musl-x86_64.so.1";

/** musl with this machine's libstdc++ and `musl.c` as a shim; null when it cannot be installed. */
export function prepareMuslHost(folder: string): ExecutionHost | null {
  const stdlib = `${LIBRARIES}/libstdc++.so.6`;
  if (
    !ensurePackages({
      musl: MUSL,
      "libstdc++6": stdlib,
      gcc: "gcc",
      "libc6-dev": "/usr/include/stdio.h",
    })
  )
    return null;
  copyFileSync(stdlib, join(folder, "libstdc++.so.6"));
  copyFileSync(`${LIBRARIES}/libgcc_s.so.1`, join(folder, "libgcc_s.so.1"));
  for (const name of ["libc.musl-x86_64.so.1", "libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"]) {
    symlinkSync(MUSL, join(folder, name));
  }
  const shim = join(folder, "shim.so");
  const source = join(import.meta.dir, "musl.c");
  const compiler = ["gcc", "-shared", "-fPIC", "-nostdlib", "-o", shim, source];
  if (Bun.spawnSync(compiler).exitCode !== 0) return null;
  const env = { LD_LIBRARY_PATH: folder, LD_PRELOAD: shim };
  return { target: "linux-x64-musl", system: "linux-x64", launcher: [], env };
}
