// `load-generator.ts PLAN`, in a process of its own: so many connections, on each the next request when
// the answer to the last one is there. Plain sockets, prepared bytes and as little reading as tells
// a right answer from a wrong one, so that what is measured is the server. Prints an outcome.
import type { Socket } from "bun";
import type { LoadOutcome, LoadPlan } from "./load-plan.ts";
import {
  makeScripts,
  type AnswerKind,
  type ConnectionScript,
  type RequestStep,
} from "./request-scripts.ts";

/** Before anything counts: both sides are compiled by then, and caches are filled. */
const WARM_UP = 300;
const PATIENCE = 20_000;

const plan = JSON.parse(process.argv[2] ?? "") as LoadPlan;

const counts: Record<AnswerKind, number> = {
  granted: 0,
  kept: 0,
  released: 0,
  consumed: 0,
  denied: 0,
  read: 0,
};
const errors: Record<string, number> = {};
const waits: number[] = [];
let isStopping = false;
let isCounting = false;
let releasing = 0;
let mostHeld = 0;
let open = 0;
const over = Promise.withResolvers<void>();

const HEAD_END = Buffer.from("\r\n\r\n");
/** Of `Content-Length: `, in whatever case it is written. */
const LENGTH = Buffer.from("ength: ");
const NOT_AVAILABLE = Buffer.from("floating_not_available");
const CR = 13;

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
    if (step.answerKinds[200] === "released") releasing += 1;
    const { bytes } = step;
    this.#sent = performance.now();
    if (socket.write(bytes) !== bytes.length) this.fail(socket, "a request could not be sent");
  }

  read(socket: Socket<Connection>, part: Buffer): void {
    const bytes = this.#rest === null ? part : Buffer.concat([this.#rest, part]);
    const size = sizeOf(bytes);
    if (size < 0 || bytes.length < size) {
      // The buffer is the runtime's, and used again.
      this.#rest = bytes === part ? Buffer.from(part) : bytes;
      return;
    }
    this.#rest = null;
    if (bytes.length > size) return this.fail(socket, "more was answered than was asked");
    const now = performance.now();
    if (isCounting) waits.push(now - this.#sent);
    const status = digitsAt(bytes, "HTTP/1.1 ".length, 3);
    const act = this.#step?.answerKinds[status];
    if (act === undefined) return this.fail(socket, `status ${status}`);
    if (act === "denied" && bytes.indexOf(NOT_AVAILABLE) < 0) {
      return this.fail(socket, "denied for another reason");
    }
    counts[act] += 1;
    if (act === "granted") mostHeld = Math.max(mostHeld, counts.granted - releasing);
    this.send(socket, act);
  }

  fail(socket: Socket<Connection>, why: string): void {
    if (this.#ended) return;
    errors[why] = (errors[why] ?? 0) + 1;
    this.end(socket);
  }

  end(socket: Socket<Connection>): void {
    if (this.#ended) return;
    this.#ended = true;
    open -= 1;
    socket.end();
    if (open === 0) over.resolve();
  }
}

/** Of a whole answer; -1: its head is not all there yet. */
function sizeOf(bytes: Buffer): number {
  const head = bytes.indexOf(HEAD_END);
  const length = bytes.indexOf(LENGTH);
  if (head < 0 || length < 0 || length > head) return -1;
  const at = length + LENGTH.length;
  return head + HEAD_END.length + digitsAt(bytes, at, bytes.indexOf(CR, at) - at);
}

function digitsAt(bytes: Buffer, at: number, count: number): number {
  let number = 0;
  for (let place = at; place < at + count; place += 1) {
    number = number * 10 + ((bytes[place] ?? 48) - 48);
  }
  return number;
}

const { hostname, port } = new URL(plan.url);
const sockets = await Promise.all(
  makeScripts(plan).map((script) =>
    Bun.connect<Connection>({
      hostname,
      port: Number(port),
      data: new Connection(script),
      socket: {
        data: (socket, part) => socket.data.read(socket, part),
        close: (socket) => socket.data.fail(socket, "the server closed a connection"),
        error: (socket, error) => socket.data.fail(socket, error.message),
      },
    }),
  ),
);
open = sockets.length;
for (const socket of sockets) socket.data.send(socket, null);
await Bun.sleep(WARM_UP);
isCounting = true;
const begun = performance.now();
const cpu = process.cpuUsage();
await Bun.sleep(plan.seconds * 1_000);
isCounting = false;
const took = performance.now() - begun;
const { user, system } = process.cpuUsage(cpu);
isStopping = true;
const late = setTimeout(() => {
  errors["no answer"] = open;
  over.resolve();
}, PATIENCE);
await over.promise;
clearTimeout(late);

const sorted = new Float64Array(waits).toSorted();
const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
const outcome: LoadOutcome = {
  answered: Object.values(counts).reduce((sum, count) => sum + count, 0),
  requests: sorted.length,
  perSecond: (sorted.length / took) * 1_000,
  p50: at(0.5),
  p99: at(0.99),
  max: at(1),
  granted: counts.granted,
  released: counts.released,
  consumed: counts.consumed,
  mostHeld,
  generatorCpuShare: (user + system) / 1_000 / took,
  errors,
};
process.stdout.write(JSON.stringify(outcome));
process.exit();
