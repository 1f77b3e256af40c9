import { expect, test } from "bun:test";
import { instant } from "../../src/domain/time.ts";
import { bearer, GuardedSite } from "../support/guarded-site.ts";
import { done, openSite } from "../support/licensed-store.ts";

const DAY = 24 * 60 * 60 * 1_000;

/** The record of a stopped site goes on to a later time than the machine's clock tells. */
async function recordGoesOnTo(folder: string, now: number): Promise<void> {
  const { store, stop } = await openSite({ folder, create: false, clock: () => instant(now) });
  await done(store, { type: "MarkClock" });
  await stop();
}

test("a token that ended by the record's time is refused when the machine's clock is behind", async () => {
  const site = await GuardedSite.open();
  const [short, long] = [
    await site.token("--name", "short", "--days", "1"),
    await site.token("--name", "long", "--days", "30"),
  ];
  const status = async (token: string): Promise<number> =>
    (await site.get("/api/admin/v1/status", bearer(token))).status;
  expect([await status(short), await status(long)]).toEqual([200, 200]);
  await site.running.stop();
  await recordGoesOnTo(site.folder, Date.now() + 3 * DAY);
  await site.restart();
  expect([await status(short), await status(long)]).toEqual([401, 200]);
  // By now the appliance follows the machine's clock again, which nothing dated keeps it from.
  await site.restart();
  expect([await status(short), await status(long)]).toEqual([401, 200]);
  expect((await site.tell(["admin", "user", "list"])).stdout).toMatch(/short .*, expired$/m);
});
