import { readdirSync, readFileSync, readlinkSync } from "node:fs";

const LISTENING = "0A";

/** The process that listens on a TCP port; null: none, or not visible to this user. */
export const findListeningProcess = (port: number): number | null =>
  findProcessWithSocket(findListeningSockets(port));

/** The process that has one of these sockets (`socket:[inode]`); null as above. */
export function findProcessWithSocket(sockets: ReadonlySet<string>): number | null {
  if (sockets.size === 0) return null;
  for (const pid of listFolder("/proc").filter((name) => /^\d+$/.test(name))) {
    if (findOpenDescriptors(pid, sockets).length > 0) return Number(pid);
  }
  return null;
}

/** Whether any process listens on the port. */
export const isPortInUse = (port: number): boolean => findListeningSockets(port).size > 0;

/** File descriptors of this process that listen on a port. */
export const findOwnListeners = (port: number): number[] =>
  findOpenDescriptors("self", findListeningSockets(port));

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

const findOpenDescriptors = (pid: string, sockets: ReadonlySet<string>): number[] =>
  listFolder(`/proc/${pid}/fd`)
    .filter((fd) => sockets.has(readLink(`/proc/${pid}/fd/${fd}`)))
    .map(Number);

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
