import { readdirSync, readFileSync, readlinkSync } from "node:fs";

const LISTENING = "0A";

/** Which process listens on a TCP port; null: none, or none that this user may see. */
export const listenerOn = (port: number): number | null => processWith(listening(port));

/** Which process has one of these sockets, as links to them read; null as above. */
export function processWith(sockets: ReadonlySet<string>): number | null {
  if (sockets.size === 0) return null;
  for (const pid of entries("/proc").filter((name) => /^\d+$/.test(name))) {
    if (openIn(pid, sockets).length > 0) return Number(pid);
  }
  return null;
}

/** Does anybody listen there at all? */
export const isTaken = (port: number): boolean => listening(port).size > 0;

/** This process's file descriptors that listen on a port. */
export const ownListenersOn = (port: number): number[] => openIn("self", listening(port));

/** The sockets that listen on a port, as links to them read. */
function listening(port: number): ReadonlySet<string> {
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = ["/proc/self/net/tcp", "/proc/self/net/tcp6"].flatMap(linesOf);
  return new Set(
    rows
      .map((line) => line.trim().split(/\s+/))
      .filter(([, address, , state]) => address?.endsWith(local) === true && state === LISTENING)
      .map((fields) => `socket:[${fields[9]}]`),
  );
}

const openIn = (pid: string, sockets: ReadonlySet<string>): number[] =>
  entries(`/proc/${pid}/fd`)
    .filter((fd) => sockets.has(linkOf(`/proc/${pid}/fd/${fd}`)))
    .map(Number);

/** What is gone, or somebody else's, is passed over. */
function orEmpty<T>(empty: T, read: () => T): T {
  try {
    return read();
  } catch {
    return empty;
  }
}

/** Of a file; none where it cannot be read. */
export const linesOf = (path: string): string[] =>
  orEmpty<string[]>([], () => readFileSync(path, "utf8").split("\n"));
const entries = (folder: string): string[] => orEmpty<string[]>([], () => readdirSync(folder));
const linkOf = (path: string): string => orEmpty("", () => readlinkSync(path));
