import { describe, expect, test } from "bun:test";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type ApiResponse,
  type Appliance,
  type RequestFields,
  type RequestHeaders,
} from "../support/appliance.ts";
import { justBefore, hoursLater, minutesLater } from "../support/scenario.ts";

const key = (value: string): RequestHeaders => ({ "idempotency-key": value });

type ApiCall = (
  site: Appliance,
  fields: RequestFields,
  headers: RequestHeaders,
) => Promise<ApiResponse<unknown>>;

interface IdempotentRoute {
  readonly call: ApiCall;
  readonly fields: RequestFields;
  readonly otherFields: RequestFields;
}

const ROUTES: readonly [string, IdempotentRoute][] = [
  [
    "add_consumption",
    {
      call: (site, fields, headers) => site.addConsumption(fields, headers),
      fields: { consumptions: "2" },
      otherFields: { consumptions: "3" },
    },
  ],
  [
    "add_feature_consumption",
    {
      call: (site, fields, headers) => site.addFeatureConsumption(fields, headers),
      fields: { feature: "plot", consumptions: "1" },
      otherFields: { feature: "plot", consumptions: "2" },
    },
  ],
  [
    "borrow",
    {
      call: (site, fields, headers) => site.borrow(fields, headers),
      fields: { user: "ada", borrowed_until: "2026-03-02T12:00:00Z" },
      otherFields: { user: "ada", borrowed_until: "2026-03-02T13:00:00Z" },
    },
  ],
];

describe.each(ROUTES)("%s", (_route, { call, fields, otherFields }) => {
  test("the same key with the same command gives the same outcome and writes nothing more", async () => {
    const site = await openAppliance();
    const first = expectOk(await call(site, fields, key("k")));
    const written = site.lastSeq();
    expect(expectOk(await call(site, fields, key("k")))).toEqual(first);
    expect(site.lastSeq()).toBe(written);
  });

  test("the same key at the same moment counts once", async () => {
    const site = await openAppliance();
    const written = site.lastSeq();
    const both = await Promise.all([call(site, fields, key("k")), call(site, fields, key("k"))]);
    const [first, second] = both.map(expectOk);
    expect(second).toEqual(first);
    expect(site.lastSeq()).toBe(written + 1);
  });

  test("the same key with another command is 409 and changes nothing", async () => {
    const site = await openAppliance();
    expectOk(await call(site, fields, key("k")));
    await expectRefusedUnchanged(site, 409, "idempotency_key_reused", () =>
      call(site, otherFields, key("k")),
    );
    expectOk(await call(site, otherFields, key("k2")));
  });

  test("without a key, or under another, it is done again", async () => {
    const site = await openAppliance();
    expectOk(await call(site, fields, key("k")));
    for (const headers of [{}, key("K")]) {
      const written = site.lastSeq();
      expectOk(await call(site, fields, headers));
      expect(site.lastSeq()).toBeGreaterThan(written);
    }
  });

  test("a key is kept for 24 hours and no longer", async () => {
    const site = await openAppliance();
    expectOk(await call(site, fields, key("k")));
    site.clock.now = justBefore(hoursLater(24));
    await expectRefusedUnchanged(site, 409, "idempotency_key_reused", () =>
      call(site, otherFields, key("k")),
    );
    site.clock.now = hoursLater(24);
    const [response] = await call(site, otherFields, key("k"));
    // A borrow's end has passed by then; what matters is that the key no longer stands in the way.
    expect(response.status).not.toBe(409);
  });

  test("a key may have 64 visible characters", async () => {
    const site = await openAppliance();
    expectOk(await call(site, fields, key("!~".repeat(32))));
  });

  test.each([
    ["65 characters", "k".repeat(65)],
    ["a space in it", "a b"],
    ["a letter past ASCII", "caf\u00e9"],
    ["nothing in it", ""],
  ])("a key with %s is refused", async (_what, value) => {
    const site = await openAppliance();
    const message = await expectRefusedUnchanged(site, 400, "invalid_parameter", () =>
      call(site, fields, key(value)),
    );
    expect(message).toContain("Idempotency-Key");
  });

  test("two keys in one request are refused", async () => {
    const site = await openAppliance();
    const headers = new Headers({ host: "127.0.0.1", "content-type": "application/json" });
    headers.append("idempotency-key", "a");
    headers.append("idempotency-key", "b");
    const joined = Object.fromEntries(headers);
    await expectRefusedUnchanged(site, 400, "invalid_parameter", () => call(site, fields, joined));
  });
});

test("refusals are not kept: the same key may succeed later", async () => {
  const site = await openAppliance();
  const asked = { consumptions: "12", max_overages: "0" };
  expectRefusal(await site.addConsumption(asked, key("k")), 400, "license_not_enough_consumptions");
  expectOk(await site.addConsumption({ consumptions: "1" }, key("k")));
});

test("a key stands for one route, product and user", async () => {
  const site = await openAppliance();
  expectOk(await site.addConsumption({ consumptions: "1" }, key("k")));
  expectOk(await site.addFeatureConsumption({ feature: "plot" }, key("k")));
  expectOk(await site.borrow({ user: "ada" }, key("k")));
  expectOk(await site.borrow({ user: "bob" }, key("k")));
  const again = expectOk(await site.addConsumption({ user: "ada", consumptions: "2" }, key("k")));
  expect(again.total_consumptions).toBe(3);
  const named = expectOk(
    await site.addConsumption({ product: "cad", consumptions: "1" }, key("k")),
  );
  expect(named.total_consumptions).toBe(1);
});

test("a key that was used for one product does not stand for another", async () => {
  const site = await openAppliance({ licenses: { 1: {}, 2: { product: "cam" } } });
  expectOk(await site.borrow({ user: "ada", product: "cad" }, key("k")));
  expectOk(await site.borrow({ user: "ada", product: "cam" }, key("k")));
  const held = expectOk(await site.registrations());
  expect(held.map(({ product }) => product)).toEqual(["cad", "cam"]);
});

test("the same command said in other words is the same command", async () => {
  const site = await openAppliance();
  const first = expectOk(await site.addConsumption({ consumptions: "2" }, key("k")));
  for (const said of [
    { consumptions: 2 },
    { CONSUMPTIONS: "2", more: 1 },
    { consumptions: "2", user: "" },
  ]) {
    expect(expectOk(await site.addConsumption(said, key("k")))).toEqual(first);
  }
});

test("register takes no key: a heartbeat may be sent as often as one likes", async () => {
  const site = await openAppliance();
  expectOk(await site.register({ user: "ada" }, key("k")));
  site.clock.now = minutesLater(5);
  const { expires_at } = expectOk(await site.register({ user: "ada" }, key("k")));
  expect(expires_at).toBe("2026-03-02T09:35:00.000Z");
});

test("a key outlives a restart", async () => {
  const site = await openAppliance();
  const first = expectOk(await site.addConsumption({ consumptions: "2" }, key("k")));
  await site.stop();
  const next = await openAppliance({ folder: site.folder, licenses: {} });
  expect(expectOk(await next.addConsumption({ consumptions: "2" }, key("k")))).toEqual(first);
  expect(expectOk(await next.license()).total_consumptions).toBe(2);
});
