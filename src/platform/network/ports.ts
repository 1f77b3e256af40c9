import { readdirSync, readFileSync, readlinkSync } from "node:fs";

const LISTENING = "0A";

/** The process that listens on a TCP port; null: none, or not visible to this user. */
export const findListeningProcess = (port: number): number | null =>
  findProcessWithSocket(findListeningSockets(port));

/** The process that has one of these sockets (`socket:[inode]`); null as above. */
export function findProcessWithSocket(sockets: ReadonlySet<string>): number | null {
  if (sockets.size === 0) return null;
  for (const pid of listFolder("/proc").filter((name) => /^\d+$/.test(name))) {
    if (hasOpenSocket(pid, sockets)) return Number(pid);
  }
  return null;
}

/** Whether any process listens on the port. */
export const isPortInUse = (port: number): boolean => findListeningSockets(port).size > 0;

/** The sockets that listen on a port, as `socket:[inode]`. */
function findListeningSockets(port: number): ReadonlySet<string> {
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = ["/proc/self/net/tcp", "/proc/self/net/tcp6"].flatMap(readLines);
  return new Set(
    rows
      .map((line) => line.trim().split(/\s+/))
      .filter(([, address, , state]) => address?.endsWith(local) === true && state === LISTENING)
      .map((fields) => `socket:[${fields[9]}]`),
  );
}

const hasOpenSocket = (pid: string, sockets: ReadonlySet<string>): boolean =>
  listFolder(`/proc/${pid}/fd`).some((fd) => sockets.has(readLink(`/proc/${pid}/fd/${fd}`)));

/** Processes that ended meanwhile or belong to other users cannot be read; they are skipped. */
function orEmpty<T>(empty: T, read: () => T): T {
  try {
    return read();
  } catch {
    return empty;
  }
}

/** The lines of a file; none if it cannot be read. */
export const readLines = (path: string): string[] =>
  orEmpty<string[]>([], () => readFileSync(path, "utf8").split("\n"));
const listFolder = (folder: string): string[] => orEmpty<string[]>([], () => readdirSync(folder));
const readLink = (path: string): string => orEmpty("", () => readlinkSync(path));
