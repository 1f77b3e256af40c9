// Ports of 127.0.0.1 at which nothing listens. They are below the range from which the kernel takes
// ports for connections and for `port 0`, so that no other program gets them before they are used.
// A port belongs to the process that found it until that ends: test processes run side by side.

const LOWEST = 20_000;
const COUNT = 12_000;
const HIGHEST = LOWEST + COUNT - 1;

/** Another process begins elsewhere, so that it seldom meets a port that is taken. */
let next = LOWEST + ((process.pid * 97) % COUNT);

/** A port that no other test gets while this process runs. */
export const findFreePort = (): number => findFreePorts(1)[0] ?? 0;

/** Consecutive ports. */
export function findFreePorts(count: number): number[] {
  for (let tries = 0; tries < COUNT; tries += 1) {
    if (next + count - 1 > HIGHEST) next = LOWEST;
    const first = next;
    const ports = Array.from({ length: count }, (_, index) => first + index);
    const refused = ports.findIndex((port) => !isFree(port) || !claim(port));
    next = refused === -1 ? first + count : first + refused + 1;
    if (refused === -1) return ports;
  }
  throw new Error(`no ${count} free ports in a row from ${LOWEST} to ${HIGHEST}`);
}

/** Whether nothing listens at it. */
function isFree(port: number): boolean {
  try {
    Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
    return true;
  } catch {
    return false;
  }
}

/** Abstract sockets of Linux are gone with their process; other systems have none. */
function claim(port: number): boolean {
  if (process.platform !== "linux") return true;
  try {
    Bun.listen({ unix: `\0berth-test-port-${port}`, socket: { data() {} } }).unref();
    return true;
  } catch {
    return false;
  }
}
