// The server is killed while rules are applied, users begin to wait and a backup is made. The rules
// are then the last acknowledged ones, or the ones that were being applied, each user has the place
// that was acknowledged, and a backup is complete or missing.
import { expect, onTestFinished, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { QueueReply } from "../../src/http/routes/queue/queue-schemas.ts";
import { startBinary, type ServerProcess } from "../support/binary.ts";
import { spawnBerth } from "../support/kill-command.ts";
import { runBerth } from "../support/run-berth.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { chooseSize, seed } from "../support/suite-harness.ts";
import { tempFolder } from "../support/temp-folder.ts";

const KILLS = chooseSize(6, 25);
const MAX_ACKNOWLEDGED = 60;

/** Places must not end during the test. */
const rulesText = (number: number): string =>
  `# ${number}\n[[rule]]\nproduct = "cad"\nqueue = { hold_seconds = 3600, max_waiting = 100000 }\n`;

const ADMIN = "/api/admin/v1";

class KilledSite {
  readonly root = tempFolder();
  readonly folder = join(this.root, "data");
  /** Acknowledged, and the one that was sent last. */
  rules = 0;
  sentRules = 0;
  readonly users: string[] = [];
  #userCount = 0;
  #server: ServerProcess | null = null;

  async start(): Promise<void> {
    const limits = ["--audit-budget", "0", "--max-places-per-caller", "100000"];
    const flags = ["--data", this.folder, "--listen", "127.0.0.1:0", ...limits];
    const server = await startBinary("serve", ...flags);
    onTestFinished(() => server.kill());
    this.#server = server;
  }

  async get<T>(path: string): Promise<T> {
    return (await (await fetch(`${this.#server?.url}${path}`)).json()) as T;
  }

  async send(method: string, path: string, body: object, headers: Record<string, string> = {}) {
    const { status } = await fetch(`${this.#server?.url}${path}`, {
      method,
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    return status;
  }

  register = (user: string, headers: Record<string, string> = {}) =>
    this.send("POST", "/api/v4/register", { product: "cad", user }, headers);

  async applyRules(): Promise<void> {
    this.sentRules = this.rules + 1;
    const text = rulesText(this.sentRules);
    const status = await this.send("PUT", `${ADMIN}/rules`, { text }, { "if-match": "*" });
    expect(status).toBe(200);
    this.rules = this.sentRules;
  }

  async wait(): Promise<void> {
    this.#userCount += 1;
    const user = `user-${this.#userCount}`;
    expect(await this.register(user, { prefer: "wait=0" })).toBe(400);
    this.users.push(user);
  }

  /** Sends calls one after the other until the server is killed, after so many acknowledged ones. */
  async sendUntilKilled(count: number): Promise<void> {
    let acknowledged = 0;
    const repeat = async (call: () => Promise<void>): Promise<void> => {
      for (;;) {
        await call();
        acknowledged += 1;
        if (acknowledged >= count) await this.#server?.kill();
      }
    };
    const calls = [() => this.applyRules(), () => this.wait()];
    // The call that was under way got no answer.
    for (const { reason } of (await Promise.allSettled(calls.map(repeat))) as { reason: unknown }[])
      if (!(reason instanceof Error) || !("code" in reason)) throw reason;
  }

  async check(): Promise<void> {
    const { text } = await this.get<{ text: string }>(`${ADMIN}/rules`);
    const number = Number(/^# (\d+)/.exec(text)?.[1]);
    expect([this.rules, this.sentRules]).toContain(number);
    expect(text).toBe(rulesText(number));
    this.rules = number;
    const { products } = await this.get<QueueReply>(`${ADMIN}/queue`);
    const waiting = products.flatMap(({ places }) => places.map(({ user }) => user));
    // The one that was taken without an answer may be there too, as the last one.
    expect(waiting.slice(0, this.users.length)).toEqual(this.users);
    const [unanswered, ...others] = waiting.slice(this.users.length);
    expect(others).toEqual([]);
    if (unanswered === undefined) return;
    expect(unanswered).toBe(`user-${this.#userCount}`);
    this.users.push(unanswered);
  }

  stop(): Promise<number | undefined> {
    return this.#server?.stop() ?? Promise.resolve(undefined);
  }
}

test(`rules, places and backups are complete after a kill (${KILLS} kills)`, async () => {
  const random = new SeededRandom(seed);
  const site = new KilledSite();
  await makeLicensedSite(site.folder, { product: "cad", slots: 1, timeoutMinutes: 600 });
  await site.start();
  expect(await site.register("zoe")).toBe(200);
  await site.applyRules();
  let complete = 0;
  for (let round = 1; round <= KILLS; round += 1) {
    const file = join(site.root, `${round}.berth`);
    const backup = spawnBerth("backup", file, "--data", site.folder);
    await site.sendUntilKilled(random.intBetween(1, MAX_ACKNOWLEDGED));
    const code = await backup.exited;
    expect([code === 0, existsSync(file)]).toEqual([code === 0, code === 0]);
    if (code === 0) {
      complete += 1;
      expect((await runBerth(["verify", file])).code).toBe(0);
    }
    await site.start();
    await site.check();
  }
  console.log(
    `${site.rules} sets of rules and ${site.users.length} places acknowledged, ` +
      `${complete} of ${KILLS} backups made; seed ${seed}`,
  );
  expect(await site.stop()).toBe(0);
  expect((await runBerth(["verify", site.folder])).code).toBe(0);
  // An unfinished backup leaves nothing behind.
  expect(readdirSync(site.root).filter((name) => name.endsWith(".new"))).toEqual([]);
});
