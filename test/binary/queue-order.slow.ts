// 256 clients compete for 10 slots through the queue. Clients die while they wait and while they
// hold a slot, and the server is killed. The audit log then shows whether any user was served before
// one who waited longer. QUEUE_CALLS sets the number of calls, QUEUE_KILLS that of kills. Places
// last five seconds, so that those of dead clients lapse during the test.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startBinary, type ServerProcess } from "../support/binary.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

const CLIENTS = 256;
const SLOTS = 10;
const CALLS = Number(process.env["QUEUE_CALLS"] ?? 6_000);
const KILLS = Number(process.env["QUEUE_KILLS"] ?? 2);
const RULES = `[[rule]]\nproduct = "cad"\nqueue = { hold_seconds = 5 }\n`;
const FLAGS = ["--audit-budget", "0", "--max-places-per-caller", "100000"];

interface Competition {
  server: ServerProcess;
  calls: number;
  grants: number;
  deaths: number;
  isOver: boolean;
  /** Users with a slot, as far as clients know. */
  readonly holders: Set<string>;
  maxHolders: number;
}

test(`${CLIENTS} clients are served in the order of arrival, with deaths and kills of the server`, async () => {
  const folder = tempFolder();
  await makeLicensedSite(folder, { product: "cad", slots: SLOTS });
  const start = (port: string) =>
    startBinary("serve", "--data", folder, "--listen", `127.0.0.1:${port}`, ...FLAGS);
  const first = await start("0");
  await applyRules(first);
  const { port } = new URL(first.url);
  const competition: Competition = {
    server: first,
    calls: 0,
    grants: 0,
    deaths: 0,
    isOver: false,
    holders: new Set(),
    maxHolders: 0,
  };
  const clients = Array.from({ length: CLIENTS }, (_, index) => compete(competition, index));
  for (let kill = 1; kill <= KILLS; kill += 1) {
    while (competition.calls < (kill * CALLS) / (KILLS + 1)) await Bun.sleep(5);
    await competition.server.kill();
    competition.server = await start(port);
  }
  while (competition.calls < CALLS) await Bun.sleep(5);
  competition.isOver = true;
  await Promise.all(clients);
  expect(await competition.server.stop()).toBe(0);

  const observed = checkOrder(readEvents(folder));
  const { calls, grants, deaths, maxHolders } = competition;
  console.log(JSON.stringify({ calls, grants, deaths, kills: KILLS, ...observed }));
  expect(observed.violations).toEqual([]);
  expect(observed.mostSlots).toBe(SLOTS);
  expect(maxHolders).toBeLessThanOrEqual(SLOTS);
  expect(observed.servedPlaces).toBeGreaterThan(CLIENTS);
});

async function applyRules({ url }: ServerProcess): Promise<void> {
  const response = await fetch(`${url}/api/admin/v1/rules`, {
    method: "PUT",
    headers: { "content-type": "application/json", "if-match": "*" },
    body: JSON.stringify({ text: RULES }),
  });
  expect(response.status).toBe(200);
}

/** Waits for a slot, uses it, gives it back, and sometimes dies. */
async function compete(competition: Competition, index: number): Promise<void> {
  const random = new SeededRandom(index + 1);
  let life = 0;
  while (!competition.isOver) {
    const user = `user-${index}#${life}`;
    const outcome = await claim(competition, random, user);
    if (outcome === "died") {
      competition.deaths += 1;
      // Most clients come back under their name; others never do, and their places lapse.
      if (random.chance(0.01)) life += 1;
    }
    if (outcome !== "granted") continue;
    competition.grants += 1;
    competition.holders.add(user);
    competition.maxHolders = Math.max(competition.maxHolders, competition.holders.size);
    if (random.chance(0.3)) await call(competition, "register", user, {});
    competition.holders.delete(user);
    // A client that dies with a slot is released by an administrator.
    if (random.chance(0.05)) await release(competition, user);
    else await call(competition, "unregister", user, {});
  }
}

type ClaimOutcome = "granted" | "refused" | "died";

