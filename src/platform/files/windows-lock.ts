import { dlopen, FFIType, ptr } from "bun:ffi";

const { i32, i64, u32, ptr: pointer } = FFIType;

const READ_AND_WRITE = 0xc000_0000;
const NO_SHARING = 0;
const OPEN_OR_CREATE = 4;
const ORDINARY_FILE = 0x80;
const INVALID_HANDLE = -1n;

const load = () =>
  dlopen("kernel32.dll", {
    CreateFileW: { args: [pointer, u32, u32, pointer, u32, u32, pointer], returns: i64 },
    CloseHandle: { args: [i64], returns: i32 },
  }).symbols;

/**
 * The Windows replacement for `flock`: opens a file so that no other process can open it, not even
 * to read it. Returns a function that closes it; null when another process has it open.
 */
export function openExclusively(path: string): (() => void) | null {
  const { CreateFileW, CloseHandle } = load();
  const name = Buffer.from(`${path}\0`, "utf16le");
  const handle = CreateFileW(
    ptr(name),
    READ_AND_WRITE,
    NO_SHARING,
    null,
    OPEN_OR_CREATE,
    ORDINARY_FILE,
    null,
  );
  if (handle === INVALID_HANDLE) return null;
  return () => {
    CloseHandle(handle);
  };
}
