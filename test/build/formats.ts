import { closeSync, openSync, readSync } from "node:fs";

/** More bytes than any of the headers has. */
const HEAD = 64 * 1024;

/** Describes what a system's loader reads of an executable; null for an unknown format. */
export function detectFormat(path: string): string | null {
  const head = Buffer.alloc(HEAD);
  const fd = openSync(path, "r");
  readSync(fd, head, 0, HEAD, 0);
  closeSync(fd);
  return describeElf(head) ?? describePe(head) ?? describeMachO(head);
}

const MACHINES: Readonly<Record<number, string>> = { 0x3e: "x64", 0xb7: "arm64" };
const PT_INTERP = 3;

/** The interpreter shows whether the executable is for glibc or for musl. */
function describeElf(head: Buffer): string | null {
  if (head.toString("latin1", 0, 6) !== "\x7fELF\x02\x01") return null;
  const [table, size, count] = [
    Number(head.readBigUInt64LE(32)),
    head.readUInt16LE(54),
    head.readUInt16LE(56),
  ];
  const rows = Array.from({ length: count }, (_, row) => table + row * size);
  const interpreter = rows.find((row) => head.readUInt32LE(row) === PT_INTERP);
  if (interpreter === undefined) return null;
  const [at, length] = [8, 32].map((field) => Number(head.readBigUInt64LE(interpreter + field)));
  const loader = head.toString("latin1", at, (at ?? 0) + (length ?? 0) - 1);
  return `ELF ${MACHINES[head.readUInt16LE(18)]} ${loader}`;
}

const CONSOLE = 3;

function describePe(head: Buffer): string | null {
  if (head.toString("latin1", 0, 2) !== "MZ") return null;
  const at = head.readUInt32LE(0x3c);
  if (head.toString("latin1", at, at + 4) !== "PE\0\0") return null;
  const machine = head.readUInt16LE(at + 4) === 0x8664 ? "x64" : "other";
  return `PE ${machine} ${head.readUInt16LE(at + 24 + 68) === CONSOLE ? "console" : "other"}`;
}

const CODE_SIGNATURE = 0x1d;

/** macOS kills an unsigned arm64 executable at its start. */
function describeMachO(head: Buffer): string | null {
  if (head.readUInt32LE(0) !== 0xfeed_facf) return null;
  const machine = head.readUInt32LE(4) === 0x0100_000c ? "arm64" : "other";
  let signature = "unsigned";
  for (let at = 32, left = head.readUInt32LE(16); left > 0; left -= 1) {
    if (head.readUInt32LE(at) === CODE_SIGNATURE) signature = "signed";
    at += head.readUInt32LE(at + 4);
  }
  return `Mach-O ${machine} ${signature}`;
}
