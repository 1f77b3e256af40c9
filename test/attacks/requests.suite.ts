// `bun run test:attacks requests`: generated requests for every route of the table and every field
// of openapi.json: valid, nearly valid and wild. Every refusal has the documented form, nothing is
// granted that must be refused, and the server stays healthy.
import { beforeAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  chooseSize,
  isSoak,
  makeTempFolder,
  reportProgress,
  seed,
} from "../support/suite-harness.ts";
import { MemoryCurve } from "../support/resident-memory.ts";
import { endAttack, testAfterAttack, type AfterAttack } from "./after-attack.ts";
import { findAnswerProblem, refusalCode } from "./answer-check.ts";
import {
  planRoutes,
  isAnsweredSerially,
  undocumentedRoutes,
  scansAllData,
  type ApiDocument,
  type RoutePlan,
} from "./route-plans.ts";
import { generateAttacks, weightOf, type AttackRequest } from "./request-grammar.ts";
import { startTarget, type AttackTarget } from "./target.ts";
import { RawConnection, type RawAnswer } from "./raw-connection.ts";

const REQUESTS = chooseSize(30_000, 10_000_000, 10_000);
/** Memory is judged in a soak only: what a few minutes leave in it depends on the collector. */
const WARM_UP = 1_000_000;
const CONNECTIONS = 12;
const BATCH = 2_000;
const STAGES = 8;
const MAX_GROWTH_MIB = 32;
/** A route gets at least this part of the requests that its weight promises it. */
const MIN_SHARE = 0.5;
/** More requests for the routes that chance has left short, and how often such a round is added. */
const EXTRA_REQUESTS = 100;
const EXTRA_ROUNDS = 50;
const MAX_PROBLEMS = 10;
/** Refusals that occur when the limits of the licenses are reached. */
const LIMIT_CODES = [
  "floating_not_available",
  "license_not_enough_consumptions",
  "feature_not_enough_consumptions",
];

let target: AttackTarget;
let document: ApiDocument;
let attacks: fc.Arbitrary<AttackRequest>;
interface RouteCount {
  /** How many requests the weight of the route promises it. */
  readonly expected: number;
  all: number;
  granted: number;
}
const routeCounts = new Map<string, RouteCount>();
const codes = new Map<string, number>();
const problems: string[] = [];
let [count, slowest, batches] = [0, 0, 0];
let queue: AttackRequest[] = [];
let serialRequests: Promise<void> = Promise.resolve();
/** The server has one maintenance process; while it is busy, such requests are skipped. */
let isScanning = false;

function nextAttack(): AttackRequest {
  if (queue.length === 0) {
    queue = fc.sample(attacks, { seed: seed + batches, numRuns: BATCH });
    batches += 1;
  }
  return queue.pop() as AttackRequest;
}

function recordAnswer(attack: AttackRequest, answer: RawAnswer | null): void {
  count += 1;
  reportProgress("requests", count, REQUESTS);
  // A scan yields to other requests, so its time says nothing.
  const took = scansAllData(attack.plan) ? 0 : (answer?.ms ?? 0);
  slowest = Math.max(slowest, took);
  const entry = routeCounts.get(`${attack.plan.method} ${attack.plan.path}`);
  const isGranted = answer !== null && answer.status < 300;
  if (entry !== undefined) {
    entry.all += 1;
    entry.granted += isGranted ? 1 : 0;
  }
  const code = answer === null ? "none" : isGranted ? "granted" : refusalCode(answer);
  codes.set(code, (codes.get(code) ?? 0) + 1);
  const problem = findAnswerProblem(attack, answer);
  if (problem === null) return;
  const sent = attack.bytes.toString("latin1").slice(0, 1_000);
  const got = answer === null ? "" : `${answer.head}\n${answer.body}`.slice(0, 500);
  problems.push(`${problem}: ${JSON.stringify(sent)} got ${JSON.stringify(got)}`);
}

async function runConnection(until: number): Promise<void> {
  const connection = new RawConnection(target.port);
  for (;;) {
    if (count >= until || problems.length >= MAX_PROBLEMS || !target.isAlive()) break;
    const attack = nextAttack();
    const send = async (): Promise<void> =>
      recordAnswer(attack, await connection.send(attack.bytes, attack.method === "HEAD"));
    if (scansAllData(attack.plan)) {
      if (isScanning) continue;
      isScanning = true;
      await send();
      isScanning = false;
    } else if (isAnsweredSerially(attack.plan)) {
      await (serialRequests = serialRequests.then(send));
    } else await send();
  }
  connection.close();
}

const attackUntil = (until: number): Promise<unknown> =>
  Promise.all(Array.from({ length: CONNECTIONS }, () => runConnection(until)));

const missingLimitCodes = (): string[] => LIMIT_CODES.filter((code) => !codes.has(code));

