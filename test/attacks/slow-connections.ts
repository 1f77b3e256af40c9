// `bun run test:attacks slow`: a thousand connections that send a byte now and then, nothing at all, or
// never read what they asked for, while others register. The others must be answered all the while, and
// once it is over the server must have let go of every one. How long the others waited is always shown,
// and judged in a soak, which has a machine to itself.
import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { check, finish, isSoak, makeTempFolder, chooseSize } from "../support/suite-harness.ts";
import { PATIENCE } from "../support/patience.ts";
import { checkAfterAttack } from "./after-attack.ts";
import { registrationRequest } from "./malformed-cases.ts";
import { startTarget } from "./target.ts";
import { RawConnection } from "./raw-connection.ts";

const SLOW = chooseSize(1_000, 5_000);
const SECONDS = chooseSize(15, 120);
const OTHERS = 8;
const PAUSE = 10;
const DRIP = 500;
const MOST_P99 = 100;
/** A packet that a busy machine drops is sent again after one second, and again after two more. */
const LONGEST = 5_000;
/** Of those that have said something; one that was hung up on is on its way back. */
const THERE_AT_ONCE = 0.95;
/** Answers to each of the others, the least, while all slow ones are there. */
const ANSWERS_BESIDE = 10;

const target = await startTarget(makeTempFolder(), 1_000);
const descriptors = (): number => readdirSync(`/proc/${target.server.pid}/fd`).length;

interface SlowBehavior {
  readonly first: string;
  /** Sent over and over, a byte at a time. */
  readonly drip?: string;
  readonly isDeaf?: boolean;
}

const HEAD = "POST /api/v4/register HTTP/1.1\r\nHost: localhost\r\n";
const ASKING = "GET /api/v4/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n";

const dripsHeaders: SlowBehavior = { first: `${HEAD}X-Slow: `, drip: "x" };
const dripsBody: SlowBehavior = {
  first: `${HEAD}Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n{"`,
  drip: "x",
};
const saysOneLetter: SlowBehavior = { first: "G" };
/** Kept by the kernel: the server is not even told of it. */
const isSilent: SlowBehavior = { first: "" };
/** More answers than the kernel keeps for it, so that the server is left with one in hand. */
const isDeaf: SlowBehavior = { first: ASKING.repeat(60), isDeaf: true };

/** Few deaf ones: each holds some megabytes, if in the kernel. */
const mannerOf = (index: number): SlowBehavior =>
  index % 20 === 0 ? isDeaf : (OFTEN[index % OFTEN.length] as SlowBehavior);
const OFTEN = [dripsHeaders, dripsBody, saysOneLetter, dripsHeaders, dripsBody, isSilent];

let [opened, isOver] = [0, false];
/** All of the slow ones have come. */
let areThere = false;
const slow = new Set<Socket>();

/** One that was hung up on comes back. */
function beSlow(index: number): void {
  if (isOver) return;
  const { first, drip, isDeaf: neverReads = false } = mannerOf(index);
  const socket = connect({ host: "127.0.0.1", port: target.port });
  slow.add(socket);
  opened += 1;
  socket.on("connect", () => socket.write(first));
  if (neverReads) socket.pause();
  else socket.resume();
  const dripping = drip === undefined ? null : setInterval(() => socket.write(drip), DRIP);
  socket.on("error", () => {});
  socket.on("close", () => {
    if (dripping !== null) clearInterval(dripping);
    slow.delete(socket);
    beSlow(index);
  });
}

/** How many connections the server has once nearly all of them are there. */
async function come(): Promise<number> {
  // A few at a time: more at once than the kernel lines up before a listener wait there, not here.
  for (let index = 0; index < SLOW; index += 1) {
    beSlow(index);
    if (index % 50 === 0) await Bun.sleep(20);
  }
  const deadline = performance.now() + PATIENCE;
  for (;;) {
    const held = descriptors() - before;
    areThere = held > told * THERE_AT_ONCE;
    if (areThere || performance.now() > deadline) return held;
    await Bun.sleep(100);
  }
}

