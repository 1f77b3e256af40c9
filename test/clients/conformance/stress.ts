// Scenario: many threads of one program do everything at once while connections are cut. At the end
// nothing is taken, and what was counted is what succeeded.
import { expect } from "bun:test";
import { SeededRandom } from "../../support/seeded-random.ts";
import { chooseSize, seed } from "../../support/suite-harness.ts";
import { ignoreRefusal } from "./driver.ts";
import type { Fault } from "./faulty-proxy.ts";
import type { Scenario, TestClient } from "./world.ts";

const THREADS = 8;
const ROUNDS = chooseSize(12, 500, 4);
const USERS = ["ada", "bob", "eve"];
const BORROWERS = ["kim", "lee"];

const FAULTS: readonly Fault[] = [
  { kind: "cut before" },
  { kind: "cut after" },
  { kind: "cut body" },
  { kind: "delay", ms: 50 },
  {
    kind: "answer",
    reply: {
      status: 503,
      body: { status: 503, code: "standby", message: "the other host answers" },
    },
  },
];

class StressThread {
  readonly #client: TestClient;
  readonly #random: SeededRandom;
  /** How much was counted, by the replies. */
  counted = 0;

  constructor(client: TestClient, random: SeededRandom) {
    this.#client = client;
    this.#random = random;
  }

  async run(): Promise<void> {
    for (let round = 0; round < ROUNDS; round += 1) {
      const choice = this.#random.pickWeighted({ use: 6, count: 3, borrow: 1, drop: 1 });
      if (choice === "use") await this.#useSlot();
      else if (choice === "count") await this.#count();
      else if (choice === "borrow") await this.#borrow();
      else await this.#client.releaseUser(this.#random.pick(USERS));
    }
  }

  async #useSlot(): Promise<void> {
    const slot = await this.#client.acquire(this.#random.pick(USERS));
    if (this.#random.chance(0.3)) await ignoreRefusal(slot.acquireFeature("RENDER"));
    await this.#count();
    await slot.release();
  }

  async #count(): Promise<void> {
    const n = this.#random.intBetween(0, 5);
    await this.#client.consume({ n });
    this.counted += n;
  }

  async #borrow(): Promise<void> {
    const user = this.#random.pick(BORROWERS);
    await ignoreRefusal(this.#client.borrow(user));
    await this.#client.releaseUser(user);
  }
}

export const stressScenarios: readonly Scenario[] = [
  {
    title: "many threads use slots, count and borrow while connections are cut",
    async run(world) {
      const random = new SeededRandom(seed);
      const proxies = [await world.openProxy(), await world.openProxy()];
      for (const proxy of proxies) {
        proxy.fail("*", () => (random.chance(0.1) ? random.pick(FAULTS) : null));
        proxy.shortenTimeout(20);
      }
      const urls = proxies.map(({ url }) => url);
      const client = await world.connect(urls, { retry_for: 300, nonce: "device-0123456789" });
      const threads = Array.from(
        { length: THREADS },
        (_, index) => new StressThread(client, new SeededRandom(seed + index)),
      );
      await Promise.all(threads.map((thread) => thread.run()));
      const counted = threads.reduce((sum, thread) => sum + thread.counted, 0);
      expect(await world.server.total()).toBe(counted);
      for (const proxy of proxies) proxy.heal();
      await client.close();
      expect(await world.server.slotsInUse()).toBe(0);
      expect((await world.server.feature("RENDER")).floating_in_use_devices).toBe(0);
      expect(client.driver.events).toEqual([]);
      expect(await client.driver.end()).toEqual({ code: 0, stderr: "" });
    },
  },
];
