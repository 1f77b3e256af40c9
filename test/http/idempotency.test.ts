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

const withKey = (value: string): RequestHeaders => ({ "idempotency-key": value });

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
  test("repeated with the same key gives the same reply and writes nothing", async () => {
    const site = await openAppliance();
    const first = expectOk(await call(site, fields, withKey("k")));
    const written = site.lastSeq();
    expect(expectOk(await call(site, fields, withKey("k")))).toEqual(first);
    expect(site.lastSeq()).toBe(written);
  });

  test("sent twice at once with the same key counts once", async () => {
    const site = await openAppliance();
    const written = site.lastSeq();
    const replies = await Promise.all([
      call(site, fields, withKey("k")),
      call(site, fields, withKey("k")),
    ]);
    const [first, second] = replies.map(expectOk);
    expect(second).toEqual(first);
    expect(site.lastSeq()).toBe(written + 1);
  });

  test("with a used key and other fields is refused with 409 and changes nothing", async () => {
    const site = await openAppliance();
    expectOk(await call(site, fields, withKey("k")));
    await expectRefusedUnchanged(site, 409, "idempotency_key_reused", () =>
      call(site, otherFields, withKey("k")),
    );
    expectOk(await call(site, otherFields, withKey("k2")));
  });

  test("repeated without a key or with another key is carried out again", async () => {
    const site = await openAppliance();
    expectOk(await call(site, fields, withKey("k")));
    for (const headers of [{}, withKey("K")]) {
      const written = site.lastSeq();
      expectOk(await call(site, fields, headers));
      expect(site.lastSeq()).toBeGreaterThan(written);
    }
  });

  test("remembers a key for 24 hours and no longer", async () => {
    const site = await openAppliance();
    expectOk(await call(site, fields, withKey("k")));
    site.clock.now = justBefore(hoursLater(24));
    await expectRefusedUnchanged(site, 409, "idempotency_key_reused", () =>
      call(site, otherFields, withKey("k")),
    );
    site.clock.now = hoursLater(24);
    const [response] = await call(site, otherFields, withKey("k"));
    // The end of the borrow has passed by then, so it may be refused, but not because of the key.
    expect(response.status).not.toBe(409);
  });

  test("accepts a key of 64 visible characters", async () => {
    const site = await openAppliance();
    expectOk(await call(site, fields, withKey("!~".repeat(32))));
  });

  test.each([
    ["65 characters", "k".repeat(65)],
    ["a space in it", "a b"],
    ["a letter outside ASCII", "caf\u00e9"],
    ["no character", ""],
  ])("refuses a key with %s", async (_what, value) => {
    const site = await openAppliance();
    const message = await expectRefusedUnchanged(site, 400, "invalid_parameter", () =>
      call(site, fields, withKey(value)),
    );
    expect(message).toContain("Idempotency-Key");
  });

  test("refuses two keys in one request", async () => {
    const site = await openAppliance();
    const headers = new Headers({ host: "127.0.0.1", "content-type": "application/json" });
    headers.append("idempotency-key", "a");
    headers.append("idempotency-key", "b");
    const joined = Object.fromEntries(headers);
    await expectRefusedUnchanged(site, 400, "invalid_parameter", () => call(site, fields, joined));
  });
});

test("a refusal does not use up its Idempotency-Key", async () => {
  const site = await openAppliance();
  const fields = { consumptions: "12", max_overages: "0" };
  expectRefusal(
    await site.addConsumption(fields, withKey("k")),
    400,
    "license_not_enough_consumptions",
  );
  expectOk(await site.addConsumption({ consumptions: "1" }, withKey("k")));
});

test("an Idempotency-Key counts per route, product and user", async () => {
  const site = await openAppliance();
  expectOk(await site.addConsumption({ consumptions: "1" }, withKey("k")));
  expectOk(await site.addFeatureConsumption({ feature: "plot" }, withKey("k")));
  expectOk(await site.borrow({ user: "ada" }, withKey("k")));
  expectOk(await site.borrow({ user: "bob" }, withKey("k")));
  const again = expectOk(
    await site.addConsumption({ user: "ada", consumptions: "2" }, withKey("k")),
  );
  expect(again.total_consumptions).toBe(3);
  const named = expectOk(
    await site.addConsumption({ product: "cad", consumptions: "1" }, withKey("k")),
  );
  expect(named.total_consumptions).toBe(1);
});

test("an Idempotency-Key used for one product may be used for another product", async () => {
  const site = await openAppliance({ licenses: { 1: {}, 2: { product: "cam" } } });
  expectOk(await site.borrow({ user: "ada", product: "cad" }, withKey("k")));
  expectOk(await site.borrow({ user: "ada", product: "cam" }, withKey("k")));
  const registrations = expectOk(await site.registrations());
  expect(registrations.map(({ product }) => product)).toEqual(["cad", "cam"]);
});

test("an Idempotency-Key recognizes a repeat in another spelling of the same fields", async () => {
  const site = await openAppliance();
  const first = expectOk(await site.addConsumption({ consumptions: "2" }, withKey("k")));
  for (const fields of [
    { consumptions: 2 },
    { CONSUMPTIONS: "2", more: 1 },
    { consumptions: "2", user: "" },
  ]) {
    expect(expectOk(await site.addConsumption(fields, withKey("k")))).toEqual(first);
  }
});

test("register ignores the Idempotency-Key, so every heartbeat renews the slot", async () => {
  const site = await openAppliance();
  expectOk(await site.register({ user: "ada" }, withKey("k")));
  site.clock.now = minutesLater(5);
  const { expires_at } = expectOk(await site.register({ user: "ada" }, withKey("k")));
  expect(expires_at).toBe("2026-03-02T09:35:00.000Z");
});

test("an Idempotency-Key is remembered after a restart", async () => {
  const site = await openAppliance();
  const first = expectOk(await site.addConsumption({ consumptions: "2" }, withKey("k")));
  await site.stop();
  const next = await openAppliance({ folder: site.folder, licenses: {} });
  expect(expectOk(await next.addConsumption({ consumptions: "2" }, withKey("k")))).toEqual(first);
  expect(expectOk(await next.license()).total_consumptions).toBe(2);
});
