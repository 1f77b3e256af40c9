// A list of slots that is made in steps, while slots are taken and released.
import { describe, expect, onTestFinished, spyOn, test } from "bun:test";
import { err, ok } from "../../../../src/domain/result.ts";
import type { RegistrationReply } from "../../../../src/http/routes/slots/registrations.ts";
import { log } from "../../../../src/platform/log.ts";
import { expectOk, openAppliance, type Appliance } from "../../../support/appliance.ts";
import { unwrap } from "../../../support/licensed-store.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";
import { useShortSteps } from "../../../support/short-steps.ts";

const TERMS = { slots: 100, timeoutMinutes: 30 };
const LIST = "/api/admin/v1/registrations";

const openTwoLicenses = (): Promise<Appliance> =>
  openAppliance({ licenses: { 1: TERMS, 2: { ...TERMS, product: "cam" } } });

describe("the steps of the list of slots", () => {
  test("have every slot that is held meanwhile once and in order, and no user twice", async () => {
    const site = await openTwoLicenses();
    useShortSteps();
    const random = new SeededRandom(11);
    const held = new Map<string, string>();
    const toggle = async (): Promise<string> => {
      const product = random.pick(["cad", "cam"]);
      const user = `${product}-${random.intBelow(12)}`;
      if (held.has(user)) expectOk(await site.unregister({ user, product }));
      else expectOk(await site.register({ user, product }));
      if (!held.delete(user)) held.set(user, product);
      return user;
    };
    for (let round = 0; round < 20; round += 1) {
      for (let change = 0; change < 6; change += 1) await toggle();
      const product = random.pick([null, null, "cad"]);
      const isListed = (user: string): boolean => product === null || held.get(user) === product;
      const atBegin = [...held.keys()].filter(isListed);
      const changed = new Set<string>();
      const listed: { readonly slot: number; readonly user: string }[] = [];
      for await (const step of site.services.slots.listInSteps(product, (view) => view)) {
        expect(unwrap(step).length).toBeLessThanOrEqual(1);
        listed.push(...unwrap(step));
        if (random.chance(0.5)) changed.add(await toggle());
      }
      const users = listed.map(({ user }) => user);
      const slots = listed.map(({ slot }) => slot);
      expect(slots).toEqual(slots.toSorted((a, b) => a - b));
      expect(users).toEqual([...new Set(users)]);
      expect(atBegin.filter((user) => !changed.has(user) && !users.includes(user))).toEqual([]);
      expect(users.filter((user) => !atBegin.includes(user))).toEqual([]);
    }
  });

  test("end without a fault if the license is removed meanwhile", async () => {
    const site = await openTwoLicenses();
    useShortSteps();
    for (const user of ["ada", "bob"]) expectOk(await site.register({ user, product: "cam" }));
    const steps = site.services.slots.listInSteps("cam", ({ user }) => user);
    expect(await steps.next()).toEqual({ done: false, value: ok(["ada"]) });
    unwrap(await site.licensing.removeLicense(2, true, "10.0.0.1"));
    expect(await steps.next()).toEqual({ done: false, value: ok([]) });
    expect(await steps.next()).toEqual({ done: true, value: undefined });
  });
});

const INFO = "x".repeat(4_000);
const USERS = 40;

/** A list of 160 kB, which is sent in parts. */
async function openLongList(): Promise<Appliance> {
  const site = await openTwoLicenses();
  for (let index = 0; index < USERS; index += 1) {
    const fields = { user: `user-${index}`, product: "cad", user_info: INFO };
    expectOk(await site.register(fields));
  }
  return site;
}

const requestList = (site: Appliance): Promise<Response> =>
  site.app.handle(new Request(`http://appliance${LIST}`, { headers: { host: "127.0.0.1" } }));

describe("a long list of slots", () => {
  test("has the text of all slots at once", async () => {
    const site = await openLongList();
    useShortSteps();
    const slice = expectOk(await site.get<{ registrations: RegistrationReply[] }>(`${LIST}/slice`));
    expect(slice.registrations.length).toBe(USERS);
    const response = await requestList(site);
    expect(response.headers.get("content-type")).toBe("application/json;charset=utf-8");
    expect(await response.text()).toBe(JSON.stringify(slice.registrations));
  });

  test("is made only as far as it is read, and not further after its reader has gone", async () => {
    const site = await openLongList();
    useShortSteps();
    const reads = spyOn(site.services.slots, "listInSteps");
    const response = await requestList(site);
    const stepsOf = reads.mock.results[0]?.value as AsyncGenerator;
    const steps = spyOn(stepsOf, "next");
    const reader = response.body?.getReader();
    await reader?.read();
    await Bun.sleep(20);
    const begun = steps.mock.calls.length;
    expect(begun).toBeLessThan(4);
    await reader?.cancel();
    await Bun.sleep(20);
    expect(steps.mock.calls.length).toBe(begun);
    expect(await stepsOf.next()).toEqual({ done: true, value: undefined });
  });

  test("is refused if its first step fails", async () => {
    const site = await openLongList();
    spyOn(site.services.slots, "listInSteps").mockImplementation(async function* () {
      yield err({ code: "storage_failed" });
    });
    const [response, body] = await site.get(LIST);
    expect([response.status, body]).toMatchObject([503, { code: "storage_failed" }]);
  });

  test("is cut off if a later step fails", async () => {
    const site = await openLongList();
    spyOn(site.services.slots, "listInSteps").mockImplementation(async function* () {
      yield ok(Array.from({ length: 20 }, () => JSON.stringify(INFO)) as never[]);
      yield err({ code: "storage_failed" });
    });
    const errors = spyOn(log, "error").mockImplementation(() => {});
    onTestFinished(() => errors.mockRestore());
    const response = await requestList(site);
    expect(response.status).toBe(200);
    expect(response.text()).rejects.toThrow("the disk failed");
    await Bun.sleep(0);
    expect(errors).toHaveBeenCalledWith("a reply was cut off", { error: expect.any(Error) });
  });
});