interface Measured {
  /** How long each answer took, sorted; infinite for one that was not 200. */
  readonly took: readonly number[];
  /** Answers that one of the others got while all slow ones were there, the least of them. */
  readonly leastBeside: number;
}

/** For so many seconds, and longer until `isEnough`; the same calls at the same pace every time. */
async function measure(
  seconds: number,
  isEnough: (beside: number) => boolean = () => true,
): Promise<Measured> {
  const took: number[] = [];
  const end = performance.now() + seconds * 1_000;
  const one = async (index: number): Promise<number> => {
    const wire = new RawConnection(target.port);
    const bytes = Buffer.from(registrationRequest(`other-${index}`));
    let beside = 0;
    while (performance.now() < end || !isEnough(beside)) {
      const isBeside = areThere;
      const answer = await wire.send(bytes);
      const isRight = answer?.status === 200;
      took.push(isRight ? answer.ms : Infinity);
      // One is enough to fail, and a server that hangs would have it wait for each of the next.
      if (!isRight) break;
      if (isBeside) beside += 1;
      await Bun.sleep(PAUSE);
    }
    wire.close();
    return beside;
  };
  const beside = await Promise.all(Array.from({ length: OTHERS }, (_, index) => one(index)));
  return { took: took.toSorted((a, b) => a - b), leastBeside: Math.min(...beside) };
}

const at = (took: readonly number[], share: number): number =>
  took[Math.min(took.length - 1, Math.floor(took.length * share))] ?? Infinity;

const figures = (took: readonly number[]): string =>
  `${took.length} answers, half within ${at(took, 0.5).toFixed(1)} ms, 99 % within ` +
  `${at(took, 0.99).toFixed(1)}, the longest ${at(took, 1).toFixed(1)}`;

await measure(2);
const before = descriptors();
const { took: alone } = await measure(SECONDS);
const told = Array.from({ length: SLOW }, (_, index) => mannerOf(index)).filter(
  (manner) => manner !== isSilent,
).length;
let hasCome = false;
const coming = come().finally(() => (hasCome = true));
const { took: beside, leastBeside } = await measure(
  SECONDS,
  (answers) => hasCome && (!areThere || answers >= ANSWERS_BESIDE),
);
const held = await coming;
console.log(`       alone:  ${figures(alone)}`);
console.log(`       beside: ${figures(beside)}`);
check(
  `${SLOW} slow ones are there, ${told} of them have said something: ${held} connections`,
  areThere,
);
const refused = beside.filter((ms) => ms === Infinity).length;
check(
  `beside them all of ${beside.length} registrations are granted, ${leastBeside} or more to each of ` +
    `${OTHERS} others once all slow ones were there`,
  refused === 0 && leastBeside >= ANSWERS_BESIDE,
  `${refused} were not`,
);
if (isSoak) {
  // On a busy machine the others are slow without the slow ones, too.
  const most = Math.max(MOST_P99, 3 * at(alone, 0.99));
  check(
    `beside them 99 % of ${beside.length} answers came within ${at(beside, 0.99).toFixed(1)} ms, ` +
      `less than ${most.toFixed(0)} (${at(alone, 0.99).toFixed(1)} ms without them)`,
    at(beside, 0.99) < most,
  );
  check(
    `the longest took ${at(beside, 1).toFixed(0)} ms, less than ${LONGEST}`,
    at(beside, 1) < LONGEST,
  );
}
check(`the server is alive; slow ones came back ${opened - SLOW} times`, target.isAlive());

isOver = true;
for (const socket of slow) socket.destroy();
const gone = performance.now();
while (descriptors() > before + 2 && performance.now() - gone < PATIENCE) await Bun.sleep(100);
const seconds = ((performance.now() - gone) / 1_000).toFixed(1);
const after = descriptors();
check(
  `${seconds} s later it holds ${after} descriptors, as before (${before})`,
  after <= before + 2,
);
await checkAfterAttack(target);
finish();
