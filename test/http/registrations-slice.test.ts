import { describe, expect, test } from "bun:test";
import type { RegistrationSliceReply } from "../../src/http/routes/registrations-slice.ts";
import { expectOk, expectRefusal, openAppliance, type Appliance } from "../support/appliance.ts";
import { minutesLater } from "../support/scenario.ts";

const slice = (site: Appliance, query: string) =>
  site.get<RegistrationSliceReply>(`/api/admin/v1/registrations/slice${query}`);

/** Two licenses, whose slots are taken in turns. */
async function crowded(): Promise<Appliance> {
  const terms = { slots: 9, timeoutMinutes: 30 };
  const site = await openAppliance({ licenses: { 1: terms, 2: { ...terms, product: "cam" } } });
  for (const [index, user] of ["ada", "bob", "cid", "dan", "eve", "fay", "gus"].entries()) {
    expectOk(await site.register({ user, product: index % 3 === 1 ? "cam" : "cad" }));
  }
  return site;
}

/** Slice by slice, as the page does. */
async function slices(site: Appliance, limit: number, more = ""): Promise<string[][]> {
  const found: string[][] = [];
  for (let next: number | null = 0; next !== null;) {
    const read: RegistrationSliceReply = expectOk(
      await slice(site, `?limit=${limit}&after=${next}${more}`),
    );
    expect(read.next ?? Infinity).toBeGreaterThan(next);
    found.push(read.registrations.map(({ user }) => user));
    ({ next } = read);
  }
  return found;
}

describe("slices", () => {
  test("are the whole list in its order, none left out and none twice", async () => {
    const site = await crowded();
    const whole = expectOk(await site.registrations());
    expect(expectOk(await slice(site, ""))).toEqual({ registrations: whole, next: null });
    for (const limit of [1, 2, 3, 4, 6, 7, 8]) {
      const users = (await slices(site, limit)).flat();
      expect(users).toEqual(whole.map(({ user }) => user));
    }
  });

  test("hold no more than was asked for, and the last says that it is the last", async () => {
    const site = await crowded();
    expect(await slices(site, 3)).toEqual([["ada", "bob", "cid"], ["dan", "eve", "fay"], ["gus"]]);
    expect(await slices(site, 7)).toEqual([["ada", "bob", "cid", "dan", "eve", "fay", "gus"], []]);
  });

  test("can be of one product", async () => {
    const site = await crowded();
    expect(await slices(site, 1, "&product=cam")).toEqual([["bob"], ["eve"], []]);
    expectRefusal(await slice(site, "?product=other"), 400, "unknown_product");
  });

  test("of slots that ended or began meanwhile are what is true by then", async () => {
    const site = await crowded();
    const first = expectOk(await slice(site, "?limit=2"));
    expectOk(await site.unregister({ user: "cid", product: "cad" }));
    expectOk(await site.unregister({ user: "ada", product: "cad" }));
    expectOk(await site.register({ user: "ada", product: "cad" }));
    const rest = expectOk(await slice(site, `?after=${first.next}`));
    expect(rest.registrations.map(({ user }) => user)).toEqual(["dan", "eve", "fay", "gus", "ada"]);
    site.clock.now = minutesLater(30);
    expect(await slices(site, 2)).toEqual([[]]);
  });

  test.each(["limit=0", "limit=1001", "limit=-1", "limit=1.5", "limit=x", "after=-1", "after=1e3"])(
    "are refused for %s",
    async (query) => {
      const site = await crowded();
      const [field = ""] = query.split("=");
      const said = expectRefusal(await slice(site, `?${query}`), 400, "invalid_parameter");
      expect(said).toContain(field);
    },
  );
});
