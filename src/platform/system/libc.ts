import { dlopen, FFIType } from "bun:ffi";

/** File names of the C library: glibc, musl, macOS. */
const LIBRARIES = [
  "libc.so.6",
  `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`,
  "libSystem.dylib",
];

const { i32, u32, i64, u64, ptr } = FFIType;

const load = (library: string) =>
  dlopen(library, {
    flock: { args: [i32, i32], returns: i32 },
    socket: { args: [i32, i32, i32], returns: i32 },
    sendto: { args: [i32, ptr, u64, i32, ptr, u32], returns: i64 },
    close: { args: [i32], returns: i32 },
    clock_gettime: { args: [i32, ptr], returns: i32 },
    getpgrp: { args: [], returns: i32 },
    tcgetpgrp: { args: [i32], returns: i32 },
    sigaction: { args: [i32, ptr, ptr], returns: i32 },
  }).symbols;

let loaded: ReturnType<typeof load> | null = null;

/** System calls that the runtime does not provide. */
export function libc(): ReturnType<typeof load> {
  if (loaded !== null) return loaded;
  for (const library of LIBRARIES) {
    try {
      loaded = load(library);
      return loaded;
    } catch {
      continue;
    }
  }
  throw new Error("no C library found");
}
