// Another program on the same file system, which syncs all the time. Its syncs carry along what
// others have not synced yet: a name without its content, a length without its bytes.
import { open } from "node:fs/promises";
import { join } from "node:path";

export class BackgroundSyncer {
  readonly #busy: Promise<void>;
  #leaves = false;

  constructor(folder: string) {
    this.#busy = this.#work(join(folder, "neighbour"));
  }

  async stop(): Promise<void> {
    this.#leaves = true;
    await this.#busy;
  }

  async #work(path: string): Promise<void> {
    const file = await open(path, "a");
    try {
      while (!this.#leaves) {
        await file.write("x");
        await file.sync();
        // It is not to keep the disk for itself.
        await Bun.sleep(1);
      }
    } catch {
      // The power is gone.
    } finally {
      await file.close();
    }
  }
}
