// A site's data folder with a license in it, made with the store itself and closed again.
import type { Terms } from "../../src/domain/terms.ts";
import { wallClock } from "../../src/platform/clock.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { checkpoint } from "../../src/store/checkpoint.ts";
import { Store } from "../../src/store/store.ts";
import { install } from "./scenario.ts";

export async function makeSite(
  folder: string,
  license: number,
  differing: Partial<Terms>,
): Promise<void> {
  const store = await Store.open({
    disk: realDisk,
    folder,
    kind: "site",
    create: true,
    clock: wallClock,
    checkpoint: (where, open) => checkpoint(realDisk, where, open),
    onFatal(error) {
      throw error;
    },
  });
  const installed = await store.transact(install(license, differing), () => null);
  await store.close();
  if (!installed.ok) throw new Error(installed.fault.code);
}
