// Finds the processes that listen on an address, as the kernel lists them.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

const LISTENING = "0A";

/** All processes that hold the listening socket of a URL; empty: none that this user may see. */
export function findListeningProcesses(url: string): number[] {
  const { hostname, port } = new URL(url);
  const sockets = listListeningSockets(Number(port === "" ? 80 : port));
  // As the kernel does, the socket of the very address comes before one of all addresses.
  const exact = sockets.filter(({ address }) => address === encodeAddress(hostname));
  const chosen = exact.length > 0 ? exact : sockets.filter(({ address }) => /^0+$/.test(address));
  const links = new Set(chosen.map(({ inode }) => `socket:[${inode}]`));
  if (links.size === 0) return [];
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => listOpenFiles(pid).some((link) => links.has(link)));
}

interface ListeningSocket {
  /** As in /proc/net/tcp. */
  readonly address: string;
  readonly inode: string;
}

function listListeningSockets(port: number): ListeningSocket[] {
  return ["tcp", "tcp6"].flatMap((file) =>
    readOrEmpty(() => readFileSync(`/proc/net/${file}`, "utf8").split("\n").slice(1)).flatMap(
      (line) => {
        const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
        const [address = "", hexPort = ""] = local.split(":");
        const isMatch = state === LISTENING && Number.parseInt(hexPort, 16) === port;
        return isMatch ? [{ address, inode }] : [];
      },
    ),
  );
}

/** An IPv4 address, or [::1]: in hexadecimal, the bytes of each 32 bits in reverse order. */
function encodeAddress(hostname: string): string {
  if (hostname === "[::1]") return "00000000000000000000000001000000";
  return hostname
    .split(".")
    .toReversed()
    .map((byte) => Number(byte).toString(16).padStart(2, "0").toUpperCase())
    .join("");
}

/** Targets of the links in /proc/PID/fd; a process can end, or belong to another user. */
function listOpenFiles(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return readOrEmpty(() => readdirSync(folder)).flatMap((name) =>
    readOrEmpty(() => [readlinkSync(join(folder, name))]),
  );
}

function readOrEmpty(read: () => string[]): string[] {
  try {
    return read();
  } catch {
    return [];
  }
}
