// Watches a folder with inotify: which files are created, opened, changed or renamed. A suite uses
// it to stop another process at an exact step of its work, instead of guessing when that step
// comes.
import { dlopen, FFIType, ptr } from "bun:ffi";
import { closeSync, readSync } from "node:fs";
import { errorCode } from "../../../src/platform/files/system-error.ts";
import { atEnd } from "../../support/suite-harness.ts";

const KINDS = { changed: 0x2, opened: 0x20, renamed: 0x80, created: 0x100 } as const;

export type FolderEventKind = keyof typeof KINDS;

export interface FolderEvent {
  readonly kind: FolderEventKind;
  readonly name: string;
}

const NON_BLOCKING = 0o4000;
const EVENT_HEADER_BYTES = 16;
const LIBRARIES = [
  "libc.so.6",
  `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`,
];

const loadInotify = (library: string) =>
  dlopen(library, {
    inotify_init1: { args: [FFIType.i32], returns: FFIType.i32 },
    inotify_add_watch: { args: [FFIType.i32, FFIType.ptr, FFIType.u32], returns: FFIType.i32 },
  }).symbols;

function openLibc(): ReturnType<typeof loadInotify> {
  for (const library of LIBRARIES) {
    try {
      return loadInotify(library);
    } catch {
      continue;
    }
  }
  throw new Error("found no C library with inotify");
}

export class FolderWatcher {
  readonly #fd: number;
  readonly #buffer = Buffer.alloc(64 * 1024);

  constructor(folder: string, kinds: readonly FolderEventKind[]) {
    const { inotify_init1, inotify_add_watch } = openLibc();
    this.#fd = inotify_init1(NON_BLOCKING);
    const path = Buffer.from(`${folder}\u0000`);
    const mask = kinds.reduce((bits, kind) => bits | KINDS[kind], 0);
    if (inotify_add_watch(this.#fd, ptr(path), mask) < 0) throw new Error(`cannot watch ${folder}`);
    atEnd(() => closeSync(this.#fd));
  }

  /** The events since the last call. */
  takeEvents(): FolderEvent[] {
    const events: FolderEvent[] = [];
    for (let size = this.#read(); size > 0; size = this.#read()) {
      for (let at = 0; at < size;) {
        const mask = this.#buffer.readUInt32LE(at + 4);
        const length = this.#buffer.readUInt32LE(at + 12);
        const bytes = this.#buffer.subarray(
          at + EVENT_HEADER_BYTES,
          at + EVENT_HEADER_BYTES + length,
        );
        const name = bytes.toString("utf8").split("\u0000")[0] ?? "";
        for (const kind of Object.keys(KINDS) as FolderEventKind[]) {
          if ((mask & KINDS[kind]) !== 0) events.push({ kind, name });
        }
        at += EVENT_HEADER_BYTES + length;
      }
    }
    return events;
  }

  #read(): number {
    try {
      return readSync(this.#fd, this.#buffer);
    } catch (error) {
      if (errorCode(error) === "EAGAIN") return 0;
      throw error;
    }
  }
}