async function claim(
  competition: Competition,
  random: SeededRandom,
  user: string,
): Promise<ClaimOutcome> {
  const aborting = new AbortController();
  const diesAt = random.chance(0.1) ? random.intBetween(0, 200) : null;
  const death = diesAt === null ? null : setTimeout(() => aborting.abort(), diesAt);
  const waits = random.pick([0, 1, 2, 5, null]);
  const headers: Record<string, string> = waits === null ? {} : { prefer: `wait=${waits}` };
  const status = await call(competition, "register", user, headers, aborting.signal);
  if (death !== null) clearTimeout(death);
  if (status === null) return aborting.signal.aborted ? "died" : "refused";
  if (status !== 200 && (waits === null || waits === 0)) await Bun.sleep(random.intBelow(50));
  return status === 200 ? "granted" : "refused";
}

/** The status; null: there was no reply. */
async function call(
  competition: Competition,
  path: string,
  user: string,
  headers: Record<string, string>,
  signal?: AbortSignal,
): Promise<number | null> {
  try {
    const response = await fetch(`${competition.server.url}/api/v4/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ product: "cad", user }),
      ...(signal && { signal }),
    });
    await response.arrayBuffer();
    competition.calls += 1;
    return response.status;
  } catch {
    await Bun.sleep(20);
    return null;
  }
}

async function release({ server }: Competition, user: string): Promise<void> {
  const request = fetch(`${server.url}/api/admin/v1/registrations/release`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ product: "cad", user }),
  });
  await request.catch(() => null);
}

interface AuditedEvent {
  readonly type: string;
  readonly user: string;
  readonly place: number;
  readonly cause?: string;
}

/** The events of the audit log, the oldest first. */
function readEvents(folder: string): AuditedEvent[] {
  const history = join(folder, "history");
  const months = readdirSync(history).filter((name) => name.endsWith(".jsonl"));
  return months.toSorted().flatMap((name) =>
    readFileSync(join(history, name), "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .flatMap((line) => (JSON.parse(line) as { events: AuditedEvent[] }).events),
  );
}

/**
 * Reads the events as a simple list: who waits, for whom a slot is kept, and who has one. A slot may
 * be kept only for the place that was taken first, and taken only by a user for whom it is kept, or
 * while no user waits without one.
 */
function checkOrder(events: readonly AuditedEvent[]) {
  const waiting = new Map<string, number>();
  const slotsKept = new Set<string>();
  const holders = new Set<string>();
  let collecting: string | null = null;
  const violations: string[] = [];
  let [mostSlots, servedPlaces, lapsedPlaces] = [0, 0, 0];
  for (const [index, event] of events.entries()) {
    const { type, user } = event;
    if (type === "PlaceTaken" && !slotsKept.has(user)) waiting.set(user, event.place);
    if (type === "HoldWithdrawn") {
      slotsKept.delete(user);
      waiting.set(user, event.place);
    }
    if (type === "PlaceLeft") {
      if (event.cause === "lapsed") lapsedPlaces += 1;
      // The slot of a granted place is taken by the next event of the same command.
      collecting = event.cause === "granted" && slotsKept.has(user) ? user : null;
      waiting.delete(user);
      slotsKept.delete(user);
    }
    if (type === "HoldGiven") {
      servedPlaces += 1;
      const earliest = Math.min(...waiting.values());
      if (event.place !== earliest) violations.push(`event ${index}: ${user} before ${earliest}`);
      waiting.delete(user);
      slotsKept.add(user);
    }
    if (type === "SlotTaken") {
      if (collecting !== user && waiting.size > 0) {
        violations.push(`event ${index}: ${user} took a slot while ${waiting.size} users waited`);
      }
      collecting = null;
      holders.add(user);
    }
    if (type === "SlotReleased" || type === "SlotExpired") holders.delete(user);
    mostSlots = Math.max(mostSlots, holders.size + slotsKept.size);
  }
  return { violations: violations.slice(0, 10), mostSlots, servedPlaces, lapsedPlaces };
}
