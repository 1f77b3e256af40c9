// `baseline-sqlite REPLY FOLDER`: durable storage with the SQLite of the runtime. A heartbeat is one
// transaction with a write-ahead log, synced before it is answered with the same bytes as by Berth.
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { readReplyArgument } from "./constant-reply.ts";

const { headers, body } = readReplyArgument();
const init = { headers: new Headers(headers) };
const folder = process.argv[3] ?? "";
const TIMEOUT = 60 * 60 * 1_000;

const database = new Database(join(folder, "slots.sqlite"), { create: true, strict: true });
database.run("PRAGMA journal_mode = WAL");
database.run("PRAGMA synchronous = FULL");
database.run(
  "CREATE TABLE slots (user TEXT PRIMARY KEY, hostname TEXT, ip TEXT, info TEXT, ends INTEGER)",
);
const heartbeat = database.query(
  "INSERT INTO slots VALUES ($user, $os_hostname, $ip_local, $user_info, $ends) " +
    "ON CONFLICT (user) DO UPDATE SET hostname = $os_hostname, ip = $ip_local, " +
    "info = $user_info, ends = $ends",
);

interface Heartbeat {
  readonly user: string;
  readonly os_hostname: string;
  readonly ip_local: string;
  readonly user_info: string;
}

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request) => {
    const { user, os_hostname, ip_local, user_info } = (await request.json()) as Heartbeat;
    heartbeat.run({ user, os_hostname, ip_local, user_info, ends: Date.now() + TIMEOUT });
    return new Response(body, init);
  },
});
process.stdout.write(`${server.url.origin}\nready\n`);
