// `stall-probe.ts URL PID IDLE_URL HOLDERS CONNECTIONS` sends a heartbeat every 20 ms on each
// connection to a server, and on one to an idle server, until it is told to stop. It is a separate
// process, so that no other work delays it. It sends `ready` after the first heartbeats, and at last
// what it measured.
import { readFileSync } from "node:fs";
import { KeepAliveClient } from "../support/keep-alive-client.ts";
import { heartbeatFields } from "./populated-site.ts";

/** All in milliseconds. */
export interface Probed {
  /** How long each heartbeat took. */
  readonly waits: readonly number[];
  /** How long the main thread of the server worked while those of the first connection waited. */
  readonly work: readonly number[];
  /** How long each heartbeat of the idle server took. */
  readonly control: readonly number[];
}

const INTERVAL = 20;

/** Processor time of the main thread so far, in milliseconds. */
const readWork = (pid: string): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;

let isStopping = false;

/** Calls `record` with each heartbeat; `readNow` is read before and after it. */
async function probe(
  url: string,
  delay: number,
  users: number,
  readNow: () => number,
  record: (waited: number, worked: number) => void,
): Promise<void> {
  const server = await KeepAliveClient.open(url);
  const begin = performance.now() + delay;
  for (let turn = 0; ; turn += 1) {
    const early = begin + turn * INTERVAL - performance.now();
    if (early > 0) await Bun.sleep(early);
    // A heartbeat that waited long is followed by the next one at once.
    else turn = Math.floor((performance.now() - begin) / INTERVAL);
    if (isStopping) return;
    const before = readNow();
    const start = performance.now();
    const status = await server.post(
      "/api/v4/register",
      heartbeatFields((turn + Math.floor(delay * 1_000)) % users),
    );
    const waited = performance.now() - start;
    if (status !== 200) throw new Error(`a heartbeat was answered ${status}`);
    record(waited, readNow() - before);
  }
}

if (import.meta.main) {
  const [url = "", pid = "", idleUrl = "", holders = "1", connections = "1"] =
    process.argv.slice(2);
  process.on("message", () => {
    isStopping = true;
  });
  const waits: number[] = [];
  const work: number[] = [];
  const control: number[] = [];
  const record = (waited: number, worked: number): void => {
    waits.push(waited);
    work.push(worked);
    if (work.length === 1) process.send?.("ready");
  };
  const users = Number(holders);
  const others = Array.from({ length: Number(connections) - 1 }, (_, index) =>
    probe(
      url,
      ((index + 1) * INTERVAL) / Number(connections),
      users,
      () => 0,
      (waited) => waits.push(waited),
    ),
  );
  await Promise.all([
    probe(url, 0, users, () => readWork(pid), record),
    ...others,
    probe(
      idleUrl,
      0,
      1,
      () => 0,
      (waited) => control.push(waited),
    ),
  ]);
  // A long message is not sent at once.
  process.send?.({ waits, work, control } satisfies Probed, undefined, undefined, () =>
    process.disconnect?.(),
  );
}
