// `client.ts URL CONNECTIONS FIRST USERS` calls the server on each connection without a pause,
// until its standard input ends. Then it writes how long every call took. It is a separate process,
// so that no other work delays its measurements.
import { KeepAliveClient } from "../support/keep-alive-client.ts";
import { heartbeatFields, PRODUCT, userOf } from "./populated-site.ts";

const [url = "", connections = "1", first = "0", users = "1"] = process.argv.slice(2);

const control = { isStopping: false };
/** Pairs: the wall clock time of an answer, and how long it took; both in milliseconds. */
const answers: number[] = [];

void Bun.stdin.text().then(() => {
  control.isStopping = true;
});
await Promise.all(Array.from({ length: Number(connections) }, (_, index) => runClient(index)));
await Bun.write(Bun.stdout, new Float64Array(answers));
process.exit();

async function runClient(index: number): Promise<void> {
  const server = await KeepAliveClient.open(url);
  for (let turn = 0; !control.isStopping; turn += 1) {
    const user = Number(first) + ((index + turn * Number(connections)) % Number(users));
    const start = performance.now();
    // Every tenth call is a read, as by a page: a read waits for the writes of others.
    const status = await (turn % 10 === 9 ? readLicense(server) : sendHeartbeat(server, user));
    const end = performance.now();
    if (status !== 200) throw new Error(`${userOf(user)} was answered ${status}`);
    answers.push(performance.timeOrigin + end, end - start);
  }
}

function sendHeartbeat(server: KeepAliveClient, index: number): Promise<number> {
  return server.post("/api/v4/register", heartbeatFields(index));
}

function readLicense(server: KeepAliveClient): Promise<number> {
  return server.get(`/api/v4/license?product=${PRODUCT}`);
}
