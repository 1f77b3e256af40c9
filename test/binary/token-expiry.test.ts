import { expect, test } from "bun:test";
import { join } from "node:path";
import { instant } from "../../src/domain/time.ts";
import { bearerHeader, RunningSite } from "../support/running-site.ts";
import { transactOrThrow, openSite } from "../support/licensed-store.ts";
import { tempFolder } from "../support/temp-folder.ts";

const DAY = 24 * 60 * 60 * 1_000;

/** Adds a line to the audit log of a stopped site, with a time ahead of the machine's clock. */
async function advanceAuditLogTime(folder: string, now: number): Promise<void> {
  const { store, stop } = await openSite({ folder, create: false, clock: () => instant(now) });
  await transactOrThrow(store, { type: "MarkClock" });
  await stop();
}

test("a token that expired by the audit log's time is refused though the machine's clock is behind, also after a restore", async () => {
  const site = await RunningSite.open();
  const [short, long] = [
    await site.createToken("--name", "short", "--days", "1"),
    await site.createToken("--name", "long", "--days", "30"),
  ];
  const status = async (token: string): Promise<number> =>
    (await site.get("/api/admin/v1/status", bearerHeader(token))).status;
  expect([await status(short), await status(long)]).toEqual([200, 200]);
  const backup = join(tempFolder(), "site.berth");
  expect((await site.runCommand(["backup", backup])).code).toBe(0);
  await site.server.stop();
  await advanceAuditLogTime(site.folder, Date.now() + 3 * DAY);
  await site.restart();
  expect([await status(short), await status(long)]).toEqual([401, 200]);
  // By now the appliance follows the machine's clock again, because the site has nothing
  // with an end date that would prevent this.
  await site.restart();
  expect([await status(short), await status(long)]).toEqual([401, 200]);
  expect((await site.runCommand(["admin", "user", "list"])).stdout).toMatch(/short .*, expired /m);
  await site.server.stop();
  expect((await site.runCommand(["restore", backup, "--accept-loss"])).code).toBe(0);
  await site.restart();
  expect([await status(short), await status(long)]).toEqual([401, 200]);
});
