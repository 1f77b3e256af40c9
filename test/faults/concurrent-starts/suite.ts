// Many servers started on one folder at the same instant: a service manager, an operator and a cron
// job that all mean well. One of them gets it; the others say who has it and leave everything alone.
import { join } from "node:path";
import type { RegistrationReply } from "../../../src/http/routes/admin.ts";
import type { StatusReply } from "../../../src/http/status.ts";
import { realDisk } from "../../../src/platform/disk.ts";
import { FOLDER_LOCK_FILE } from "../../../src/store/files.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import {
  check,
  finish,
  createRandom,
  makeTempFolder,
  seed,
  chooseSize,
} from "../../support/suite-harness.ts";
import { findFreePorts, startServer, type ServerProcess } from "../shared/server-process.ts";

const PROCESSES = chooseSize(20, 100);
const ROUNDS = chooseSize(10, 20);
/** How long a holder takes its time before it says who it is: a busy machine's moment. */
const LATE = 300;

const ports = findFreePorts(PROCESSES, createRandom(seed));
const root = makeTempFolder();
const site = join(root, "site");

/** What broke each promise. */
const broken = { one: [] as string[], named: [] as string[], whole: [] as string[] };
const tally = { rounds: 0, refused: 0 };
let lastWinner = 0;

/** The promise about what the one serves; complaints. */
type Whole = (served: ServerProcess) => Promise<string[]>;

async function round(name: string, folder: string, whole: Whole): Promise<void> {
  tally.rounds += 1;
  const all = ports.map((port) => startServer(folder, port));
  const ready: ServerProcess[] = [];
  const refused: ServerProcess[] = [];
  await Promise.all(
    all.map(async (served) => void ((await served.ready) ? ready : refused).push(served)),
  );
  const [winner] = ready;
  if (winner === undefined || ready.length > 1) broken.one.push(`${name}: ${ready.length}`);
  for (const served of refused) {
    const { code, stderr } = await served.exited;
    tally.refused += 1;
    if (code === 1 && stderr.includes(`is in use by process ${winner?.pid} (`)) continue;
    const said = `${served.pid} ended with ${code}: ${stderr.trim()}`;
    broken.named.push(`${name}: ${said} (the one is ${winner?.pid})`);
  }
  if (winner !== undefined) {
    const complaints = await whole(winner).catch((error: unknown) => [String(error)]);
    broken.whole.push(...complaints.map((complaint) => `${name}: ${complaint}`));
    lastWinner = winner.pid;
  }
  for (const served of ready) {
    served.kill("group");
    await served.exited;
  }
}

async function call<T>(url: string, path: string, body: object | null = null): Promise<T> {
  const response = await fetch(`${url}${path}`, {
    method: body === null ? "GET" : "POST",
    ...(body !== null && { body: JSON.stringify(body) }),
    headers: { "content-type": "application/json" },
    keepalive: false,
  });
  if (response.status !== 200) throw new Error(`${path} is answered with ${response.status}`);
  return (await response.json()) as T;
}

/** A new folder holds one appliance, made once, however many tried. */
async function isNew({ pid, url }: ServerProcess): Promise<string[]> {
  const status = await call<StatusReply>(url, "/api/admin/v1/status");
  const { seq, recovery_notes } = status.storage;
  const found = { pid: status.pid, kind: status.kind, seq, notes: recovery_notes };
  const wanted = { pid, kind: "site", seq: 1, notes: [] };
  return Bun.deepEquals(found, wanted) ? [] : [`it says ${JSON.stringify(found)}`];
}

const registered: string[] = [];

/** Everybody registered in earlier rounds is there, and one more finds room. */
async function isTheSame({ url }: ServerProcess): Promise<string[]> {
  const found = await call<RegistrationReply[]>(url, "/api/admin/v1/registrations");
  const users = found.map(({ user }) => user);
  const user = `user-${registered.length}`;
  await call(url, "/api/v4/register", { user });
  const wanted = registered.slice();
  registered.push(user);
  if (Bun.deepEquals(users, wanted)) return [];
  return [`${JSON.stringify(users)} are there, not ${JSON.stringify(wanted)}`];
}

/**
 * Who takes the lock says who it is a moment later. Until then the file is empty, or names the last
 * holder, who was killed: whoever finds it so must not send an operator after the wrong process.
 */
async function namesLateHolder(left: string): Promise<string[]> {
  const lock = realDisk.lock(join(site, FOLDER_LOCK_FILE));
  if (lock === null) return ["the folder is still held"];
  lock.note(left);
  const served = startServer(site, ports[0] ?? 0);
  await Promise.race([served.exited, Bun.sleep(LATE)]);
  lock.note(String(process.pid));
  const { code, stderr } = await served.exited;
  lock.release();
  if (code === 1 && stderr.includes(`is in use by process ${process.pid} (`)) return [];
  return [`with "${left}" in it first: ${code}, ${stderr.trim()} (it is ${process.pid})`];
}

for (let n = 1; n <= ROUNDS && broken.one.length === 0; n += 1) {
  await round(`new folder ${n}`, join(root, `new-${n}`), isNew);
}
await makeLicensedSite(site, { product: "cad", slots: 2 * ROUNDS, timeoutMinutes: 24 * 60 });
for (let n = 1; n <= ROUNDS && broken.one.length === 0; n += 1) {
  await round(`site ${n}`, site, isTheSame);
}

const tried = `${tally.rounds} times ${PROCESSES} servers at once, on new folders and after kills`;
check(`${tried}: exactly one gets ready`, broken.one.length === 0, broken.one);
check(
  `the other ${tally.refused} end with code 1 and name the one that has the folder`,
  broken.named.length === 0,
  broken.named.join("\n         "),
);
check("the one serves, and what it serves is whole", broken.whole.length === 0, broken.whole);
const late = [...(await namesLateHolder("")), ...(await namesLateHolder(String(lastWinner)))];
check("a holder that says late who it is is named all the same (2)", late.length === 0, late);
finish();
