// Another program on the same file system that syncs all the time. Its syncs also write parts of
// what the server has not synced yet: a name without its content, a length without its bytes.
import { open } from "node:fs/promises";
import { join } from "node:path";

export class BackgroundSyncer {
  readonly #loop: Promise<void>;
  #isStopping = false;

  constructor(folder: string) {
    this.#loop = this.#writeAndSync(join(folder, "background"));
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#loop;
  }

  async #writeAndSync(path: string): Promise<void> {
    const file = await open(path, "a");
    try {
      while (!this.#isStopping) {
        await file.write("x");
        await file.sync();
        // Leaves disk time for the server.
        await Bun.sleep(1);
      }
    } catch {
      // The power was cut.
    } finally {
      await file.close();
    }
  }
}
