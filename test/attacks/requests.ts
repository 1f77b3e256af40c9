// `bun run test:attacks requests`: generated requests for every route of the table and every field
// of openapi.json: valid, nearly valid and wild. Every refusal has the documented form, nothing is
// granted that must be refused, and the server stays healthy.
import * as fc from "fast-check";
import {
  check,
  finish,
  reportProgress,
  makeTempFolder,
  seed,
  chooseSize,
} from "../support/suite-harness.ts";
import { MemoryCurve } from "../support/resident-memory.ts";
import { checkAfterAttack } from "./after-attack.ts";
import { findAnswerProblem, refusalCode } from "./answer-check.ts";
import {
  planRoutes,
  isAnsweredSerially,
  undocumentedRoutes,
  scansAllData,
  type ApiDocument,
} from "./route-plans.ts";
import { generateAttacks, type AttackRequest } from "./request-grammar.ts";
import { startTarget } from "./target.ts";
import { RawConnection, type RawAnswer } from "./raw-connection.ts";

const REQUESTS = chooseSize(100_000, 10_000_000);
const WARM_UP = chooseSize(40_000, 1_000_000);
const CONNECTIONS = 12;
const BATCH = 2_000;
const STAGES = 8;
const MAX_GROWTH_MIB = 32;
/** Every route gets at least so many requests, and some of them are granted. */
const MIN_PER_ROUTE = REQUESTS / 1_000;
const MAX_PROBLEMS = 10;
/** Refusals that occur when the limits of the licenses are reached. */
const LIMIT_CODES = [
  "floating_not_available",
  "license_not_enough_consumptions",
  "feature_not_enough_consumptions",
];

const target = await startTarget(makeTempFolder());
const document = (await (
  await fetch(`${target.server.url}/api/v4/openapi.json`)
).json()) as ApiDocument;
const plans = planRoutes(document);
check(
  `openapi.json documents all ${plans.length} routes and methods`,
  undocumentedRoutes(document).length === 0,
  [...undocumentedRoutes(document)],
);

const attacks = generateAttacks(target, plans);
const routeCounts = new Map<string, { all: number; granted: number }>(
  plans.map(({ method, path }) => [`${method} ${path}`, { all: 0, granted: 0 }]),
);
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

/** If it were granted, the server would refuse everything else. */
const NEVER_GRANTED = "POST /api/admin/v1/move";

const started = performance.now();
await attackUntil(WARM_UP);
const memory = new MemoryCurve(target.server.pid);
await memory.sample();
for (let stage = 1; stage <= STAGES; stage += 1) {
  await attackUntil(WARM_UP + (stage * (REQUESTS - WARM_UP)) / STAGES);
  await memory.sample();
}
const seconds = (performance.now() - started) / 1_000;

check(
  `${count} generated requests are each answered without 5xx, without repeating a value, and ` +
    `refused in the documented form if they must be (seed ${seed}, ${seconds.toFixed(0)} s)`,
  problems.length === 0 && count >= REQUESTS,
  problems.join("\n         "),
);
console.log(`       the slowest answer took ${slowest.toFixed(0)} ms`);
const rareRoutes = [...routeCounts].filter(
  ([route, { all, granted }]) =>
    (all < MIN_PER_ROUTE && !scansAllData({ path: route.split(" ")[1] ?? "" })) ||
    (granted === 0 && route !== NEVER_GRANTED),
);
const grants = [...routeCounts.values()].reduce((sum, { granted }) => sum + granted, 0);
check(
  `each of ${routeCounts.size} routes and methods gets at least ${MIN_PER_ROUTE} requests and ` +
    `grants some; ${Math.round((100 * grants) / count)} % of all requests are granted`,
  rareRoutes.length === 0 && grants > count / 5,
  rareRoutes,
);
const refusals = [...codes].filter(([code]) => code !== "granted");
check(
  `the generated requests cause ${refusals.length} different refusals, also at the license limits`,
  refusals.length > 25 && LIMIT_CODES.every((code) => codes.has(code)),
  refusals,
);
check("the server is running after the generated requests", target.isAlive());
check(
  `resident memory grows by less than ${MAX_GROWTH_MIB} MiB in the ${count - WARM_UP} requests ` +
    `after the first ${WARM_UP}: ${memory.growthMiB.toFixed(1)} MiB (${memory.summary})`,
  memory.growthMiB < MAX_GROWTH_MIB,
);
await checkAfterAttack(target);
finish();