/** The routes and methods that got too few requests, or granted none. */
const rareRoutes = () =>
  [...routeCounts].filter(
    ([route, { expected, all, granted }]) =>
      all < MIN_SHARE * expected || (granted === 0 && !NEVER_GRANTED.has(route)),
  );

/** Chance must not decide whether a route is reached: those that were not get more requests. */
async function attackRareRoutes(plans: readonly RoutePlan[]): Promise<void> {
  for (let round = 0; round < EXTRA_ROUNDS; round += 1) {
    const rare = new Set(rareRoutes().map(([route]) => route));
    if (rare.size === 0) return;
    const chosen = plans.filter(({ method, path }) => rare.has(`${method} ${path}`));
    attacks = generateAttacks(target, chosen);
    queue = [];
    await runConnection(count + EXTRA_REQUESTS);
  }
}

const NEVER_GRANTED = new Set([
  // If it were granted, the server would refuse everything else.
  "POST /api/admin/v1/move",
  // The server serves alone, not in a pair.
  "POST /api/admin/v1/pair/admit",
  "POST /api/admin/v1/pair/hand-over",
  "POST /api/admin/v1/pair/leave",
  // The ids of sessions are random, so none is guessed.
  "POST /api/admin/v1/sessions/revoke",
  // Users wait for seconds, so a request seldom names one who waits.
  "POST /api/admin/v1/queue/front",
  "POST /api/admin/v1/queue/drop",
  // The names of backups contain the time.
  "POST /api/admin/v1/backups/verify",
  "POST /api/admin/v1/backups/download",
  // The names of the page's files contain their hash.
  "GET /assets/:name",
]);

describe("generated requests", () => {
  let memory: MemoryCurve;
  let after: AfterAttack;

  beforeAll(async () => {
    target = await startTarget(makeTempFolder());
    const reply = await fetch(`${target.server.url}/api/v4/openapi.json`);
    document = (await reply.json()) as ApiDocument;
    const plans = planRoutes(document);
    const totalWeight = plans.reduce((sum, plan) => sum + weightOf(plan), 0);
    for (const plan of plans) {
      // A request that scans all data is skipped while another one runs.
      const expected = scansAllData(plan) ? 1 : (REQUESTS * weightOf(plan)) / totalWeight;
      routeCounts.set(`${plan.method} ${plan.path}`, { expected, all: 0, granted: 0 });
    }
    attacks = generateAttacks(target, plans);
    const started = performance.now();
    memory = new MemoryCurve(target.server.pid);
    if (isSoak) {
      await attackUntil(WARM_UP);
      await memory.sample();
      await memory.sampleStages(STAGES, MAX_GROWTH_MIB, (stage) =>
        attackUntil(WARM_UP + (stage * (REQUESTS - WARM_UP)) / STAGES),
      );
    } else await attackUntil(REQUESTS);
    // Whether the licenses reach their limits within these requests is chance, too.
    for (let round = 0; round < EXTRA_ROUNDS && missingLimitCodes().length > 0; round += 1) {
      await attackUntil(count + REQUESTS / 10);
    }
    await attackRareRoutes(plans);
    const seconds = (performance.now() - started) / 1_000;
    after = await endAttack(target);
    console.log(
      `${count} requests for ${routeCounts.size} routes and methods in ${seconds.toFixed(0)} s, ` +
        `seed ${seed}: ${Math.round((100 * countGrants()) / count)} % granted, ` +
        `${refusals().length} different refusals, the slowest answer in ${slowest.toFixed(0)} ms` +
        (isSoak ? `; memory grows by ${memory.growthMiB.toFixed(1)} MiB (${memory.summary})` : ""),
    );
  });

  const countGrants = (): number =>
    [...routeCounts.values()].reduce((sum, { granted }) => sum + granted, 0);
  const refusals = (): string[] => [...codes.keys()].filter((code) => code !== "granted");

  test("openapi.json documents all routes and methods", () => {
    expect([...undocumentedRoutes(document)]).toEqual([]);
    expect(routeCounts.size).toBeGreaterThan(0);
  });

  test("each is answered without 5xx, repeats no value, and is refused in the documented form", () => {
    expect({ seed, problems }).toEqual({ seed, problems: [] });
    expect(count).toBeGreaterThanOrEqual(REQUESTS);
  });

  test("reach every route and method often enough, and each grants some", () => {
    expect(rareRoutes()).toEqual([]);
    expect(countGrants()).toBeGreaterThan(count / 5);
  });

  test("cause more than 25 different refusals, also at the limits of the licenses", () => {
    expect(refusals().length).toBeGreaterThan(25);
    expect(missingLimitCodes()).toEqual([]);
  });

  if (isSoak) {
    test(`let resident memory grow by less than ${MAX_GROWTH_MIB} MiB after the first ones`, () => {
      expect(memory.growthMiB).toBeLessThan(MAX_GROWTH_MIB);
    });
  }

  testAfterAttack("generated requests", () => after);
});
