// Ports of 127.0.0.1 at which nothing listens. They are below the range from which the kernel takes
// ports for connections and for `port 0`, so that no other program gets them before they are used.

const LOWEST = 20_000;
const COUNT = 12_000;
/** Processes that run at the same time seldom share a block. */
const BLOCK = 100;

let taken = 0;

/** A port that this function does not return again soon, in this process or another one. */
export function findFreePort(): number {
  const first = LOWEST + (process.pid % (COUNT / BLOCK)) * BLOCK;
  for (let tries = 0; tries < BLOCK; tries += 1) {
    const port = first + (taken % BLOCK);
    taken += 1;
    if (isFree(port)) return port;
  }
  throw new Error(`no free port from ${first} to ${first + BLOCK - 1}`);
}

/** Consecutive ports. */
export function findFreePorts(count: number, random: () => number): number[] {
  for (let tries = 0; tries < 1_000; tries += 1) {
    const first = LOWEST + Math.floor(random() * (COUNT - count));
    const ports = Array.from({ length: count }, (_, index) => first + index);
    if (ports.every(isFree)) return ports;
  }
  throw new Error(`no ${count} free ports in a row below ${LOWEST + COUNT}`);
}

function isFree(port: number): boolean {
  try {
    Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
    return true;
  } catch {
    return false;
  }
}
