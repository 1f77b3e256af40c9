// Starts many servers on one data folder at the same time, as a service manager, an operator and a
// cron job may do. One of them gets the folder; the others name its process and change nothing.
import { beforeAll, describe, test } from "bun:test";
import { join } from "node:path";
import type { RegistrationReply } from "../../../src/http/routes/slots/registrations.ts";
import type { StatusReply } from "../../../src/http/routes/health/status-schema.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { FOLDER_LOCK_FILE } from "../../../src/store/folder/files.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { makeTempFolder, chooseSize } from "../../support/suite-harness.ts";
import { expectKept, testPromises } from "../shared/promises.ts";
import { findFreePorts } from "../../support/free-ports.ts";
import { startServer, type ServerProcess } from "../shared/server-process.ts";

const PROCESSES = chooseSize(20, 100);
const ROUNDS = chooseSize(3, 20);
/** How long a lock holder waits before it writes its pid, as on a busy machine; in milliseconds. */
const PID_DELAY = 300;

const ports = findFreePorts(PROCESSES);
const root = makeTempFolder();
const site = join(root, "site");

/** The violations of each promise. */
const violations = {
  singleWinner: [] as string[],
  refusals: [] as string[],
  servedState: [] as string[],
};
const counts = { rounds: 0, refused: 0 };
let lastWinnerPid = 0;

/** Checks the state that the winner serves; returns violations. */
type StateCheck = (server: ServerProcess) => Promise<string[]>;

async function runRound(name: string, folder: string, checkState: StateCheck): Promise<void> {
  counts.rounds += 1;
  const servers = ports.map((port) => startServer(folder, port));
  const ready: ServerProcess[] = [];
  const refused: ServerProcess[] = [];
  await Promise.all(
    servers.map(async (server) => void ((await server.ready) ? ready : refused).push(server)),
  );
  const [winner] = ready;
  if (winner === undefined || ready.length > 1)
    violations.singleWinner.push(`${name}: ${ready.length} servers are ready`);
  for (const server of refused) {
    const { code, stderr } = await server.exited;
    counts.refused += 1;
    if (code === 1 && stderr.includes(`is in use by process ${winner?.pid} (`)) continue;
    const outcome = `process ${server.pid} exited with code ${code}: ${stderr.trim()}`;
    violations.refusals.push(`${name}: ${outcome} (process ${winner?.pid} has the folder)`);
  }
  if (winner !== undefined) {
    const reasons = await checkState(winner).catch((error: unknown) => [String(error)]);
    violations.servedState.push(...reasons.map((reason) => `${name}: ${reason}`));
    lastWinnerPid = winner.pid;
  }
  for (const server of ready) {
    server.kill("group");
    await server.exited;
  }
}

async function call<T>(url: string, path: string, body: object | null = null): Promise<T> {
  const response = await fetch(`${url}${path}`, {
    method: body === null ? "GET" : "POST",
    ...(body !== null && { body: JSON.stringify(body) }),
    headers: { "content-type": "application/json" },
    keepalive: false,
  });
  if (response.status !== 200) throw new Error(`${path} was answered with ${response.status}`);
  return (await response.json()) as T;
}

/** A new folder contains one appliance, created once, however many servers were started. */
async function checkNewFolder({ pid, url }: ServerProcess): Promise<string[]> {
  const status = await call<StatusReply>(url, "/api/admin/v1/status");
  const { seq, recovery_notes } = status.storage;
  const actual = { pid: status.pid, kind: status.kind, seq, notes: recovery_notes };
  const expected = { pid, kind: "site", seq: 1, notes: [] };
  return Bun.deepEquals(actual, expected)
    ? []
    : [`the status is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`];
}

const registeredUsers: string[] = [];

/** All users registered in earlier rounds are there, and one more can register. */
async function checkLicensedSite({ url }: ServerProcess): Promise<string[]> {
  const registrations = await call<RegistrationReply[]>(url, "/api/admin/v1/registrations");
  const users = registrations.map(({ user }) => user);
  const user = `user-${registeredUsers.length}`;
  await call(url, "/api/v4/register", { user });
  const expected = registeredUsers.slice();
  registeredUsers.push(user);
  if (Bun.deepEquals(users, expected)) return [];
  return [`registered are ${JSON.stringify(users)}, not ${JSON.stringify(expected)}`];
}

/**
 * A process takes the lock first and writes its pid shortly after. Until then the lock file is
 * empty, or names the previous holder, which was killed. A server that is refused meanwhile must
 * wait for the pid, so that an operator does not look for the wrong process.
 */
async function checkLateLockHolder(leftover: string): Promise<string[]> {
  const lock = realDisk.lock(join(site, FOLDER_LOCK_FILE));
  if (lock === null) return ["the folder is still locked"];
  lock.note(leftover);
  const server = startServer(site, ports[0] ?? 0);
  await Promise.race([server.exited, Bun.sleep(PID_DELAY)]);
  lock.note(String(process.pid));
  const { code, stderr } = await server.exited;
  lock.release();
  if (code === 1 && stderr.includes(`is in use by process ${process.pid} (`)) return [];
  return [
    `with "${leftover}" in the lock file first: exit code ${code}, ${stderr.trim()} ` +
      `(process ${process.pid} has the lock)`,
  ];
}

describe("servers that are started at once on one data folder", () => {
  beforeAll(async () => {
    for (let n = 1; n <= ROUNDS && violations.singleWinner.length === 0; n += 1) {
      await runRound(`new folder ${n}`, join(root, `new-${n}`), checkNewFolder);
    }
    await makeLicensedSite(site, { product: "cad", slots: 2 * ROUNDS, timeoutMinutes: 24 * 60 });
    for (let n = 1; n <= ROUNDS && violations.singleWinner.length === 0; n += 1) {
      await runRound(`licensed site ${n}`, site, checkLicensedSite);
    }
    console.log(
      `${counts.rounds} rounds of ${PROCESSES} servers, ${counts.refused} of them refused`,
    );
  });

  testPromises(
    {
      singleWinner: "exactly one becomes ready, on new folders and after kills",
      refusals: "all others exit with code 1 and name the process that has the folder",
      servedState: "the one that has the folder serves its complete state",
    },
    (promise) => violations[promise],
  );

  test(`one that is refused names a lock holder that writes its pid ${PID_DELAY} ms late`, async () => {
    expectKept([
      ...(await checkLateLockHolder("")),
      ...(await checkLateLockHolder(String(lastWinnerPid))),
    ]);
  });
});
