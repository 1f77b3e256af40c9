// `load-generator.ts PLAN`, in its own process: each connection sends its next request as soon as
// the last one is answered. It uses plain sockets and prepared bytes, and reads only enough to tell
// a right answer from a wrong one, so that the server is measured. Prints a LoadOutcome as JSON.
import type { Socket } from "bun";
import { readStatus, sizeOfAnswer } from "./answer-size.ts";
import type { LoadOutcome, LoadPlan } from "./load-plan.ts";
import { addressOf } from "./probe.ts";
import {
  makeScripts,
  type AnswerKind,
  type ConnectionScript,
  type RequestStep,
} from "./request-scripts.ts";

/** Nothing is counted before this time: until then code is compiled and caches are filled. */
const WARM_UP = 300;
const ANSWER_TIMEOUT = 20_000;

const plan = JSON.parse(process.argv[2] ?? "") as LoadPlan;

const counts: Record<AnswerKind, number> = {
  granted: 0,
  renewed: 0,
  released: 0,
  consumed: 0,
  denied: 0,
  read: 0,
};
const errors: Record<string, number> = {};
const waits: number[] = [];
let isStopping = false;
let isCounting = false;
let releaseRequests = 0;
let mostHeld = 0;
let openConnections = 0;
const allClosed = Promise.withResolvers<void>();

const NOT_AVAILABLE = Buffer.from("floating_not_available");

class Connection {
  readonly #script: ConnectionScript;
  #step: RequestStep | null = null;
  #sent = 0;
  #rest: Buffer | null = null;
  #ended = false;

  constructor(script: ConnectionScript) {
    this.#script = script;
  }

  send(socket: Socket<Connection>, last: AnswerKind | null): void {
    const step = this.#script.next(last, isStopping);
    if (step === null) return this.end(socket);
    this.#step = step;
    if (step.answerKinds[200] === "released") releaseRequests += 1;
    const { bytes } = step;
    this.#sent = performance.now();
    if (socket.write(bytes) !== bytes.length) this.fail(socket, "a request could not be sent");
  }

  read(socket: Socket<Connection>, part: Buffer): void {
    const bytes = this.#rest === null ? part : Buffer.concat([this.#rest, part]);
    const size = sizeOfAnswer(bytes);
    if (size === null) {
      // The runtime reuses its buffer.
      this.#rest = bytes === part ? Buffer.from(part) : bytes;
      return;
    }
    if (typeof size === "string") return this.fail(socket, size);
    this.#rest = null;
    if (bytes.length > size) return this.fail(socket, "the answer is longer than its length");
    const now = performance.now();
    if (isCounting) waits.push(now - this.#sent);
    const status = readStatus(bytes);
    const answerKind = this.#step?.answerKinds[status];
    if (answerKind === undefined) return this.fail(socket, `status ${status}`);
    if (answerKind === "denied" && bytes.indexOf(NOT_AVAILABLE) < 0) {
      return this.fail(socket, "denied for another reason");
    }
    counts[answerKind] += 1;
    if (answerKind === "granted") mostHeld = Math.max(mostHeld, counts.granted - releaseRequests);
    this.send(socket, answerKind);
  }

  fail(socket: Socket<Connection>, error: string): void {
    if (this.#ended) return;
    errors[error] = (errors[error] ?? 0) + 1;
    this.end(socket);
  }

  end(socket: Socket<Connection>): void {
    if (this.#ended) return;
    this.#ended = true;
    openConnections -= 1;
    socket.end();
    if (openConnections === 0) allClosed.resolve();
  }
}

const connecting = await Promise.allSettled(
  makeScripts(plan).map((script) =>
    Bun.connect<Connection>({
      ...addressOf(plan.url),
      data: new Connection(script),
      socket: {
        data: (socket, part) => socket.data.read(socket, part),
        close: (socket) => socket.data.fail(socket, "the server closed a connection"),
        error: (socket, error) => socket.data.fail(socket, error.message),
      },
    }),
  ),
);
const sockets = connecting.flatMap((result) =>
  result.status === "fulfilled" ? [result.value] : [],
);
if (sockets.length < connecting.length)
  errors["a connection could not be opened"] = connecting.length - sockets.length;
openConnections = sockets.length;
if (openConnections === 0) allClosed.resolve();
for (const socket of sockets) socket.data.send(socket, null);
await Bun.sleep(WARM_UP);
isCounting = true;
const start = performance.now();
const cpu = process.cpuUsage();
await Bun.sleep(plan.seconds * 1_000);
// Without an answer there is no rate: on a busy machine the server may not have run meanwhile.
const isAnswerPossible = (): boolean =>
  openConnections > 0 && performance.now() - start < ANSWER_TIMEOUT;
while (waits.length === 0 && isAnswerPossible()) await Bun.sleep(10);
isCounting = false;
const duration = performance.now() - start;
const { user, system } = process.cpuUsage(cpu);
isStopping = true;
const timeout = setTimeout(() => {
  errors["no answer"] = openConnections;
  allClosed.resolve();
}, ANSWER_TIMEOUT);
await allClosed.promise;
clearTimeout(timeout);

const sorted = new Float64Array(waits).toSorted();
const percentile = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
const outcome: LoadOutcome = {
  answered: Object.values(counts).reduce((sum, count) => sum + count, 0),
  requests: sorted.length,
  perSecond: (sorted.length / duration) * 1_000,
  p50: percentile(0.5),
  p99: percentile(0.99),
  max: percentile(1),
  granted: counts.granted,
  released: counts.released,
  consumed: counts.consumed,
  mostHeld,
  generatorCpuShare: (user + system) / 1_000 / duration,
  errors,
};
process.stdout.write(JSON.stringify(outcome));
process.exit();
