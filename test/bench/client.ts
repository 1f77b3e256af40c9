// Clients in a process of their own, so that nothing they wait for is their own doing:
// `client.ts URL CONNECTIONS FIRST USERS` calls without a pause, on each connection the next one
// after the answer, until its input ends. Then it writes what every call took.
import { KeepAliveClient } from "../support/keep-alive-client.ts";
import { contactOf, PRODUCT, userOf } from "./populated-site.ts";

const [url = "", connections = "1", first = "0", users = "1"] = process.argv.slice(2);

const told = { toStop: false };
/** Pairs: when an answer came, by the wall clock, and how long it took; both in milliseconds. */
const answers: number[] = [];

void Bun.stdin.text().then(() => {
  told.toStop = true;
});
await Promise.all(Array.from({ length: Number(connections) }, (_, index) => client(index)));
await Bun.write(Bun.stdout, new Float64Array(answers));
process.exit();

async function client(index: number): Promise<void> {
  const server = await KeepAliveClient.open(url);
  for (let turn = 0; !told.toStop; turn += 1) {
    const user = Number(first) + ((index + turn * Number(connections)) % Number(users));
    const begun = performance.now();
    // Every tenth looks, as a page does: a read waits for what others wrote.
    const status = await (turn % 10 === 9 ? look(server) : heartbeat(server, user));
    const ended = performance.now();
    if (status !== 200) throw new Error(`${userOf(user)} was answered ${status}`);
    answers.push(performance.timeOrigin + ended, ended - begun);
  }
}

function heartbeat(server: KeepAliveClient, index: number): Promise<number> {
  const { hostname: os_hostname, ip: ip_local, info: user_info } = contactOf(index);
  const fields = { product: PRODUCT, user: userOf(index), os_hostname, ip_local, user_info };
  return server.post("/api/v4/register", fields);
}

function look(server: KeepAliveClient): Promise<number> {
  return server.get(`/api/v4/license?product=${PRODUCT}`);
}
