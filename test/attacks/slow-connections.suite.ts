// `bun run test:attacks slow-connections`: a thousand connections send a byte now and then, send
// nothing, or never read their answers, while normal clients register. The normal clients must
// always be answered, and afterwards the server must have closed every slow connection. Waiting
// times are always printed, and checked in a soak run, which has the machine to itself.
import { beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { isSoak, makeTempFolder, chooseSize } from "../support/suite-harness.ts";
import { PATIENCE } from "../support/patience.ts";
import { isEventuallyTrue } from "../support/wait-until.ts";
import { endAttack, testAfterAttack, type AfterAttack } from "./after-attack.ts";
import { registrationRequest } from "./malformed-cases.ts";
import { startTarget, type AttackTarget } from "./target.ts";
import { RawConnection } from "./raw-connection.ts";

const SLOW = chooseSize(1_000, 5_000);
/** Connections that stop in the middle of a request, all at once and only for a moment. */
const HALF_SENT = chooseSize(1_000, 15_000);
/** One address has ports for 28,000 connections, and one that was closed keeps its port for a while. */
const LOCAL_ADDRESSES = 8;
const SECONDS = chooseSize(3, 120);
const CLIENTS = 8;
const PAUSE = 10;
/** The runtime starts some when it has much to do. */
const MAX_MORE_THREADS = 20;
const DRIP_INTERVAL = 500;
const MAX_P99 = 100;
/** TCP repeats a packet that a busy machine drops after one second, and again after two more. */
const MAX_WAIT = 5_000;
/** Share of the slow connections that sent bytes; one closed by the server is reconnecting. */
const CONNECTED_SHARE = 0.95;
/** Answers that each client must get while all slow connections are open. */
const MIN_ANSWERS = 10;

let target: AttackTarget;
const countDescriptors = (): number => readdirSync(`/proc/${target.server.pid}/fd`).length;
const countThreads = (): number => readdirSync(`/proc/${target.server.pid}/task`).length;

interface SlowBehavior {
  readonly first: string;
  /** A byte that is sent again and again. */
  readonly drip?: string;
  readonly neverReads?: boolean;
}

const HEAD = "POST /api/v4/register HTTP/1.1\r\nHost: localhost\r\n";
const GET_DOCUMENT = "GET /api/v4/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n";

const dripsHeaders: SlowBehavior = { first: `${HEAD}X-Slow: `, drip: "x" };
const dripsBody: SlowBehavior = {
  first: `${HEAD}Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n{"`,
  drip: "x",
};
const sendsOneByte: SlowBehavior = { first: "G" };
/** The kernel holds such a connection: the server does not see it. */
const sendsNothing: SlowBehavior = { first: "" };
/** More answers than the kernel buffers, so that the server must hold one. */
const neverReads: SlowBehavior = { first: GET_DOCUMENT.repeat(60), neverReads: true };

/** Only a few never read: each of them takes some megabytes, though in the kernel. */
const behaviorOf = (index: number): SlowBehavior =>
  index % 20 === 0
    ? neverReads
    : (FREQUENT_BEHAVIORS[index % FREQUENT_BEHAVIORS.length] as SlowBehavior);
const FREQUENT_BEHAVIORS = [
  dripsHeaders,
  dripsBody,
  sendsOneByte,
  dripsHeaders,
  dripsBody,
  sendsNothing,
];

let [opened, isOver] = [0, false];
/** Nearly all slow connections are open. */
let areConnected = false;
const slowSockets = new Set<Socket>();

/** Opens a slow connection, and opens it again when the server closes it. */
function openSlowConnection(index: number): void {
  if (isOver) return;
  const { first, drip, neverReads: isUnread = false } = behaviorOf(index);
  const socket = connect({ host: "127.0.0.1", port: target.port });
  slowSockets.add(socket);
  opened += 1;
  socket.on("connect", () => socket.write(first));
  if (isUnread) socket.pause();
  else socket.resume();
  const timer = drip === undefined ? null : setInterval(() => socket.write(drip), DRIP_INTERVAL);
  socket.on("error", () => {});
  socket.on("close", () => {
    if (timer !== null) clearInterval(timer);
    slowSockets.delete(socket);
    openSlowConnection(index);
  });
}

/** Returns how many connections the server holds once nearly all of them are open. */
async function openSlowConnections(): Promise<number> {
  // A few at a time: if the accept queue of the kernel overflows, connections wait there.
  for (let index = 0; index < SLOW; index += 1) {
    openSlowConnection(index);
    if (index % 50 === 0) await Bun.sleep(20);
  }
  const deadline = performance.now() + PATIENCE;
  for (;;) {
    const connections = countDescriptors() - before;
    areConnected = connections > sendingCount * CONNECTED_SHARE;
    if (areConnected || performance.now() > deadline) return connections;
    await Bun.sleep(100);
  }
}

interface Measurement {
  /** How long each answer took in ms, sorted; Infinity for an answer other than 200. */
  readonly times: readonly number[];
  /** Answers while all slow connections were open, of the client that got the fewest. */
  readonly fewestAnswers: number;
}

/** Registers for so many seconds, and longer until `isEnough`, always at the same rate. */
async function measure(
  seconds: number,
  isEnough: (answers: number) => boolean = () => true,
): Promise<Measurement> {
  const times: number[] = [];
  const end = performance.now() + seconds * 1_000;
  const runClient = async (index: number): Promise<number> => {
    const connection = new RawConnection(target.port);
    const bytes = Buffer.from(registrationRequest(`client-${index}`));
    let answersUnderAttack = 0;
    while (performance.now() < end || !isEnough(answersUnderAttack)) {
      const isUnderAttack = areConnected;
      const answer = await connection.send(bytes);
      const isGranted = answer?.status === 200;
      times.push(isGranted ? answer.ms : Infinity);
      // One failure is enough, and on a server that hangs every further request would time out.
      if (!isGranted) break;
      if (isUnderAttack) answersUnderAttack += 1;
      await Bun.sleep(PAUSE);
    }
    connection.close();
    return answersUnderAttack;
  };
  const counts = await Promise.all(Array.from({ length: CLIENTS }, (_, index) => runClient(index)));
  return { times: times.toSorted((a, b) => a - b), fewestAnswers: Math.min(...counts) };
}

const percentile = (times: readonly number[], share: number): number =>
  times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Infinity;

const formatTimes = (times: readonly number[]): string =>
  `${times.length} answers, half within ${percentile(times, 0.5).toFixed(1)} ms, 99 % within ` +
  `${percentile(times, 0.99).toFixed(1)} ms, the longest ${percentile(times, 1).toFixed(1)} ms`;

/** Descriptors that the server has open before the attack. */
let before = 0;
const sendingCount = Array.from({ length: SLOW }, (_, index) => behaviorOf(index)).filter(
  (behavior) => behavior !== sendsNothing,
).length;

/** Returns when the server has released the descriptors of the slow connections. */
async function endSlowConnections(): Promise<void> {
  isOver = true;
  for (const socket of slowSockets) socket.destroy();
  const deadline = performance.now() + PATIENCE;
  while (countDescriptors() > before + 2 && performance.now() < deadline) await Bun.sleep(100);
}

interface HalfSentResult {
  /** Connections of them that the server holds at the same time, and its threads then. */
  readonly held: number;
  readonly threads: number;
  /** The status of a complete request meanwhile. */
  readonly status: number | undefined;
}

/**
 * Opens connections that send half a request, sends a complete one, and closes them. On a busy
 * machine the first ones reach the time limit of the server before the last ones are open: they are
 * opened again.
 */
async function sendHalfRequests(): Promise<HalfSentResult> {
  const sockets = new Set<Socket>();
  let isEnough = false;
  const open = (index: number): void => {
    if (isEnough) return;
    const localAddress = `127.0.0.${1 + (index % LOCAL_ADDRESSES)}`;
    const socket = connect({ host: "127.0.0.1", port: target.port, localAddress });
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("connect", () => socket.write(HEAD));
    socket.on("close", () => {
      sockets.delete(socket);
      setTimeout(() => open(index), PAUSE);
    });
  };
  for (let index = 0; index < HALF_SENT; index += 1) open(index);
  let [held, threads] = [0, 0];
  const areAllHeld = (): boolean => {
    [held, threads] = [countDescriptors() - before, countThreads()];
    return held >= HALF_SENT;
  };
  await isEventuallyTrue(areAllHeld, { maxPause: 100 });
  const connection = new RawConnection(target.port);
  const answer = await connection.send(Buffer.from(registrationRequest("client-0")));
  connection.close();
  isEnough = true;
  for (const socket of sockets) socket.destroy();
  await isEventuallyTrue(() => countDescriptors() <= before + 2, { maxPause: 100 });
  return { held, threads, status: answer?.status };
}

describe("slow connections", () => {
  let timesBefore: readonly number[];
  let underAttack: Measurement;
  let connections = 0;
  let descriptorsAfter = 0;
  let threadsBefore = 0;
  let halfSent: HalfSentResult;
  let after: AfterAttack;

  beforeAll(async () => {
    target = await startTarget(makeTempFolder(), 1_000);
    await measure(2);
    before = countDescriptors();
    threadsBefore = countThreads();
    ({ times: timesBefore } = await measure(SECONDS));
    let isOpeningDone = false;
    const opening = openSlowConnections().finally(() => (isOpeningDone = true));
    underAttack = await measure(
      SECONDS,
      (answers) => isOpeningDone && (!areConnected || answers >= MIN_ANSWERS),
    );
    connections = await opening;
    console.log(
      `${SLOW} slow connections, ${sendingCount} of them have sent bytes: the server holds ` +
        `${connections}, and they reconnected ${opened - SLOW} times\n` +
        `without slow connections: ${formatTimes(timesBefore)}\n` +
        `with slow connections:    ${formatTimes(underAttack.times)}, at least ` +
        `${underAttack.fewestAnswers} to each of ${CLIENTS} clients while all are open`,
    );
    await endSlowConnections();
    halfSent = await sendHalfRequests();
    descriptorsAfter = countDescriptors();
    console.log(`${HALF_SENT} half requests at once: ${JSON.stringify(halfSent)}`);
    after = await endAttack(target);
  });

  test("are held by the server", () => {
    expect(connections).toBeGreaterThan(sendingCount * CONNECTED_SHARE);
  });

  test("keep no registration of other clients from being granted", () => {
    expect(underAttack.times.filter((ms) => ms === Infinity)).toEqual([]);
    expect(underAttack.fewestAnswers).toBeGreaterThanOrEqual(MIN_ANSWERS);
  });

  if (isSoak) {
    // On a busy machine answers are slow without slow connections too.
    test("slow down 99 % of the other answers by less than three times", () => {
      const limit = Math.max(MAX_P99, 3 * percentile(timesBefore, 0.99));
      expect(percentile(underAttack.times, 0.99)).toBeLessThan(limit);
    });

    test(`delay no answer by ${MAX_WAIT} ms`, () => {
      expect(percentile(underAttack.times, 1)).toBeLessThan(MAX_WAIT);
    });
  }

  test("with half a request are all held, and other callers are answered", () => {
    expect(halfSent.held).toBeGreaterThanOrEqual(HALF_SENT);
    expect(halfSent.status).toBe(200);
    expect(halfSent.threads).toBeLessThan(threadsBefore + MAX_MORE_THREADS);
  });

  test("leave no descriptor open in the server after they end", () => {
    expect(descriptorsAfter).toBeLessThanOrEqual(before + 2);
  });

  testAfterAttack("slow connections", () => after);
});
