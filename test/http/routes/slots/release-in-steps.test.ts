// The release of all slots, which is done in steps while other requests are served.
import { describe, expect, test } from "bun:test";
import {
  expectOk,
  expectRefusal,
  openAppliance,
  type Appliance,
} from "../../../support/appliance.ts";
import { FaultyDisk } from "../../../support/faulty-disk.ts";
import { useShortSteps } from "../../../support/short-steps.ts";
import { waitUntil } from "../../../support/wait-until.ts";

const ALL = "/api/admin/v1/registrations/release/all";
const SLOTS = 120;
/** Each step then has one command. */
const SLOTS_PER_STEP = 50;

interface BusySite {
  readonly site: Appliance;
  readonly disk: FaultyDisk;
  readonly users: readonly string[];
}

/** All slots are in use. */
async function openBusySite(): Promise<BusySite> {
  const disk = new FaultyDisk();
  const terms = { slots: SLOTS, timeoutMinutes: 30, features: [] };
  const site = await openAppliance({ disk, licenses: { 1: terms } });
  const users = Array.from({ length: SLOTS }, (_, index) => `user-${index}`);
  const replies = await Promise.all(users.map((user) => site.register({ user })));
  for (const reply of replies) expectOk(reply);
  useShortSteps();
  return { site, disk, users };
}

const releaseAll = (site: Appliance) => site.post(ALL, { product: "cad" });

describe("the release of all slots", () => {
  test("gives slots to those who wait, and they keep them", async () => {
    const { site } = await openBusySite();
    const waiting = ["ada", "bob", "cleo"].map((user) =>
      site.register({ user }, { prefer: "wait=30" }),
    );
    await waitUntil(async () => expectOk(await site.status()).queue.products[0]?.waiting === 3);
    expect(expectOk(await releaseAll(site))).toEqual({ released: SLOTS, remaining: 0 });
    for (const reply of await Promise.all(waiting)) expectOk(reply);
    expect((await site.listHolders()).toSorted()).toEqual(["ada", "bob", "cleo"]);
  });

  test("leaves a slot that is taken meanwhile, also by a user who had one", async () => {
    const { site, disk } = await openBusySite();
    const syncs = disk.block("syncData");
    const releasing = releaseAll(site);
    await waitUntil(() => syncs.count === 1);
    const taken = [site.register({ user: "user-0" }), site.register({ user: "ada" })];
    disk.clearFaults();
    expect(expectOk(await releasing)).toEqual({ released: SLOTS, remaining: 0 });
    for (const reply of await Promise.all(taken)) expectOk(reply);
    expect((await site.listHolders()).toSorted()).toEqual(["ada", "user-0"]);
  });

  test.each([
    ["registrations/release/all", releaseAll],
    ["unregister/all", (site: Appliance) => site.get("/api/v4/unregister/all")],
  ])("says how many slots %s released before the disk was full", async (_what, release) => {
    const { site, disk, users } = await openBusySite();
    let writes = 0;
    disk.beforeCall = ({ name, path }) => {
      if (name !== "write" || !path.includes("journal-")) return;
      writes += 1;
      if (writes === 2) disk.bytesLeft = 0;
    };
    const message = expectRefusal(await release(site), 503, "storage_full");
    expect(message).toBe(
      `${SLOTS_PER_STEP} slots were released. Then the request failed: the disk is full: nothing was changed; try again after space is available`,
    );
    disk.clearFaults();
    expect(await site.listHolders()).toEqual(users.slice(SLOTS_PER_STEP));
  });
});
