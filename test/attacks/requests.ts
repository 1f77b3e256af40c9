// `bun run test:attacks requests`: generated requests on every route of the table and every field of
// the document, right ones, nearly right ones and wild ones. What is refused is refused in the form
// that was promised, nothing is granted that must not be, and nothing breaks.
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
const MOST_MIB = 32;
/** Of the usual number, every route gets so many at the least, and some of them are granted. */
const LEAST = REQUESTS / 1_000;
const SHOWN = 10;
/** Without these the licenses' limits were not tried at all. */
const AT_LIMITS = [
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
  `the document tells of all ${plans.length} routes and methods`,
  undocumentedRoutes(document).length === 0,
  [...undocumentedRoutes(document)],
);

const attacks = generateAttacks(target, plans);
const tried = new Map<string, { all: number; granted: number }>(
  plans.map(({ method, path }) => [`${method} ${path}`, { all: 0, granted: 0 }]),
);
const codes = new Map<string, number>();
const broken: string[] = [];
let [count, slowest, batches] = [0, 0, 0];
let queue: AttackRequest[] = [];
let turns: Promise<void> = Promise.resolve();
/** The server has one process for such beside it; while it works, something else is asked for. */
let isWalking = false;

function next(): AttackRequest {
  if (queue.length === 0) {
    queue = fc.sample(attacks, { seed: seed + batches, numRuns: BATCH });
    batches += 1;
  }
  return queue.pop() as AttackRequest;
}

function note(attack: AttackRequest, answer: RawAnswer | null): void {
  count += 1;
  reportProgress("requests", count, REQUESTS);
  // What gives way to answers takes as long as that takes.
  const took = scansAllData(attack.plan) ? 0 : (answer?.ms ?? 0);
  slowest = Math.max(slowest, took);
  const entry = tried.get(`${attack.plan.method} ${attack.plan.path}`);
  const isGranted = answer !== null && answer.status < 300;
  if (entry !== undefined) {
    entry.all += 1;
    entry.granted += isGranted ? 1 : 0;
  }
  const code = answer === null ? "none" : isGranted ? "granted" : refusalCode(answer);
  codes.set(code, (codes.get(code) ?? 0) + 1);
  const complaint = findAnswerProblem(attack, answer);
  if (complaint === null) return;
  const sent = attack.bytes.toString("latin1").slice(0, 1_000);
  const got = answer === null ? "" : `${answer.head}\n${answer.body}`.slice(0, 500);
  broken.push(`${complaint}: ${JSON.stringify(sent)} got ${JSON.stringify(got)}`);
}

async function attack(until: number): Promise<void> {
  const wire = new RawConnection(target.port);
  for (;;) {
    if (count >= until || broken.length >= SHOWN || !target.isAlive()) break;
    const one = next();
    const send = async (): Promise<void> =>
      note(one, await wire.send(one.bytes, one.method === "HEAD"));
    if (scansAllData(one.plan)) {
      if (isWalking) continue;
      isWalking = true;
      await send();
      isWalking = false;
    } else if (isAnsweredSerially(one.plan)) await (turns = turns.then(send));
    else await send();
  }
  wire.close();
}

const attackUntil = (until: number): Promise<unknown> =>
  Promise.all(Array.from({ length: CONNECTIONS }, () => attack(until)));

/** Granted once, it would be the last thing that is. */
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
  `${count} requests in ${seconds.toFixed(0)} s (seed ${seed}): each answered, no 5xx, every ` +
    `refusal in its form, nothing sung back, nothing granted that must not be`,
  broken.length === 0 && count >= REQUESTS,
  broken.join("\n         "),
);
console.log(`       the slowest took ${slowest.toFixed(0)} ms`);
const rare = [...tried].filter(
  ([route, { all, granted }]) =>
    (all < LEAST && !scansAllData({ path: route.split(" ")[1] ?? "" })) ||
    (granted === 0 && route !== NEVER_GRANTED),
);
const grants = [...tried.values()].reduce((sum, { granted }) => sum + granted, 0);
check(
  `each of ${tried.size} routes and methods was tried ${LEAST} times or more and granted; ` +
    `${Math.round((100 * grants) / count)} % were granted in all`,
  rare.length === 0 && grants > count / 5,
  rare,
);
const refusals = [...codes].filter(([code]) => code !== "granted");
check(
  `${refusals.length} different refusals were seen, those at every limit among them`,
  refusals.length > 25 && AT_LIMITS.every((code) => codes.has(code)),
  refusals,
);
check("the server is alive", target.isAlive());
check(
  `${memory.growthMiB.toFixed(1)} MiB more resident memory after ${count - WARM_UP} requests than ` +
    `after the first ${WARM_UP}, less than ${MOST_MIB} (${memory.summary})`,
  memory.growthMiB < MOST_MIB,
);
await checkAfterAttack(target);
finish();
