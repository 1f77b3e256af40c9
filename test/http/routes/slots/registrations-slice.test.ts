import { describe, expect, test } from "bun:test";
import type { RegistrationSliceReply } from "../../../../src/http/routes/slots/registrations-slice.ts";
import {
  expectOk,
  expectRefusal,
  openAppliance,
  type Appliance,
} from "../../../support/appliance.ts";
import { minutesLater } from "../../../support/scenario.ts";

const readSlice = (site: Appliance, query: string) =>
  site.get<RegistrationSliceReply>(`/api/admin/v1/registrations/slice${query}`);

/** Two licenses, both with several slots taken. */
async function openFullSite(): Promise<Appliance> {
  const terms = { slots: 9, timeoutMinutes: 30 };
  const site = await openAppliance({ licenses: { 1: terms, 2: { ...terms, product: "cam" } } });
  for (const [index, user] of ["ada", "bob", "cid", "dan", "eve", "fay", "gus"].entries()) {
    expectOk(await site.register({ user, product: index % 3 === 1 ? "cam" : "cad" }));
  }
  return site;
}

/** Reads all registrations slice by slice, as the page does. */
async function readAllSlices(site: Appliance, limit: number, filter = ""): Promise<string[][]> {
  const users: string[][] = [];
  for (let next: number | null = 0; next !== null;) {
    const reply: RegistrationSliceReply = expectOk(
      await readSlice(site, `?limit=${limit}&after=${next}${filter}`),
    );
    expect(reply.next ?? Infinity).toBeGreaterThan(next);
    users.push(reply.registrations.map(({ user }) => user));
    ({ next } = reply);
  }
  return users;
}

describe("registrations/slice", () => {
  test("returns every registration once and in order, whatever the limit", async () => {
    const site = await openFullSite();
    const all = expectOk(await site.registrations());
    expect(expectOk(await readSlice(site, ""))).toEqual({ registrations: all, next: null });
    for (const limit of [1, 2, 3, 4, 6, 7, 8]) {
      const users = (await readAllSlices(site, limit)).flat();
      expect(users).toEqual(all.map(({ user }) => user));
    }
  });

  test("returns at most the limit, and next is null in the last slice", async () => {
    const site = await openFullSite();
    expect(await readAllSlices(site, 3)).toEqual([
      ["ada", "bob", "cid"],
      ["dan", "eve", "fay"],
      ["gus"],
    ]);
    expect(await readAllSlices(site, 7)).toEqual([
      ["ada", "bob", "cid", "dan", "eve", "fay", "gus"],
      [],
    ]);
  });

  test("can be limited to one product", async () => {
    const site = await openFullSite();
    expect(await readAllSlices(site, 1, "&product=cam")).toEqual([["bob"], ["eve"], []]);
    expectRefusal(await readSlice(site, "?product=other"), 400, "unknown_product");
  });

  test("shows slots that were released or taken between two slices", async () => {
    const site = await openFullSite();
    const first = expectOk(await readSlice(site, "?limit=2"));
    expectOk(await site.unregister({ user: "cid", product: "cad" }));
    expectOk(await site.unregister({ user: "ada", product: "cad" }));
    expectOk(await site.register({ user: "ada", product: "cad" }));
    const rest = expectOk(await readSlice(site, `?after=${first.next}`));
    expect(rest.registrations.map(({ user }) => user)).toEqual(["dan", "eve", "fay", "gus", "ada"]);
    site.clock.now = minutesLater(30);
    expect(await readAllSlices(site, 2)).toEqual([[]]);
  });

  test.each(["limit=0", "limit=1001", "limit=-1", "limit=1.5", "limit=x", "after=-1", "after=1e3"])(
    "is refused for %s",
    async (query) => {
      const site = await openFullSite();
      const [field = ""] = query.split("=");
      const message = expectRefusal(await readSlice(site, `?${query}`), 400, "invalid_parameter");
      expect(message).toContain(field);
    },
  );
});
