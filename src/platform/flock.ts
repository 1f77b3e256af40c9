import { dlopen, FFIType } from "bun:ffi";

const LOCK_EX = 2;
const LOCK_NB = 4;

/** Where C libraries keep themselves: glibc, musl, macOS. */
const LIBRARIES = [
  "libc.so.6",
  `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`,
  "libSystem.dylib",
];

/** Takes the exclusive lock on an open file without waiting; false when another holds it. */
export function flock(fd: number): boolean {
  return libc().flock(fd, LOCK_EX | LOCK_NB) === 0;
}

const load = (library: string) =>
  dlopen(library, { flock: { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 } }).symbols;

let loaded: ReturnType<typeof load> | null = null;

function libc(): ReturnType<typeof load> {
  if (loaded !== null) return loaded;
  for (const library of LIBRARIES) {
    try {
      loaded = load(library);
      return loaded;
    } catch {
      continue;
    }
  }
  throw new Error("no C library found to lock the data folder with");
}
