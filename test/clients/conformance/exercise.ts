// The calls that each build of a client must pass: a part of the scenarios, small enough for a
// build that runs twenty times slower than usual.
import { expect } from "bun:test";
import type { Driver } from "./driver.ts";
import { mutateDocument } from "../../support/mutate-document.ts";
import { createRandom, seed } from "../../support/suite-harness.ts";
import { issuer, judge, LEASE_CASES, verify } from "./lease-scenarios.ts";
import { ROOT_PUBLIC_KEY, type ProductOnServer } from "./site.ts";
import { hoursFromNow } from "./world.ts";

const NONCE = "device-0123456789";

interface Exercise {
  /** Every so many-th case of the lease check; 0: the build has no lease check. */
  readonly everyLeaseCase?: number;
  /** So many leases and licenses with random changes are checked too. */
  readonly mutations?: number;
  /** Leaves out the cases that are impossible in C. */
  readonly isC?: boolean;
}

/** Makes every call once, against a server, and checks leases. The driver then ends normally. */
export async function exercise(
  driver: Driver,
  server: ProductOnServer,
  { everyLeaseCase = 7, mutations = 0, isC = false }: Exercise = {},
): Promise<void> {
  const client = "exercise";
  const { product } = server;
  const options = { urls: [server.url], product, nonce: NONCE, root_keys: [ROOT_PUBLIC_KEY] };
  await driver.request("client", { client, ...options });
  await takeSlots(driver, client, server);
  await count(driver, client, server);
  await borrow(driver, client, server, everyLeaseCase > 0);
  if (everyLeaseCase > 0) await checkLeases(driver, everyLeaseCase, isC);
  await checkMutations(driver, mutations);
  // A slot that is still held is released when the process ends.
  await driver.request("acquire", { client, slot: "left", user: "grace" });
  const { code, stderr } = await driver.end();
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(await server.slotsInUse()).toBe(0);
}

async function takeSlots(driver: Driver, client: string, server: ProductOnServer): Promise<void> {
  const users = ["ada", "ada", "bob", "bob", "eve"];
  const slots = users.map((user, index) => ({ slot: `slot-${index}`, user }));
  await Promise.all(slots.map((fields) => driver.request("acquire", { client, ...fields })));
  expect(await server.slotsInUse()).toBe(3);
  const feature = { slot: "slot-0", feature: "render", code: "RENDER" };
  expect(await driver.request("acquire_feature", feature)).toEqual({
    code: "RENDER",
    is_held: true,
  });
  expect((await driver.request("license", { slot: "slot-0" })).license).toBeObject();
  await driver.request("release", { feature: "render" });
  await Promise.all(slots.map(({ slot }) => driver.request("release", { slot })));
  expect(await server.slotsInUse()).toBe(0);
  await server.takeSlots(5);
  const refused = await driver.requestError("acquire", { client, slot: "none", user: "ada" });
  expect(refused.kind).toBe("NoFreeSlot");
  await Promise.all([0, 1, 2, 3, 4].map((index) => server.releaseUser(`other-${index}`)));
}

async function count(driver: Driver, client: string, server: ProductOnServer): Promise<void> {
  const before = await server.total();
  const calls = { client, count: 12, concurrency: 4 };
  expect(await driver.request("consume_many", calls)).toEqual({ done: 12, failed: 0 });
  const { total } = await driver.request("consume", { client, n: 3, feature: "EXPORT" });
  expect(total).toBe((await server.feature("EXPORT")).total_consumptions);
  expect(await server.total()).toBe(before + 12);
  const refused = await driver.requestError("consume", { client, feature: "NONE" });
  expect(refused.kind).toBe("Refused");
}

async function borrow(
  driver: Driver,
  client: string,
  server: ProductOnServer,
  hasLeaseCheck: boolean,
): Promise<void> {
  const { lease, license } = await driver.request("borrow", {
    client,
    user: "ada",
    until: hoursFromNow(1),
  });
  const fields = { client, lease, license };
  if (hasLeaseCheck) expect((await driver.request("verify", fields)).user).toBe("ada");
  else expect((await driver.requestError("verify", fields)).code).toBe("verify_unavailable");
  await driver.request("release_user", { client, user: "ada" });
  expect(await server.slotsInUse()).toBe(0);
}

async function checkLeases(driver: Driver, every: number, isC: boolean): Promise<void> {
  for (const [index, leaseCase] of LEASE_CASES.entries()) {
    if (index % every > 0 || (leaseCase.isImpossibleInC && isC)) continue;
    const { title, refusals } = leaseCase;
    const verdict = await judge(leaseCase, (input) => verify(driver, input));
    if (refusals === null) expect([title, verdict]).toEqual([title, null]);
    else
      expect(
        refusals.map((code) => `LeaseRefused ${code}`),
        title,
      ).toContain(verdict ?? "");
  }
}

/** The client may refuse or accept a changed text: it must survive it. */
async function checkMutations(driver: Driver, count: number): Promise<void> {
  const random = createRandom(seed);
  const license = issuer.license();
  const lease = issuer.lease(license);
  const bundle = JSON.stringify(await issuer.bundle());
  for (let round = 0; round < count; round += 1) {
    const changed = mutateDocument([lease, license, bundle][round % 3] ?? "", random);
    const texts = round % 3 === 0 ? { lease: changed, license } : { lease, license: changed };
    await verify(driver, texts);
  }
}
