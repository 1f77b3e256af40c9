import { expect, test } from "bun:test";
import { join } from "node:path";
import { RunningSite, NETWORK_ADDRESS } from "../support/running-site.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** A site with a license of ten slots for each product. */
async function openCappedSite(
  products: readonly string[],
  ...flags: string[]
): Promise<RunningSite> {
  const folder = join(tempFolder(), "data");
  for (const product of products) await makeLicensedSite(folder, { product, slots: 10 });
  return RunningSite.open(flags, folder);
}

const register = async (site: RunningSite, fields: object, host?: string) => {
  const response = await site.post("/api/v4/register", fields, {}, host);
  const { code = null, message = "" } = (await response.json()) as {
    code?: string;
    message?: string;
  };
  return { code, message };
};

test("--max-slots-per-user limits the slots of one user over all products, also after a restart", async () => {
  const site = await openCappedSite(["cad", "cam"], "--max-slots-per-user", "1");
  expect((await register(site, { product: "cad", user: "ada" })).code).toBeNull();
  const more = { product: "cam", user: "ada" };
  const refused = await register(site, more);
  expect(refused.code).toBe("slots_capped");
  expect(refused.message).toContain("1 slot at once");
  expect(refused.message).toContain("release one first");
  expect(refused.message).toContain("max_slots_per_user");
  await site.restart();
  expect((await register(site, more)).code).toBe("slots_capped");
  // A heartbeat takes no second slot.
  expect((await register(site, { product: "cad", user: "ada" })).code).toBeNull();
  expect((await site.post("/api/v4/unregister", { product: "cad", user: "ada" })).status).toBe(200);
  expect((await register(site, more)).code).toBeNull();
});

test("--max-slots-per-peer limits one address under any user names, and no other address", async () => {
  const site = await openCappedSite(["cad"], "--max-slots-per-peer", "2");
  for (const user of ["a", "b"]) expect((await register(site, { user })).code).toBeNull();
  const refused = await register(site, { user: "c" });
  expect(refused.code).toBe("slots_capped");
  expect(refused.message).toContain("one address");
  expect(refused.message).toContain("max_slots_per_peer");
  const borrowed = await site.post("/api/v4/borrow", { user: "d" });
  expect(await borrowed.json()).toMatchObject({ code: "slots_capped" });
  await site.restart();
  expect((await register(site, { user: "c" })).code).toBe("slots_capped");
  if (NETWORK_ADDRESS !== null)
    expect((await register(site, { user: "c" }, NETWORK_ADDRESS)).code).toBeNull();
  await site.restart([]);
  expect((await register(site, { user: "d" })).code).toBeNull();
});
