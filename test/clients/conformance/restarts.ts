// Scenarios: a server that is killed and started again at the same address.
import { expect } from "bun:test";
import type { ServerProcess } from "../../support/binary.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { makeSiteFolder, ProductOnServer, serveFolder } from "./site.ts";
import type { Scenario } from "./world.ts";

const PRODUCT = "RESTART";

class RestartedServer {
  readonly #folder: string;
  #process: ServerProcess;

  static async open(): Promise<RestartedServer> {
    const folder = await makeSiteFolder({ [PRODUCT]: {} });
    return new RestartedServer(folder, await serveFolder(folder));
  }

  private constructor(folder: string, process: ServerProcess) {
    this.#folder = folder;
    this.#process = process;
  }

  get url(): string {
    return new URL(this.#process.url).origin;
  }

  kill(): Promise<void> {
    return this.#process.kill();
  }

  async start(): Promise<void> {
    const { host } = new URL(this.url);
    this.#process = await serveFolder(this.#folder, "--listen", host);
  }
}

export const restartScenarios: readonly Scenario[] = [
  {
    title: "keeps its slot, and counts once, over a kill of the server",
    product: PRODUCT,
    async run(world) {
      const server = await RestartedServer.open();
      world.atEnd(() => server.kill());
      const proxy = await world.openProxy(server.url);
      proxy.shortenTimeout(60);
      const client = await world.connect(proxy.url, { retry_for: 120 });
      const slot = await client.acquire("ada");
      const many = client.driver.request("consume_many", {
        client: client.name,
        count: 300,
        concurrency: 4,
      });
      await proxy.waitForCount("add_consumption", 100);
      await server.kill();
      await server.start();
      expect(await many).toEqual({ done: 300, failed: 0 });
      const product = new ProductOnServer(server.url, PRODUCT);
      expect(await product.total()).toBe(300);
      expect(await slot.isHeld()).toBe(true);
      expect((await product.registration("ada"))?.user).toBe("ada");
      expect(await slot.release()).toBe(true);
      await waitUntil(async () => (await product.slotsInUse()) === 0);
      expect(client.driver.events).toEqual([]);
    },
  },
];
