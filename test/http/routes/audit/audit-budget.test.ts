import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { HOUR, later, MINUTE, SECOND } from "../../../../src/domain/time.ts";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../../../support/appliance.ts";
import { readJournal } from "../../../support/licensed-store.ts";
import { consumptionTerms, featureTerms, MONDAY } from "../../../support/scenario.ts";

const MIB = 1024 * 1024;
const EXHAUSTED = "audit_budget_exhausted";
const LONG = "x".repeat(4_096);

const openBudgetSite = (): Promise<Appliance> =>
  openAppliance({
    auditBudget: 1,
    licenses: {
      1: {
        slots: 20,
        borrowHours: 24,
        consumption: consumptionTerms({ max: null }),
        features: [
          featureTerms("view", { floating: { slots: 5, timeoutMinutes: 60 } }),
          featureTerms("plot", { consumption: consumptionTerms({ max: null }) }),
        ],
      },
    },
  });

/** Takes and releases a slot until that is refused; returns how often it was granted. */
async function exhaustBudget(appliance: Appliance): Promise<number> {
  for (let turn = 0; turn < 1_000; turn += 1) {
    const reply = await appliance.register({ user: "flood", user_info: LONG });
    if (reply[0].status === 429) return turn;
    expectOk(reply);
    expectOk(await appliance.unregister({ user: "flood" }));
  }
  throw new Error("no call was ever refused");
}

/** Size of the journal lines that belong to the audit log. */
const auditedBytes = (appliance: Appliance): number =>
  readJournal(appliance.folder)
    .filter(({ line }) => line.audit_seq !== undefined)
    .reduce((sum, { raw }) => sum + raw.length, 0);

describe("an address that has used up its audit budget", () => {
  test("is refused calls that add to the audit log, with the time to retry, and changes nothing", async () => {
    const appliance = await openBudgetSite();
    expectOk(await appliance.register({ user: "ada" }));
    expectOk(await appliance.featureRegister({ user: "ada", feature: "view" }));
    await exhaustBudget(appliance);
    const calls = [
      () => appliance.register({ user: "bob" }),
      () => appliance.borrow({ user: "ada" }),
      () => appliance.addConsumption({ consumptions: "1" }, { "idempotency-key": "k" }),
      () => appliance.addFeatureConsumption({ feature: "plot" }),
    ];
    for (const call of calls) {
      const message = await expectRefusedUnchanged(appliance, 429, EXHAUSTED, call);
      expect(message).toContain("1 MiB an hour");
      expect(message).toContain("audit_budget");
      const [response] = await call();
      const seconds = Number(response.headers.get("retry-after"));
      expect(seconds).toBeGreaterThan(0);
      expect(message).toContain(`${seconds} s`);
    }
    expect(await appliance.listHolders()).toEqual(["ada"]);
  });

  test("may still send heartbeats, reads, zero counts and repeats, and release slots", async () => {
    const appliance = await openBudgetSite();
    for (const user of ["ada", "bob"]) expectOk(await appliance.register({ user }));
    expectOk(await appliance.featureRegister({ user: "ada", feature: "view" }));
    const key = { "idempotency-key": "k" };
    expectOk(await appliance.addConsumption({ consumptions: "1" }, key));
    await exhaustBudget(appliance);
    expectOk(await appliance.register({ user: "ada" }));
    expectOk(await appliance.register({ user: "ada", os_hostname: "laptop", user_info: LONG }));
    expectOk(await appliance.featureRegister({ user: "ada", feature: "view" }));
    expectOk(await appliance.addConsumption({ consumptions: "1" }, key));
    expectOk(await appliance.addConsumption({ consumptions: "0" }));
    expectOk(await appliance.license());
    expectOk(await appliance.registrations());
    expectOk(await appliance.featureRelease({ user: "ada", feature: "view" }));
    expectOk(await appliance.unregister({ user: "ada" }));
    expectRefusal(await appliance.register({ user: "ada" }), 429, EXHAUSTED);
    expect(await appliance.listHolders()).toEqual(["bob"]);
  });

  test("may still make every administrative call", async () => {
    const appliance = await openBudgetSite();
    expectOk(await appliance.register({ user: "ada" }));
    await exhaustBudget(appliance);
    await appliance.makeRequestDocument("cad");
    expectOk(await appliance.post("license/generate", {}));
    expectOk(await appliance.post("unregister/all", {}));
    expect(await appliance.listHolders()).toEqual([]);
    expectOk(await appliance.post("/api/admin/v1/licenses/remove", { license_id: "1" }));
  });

  test("does not affect other addresses", async () => {
    const appliance = await openBudgetSite();
    await exhaustBudget(appliance);
    appliance.peer = "127.0.0.2";
    expectOk(await appliance.register({ user: "bob" }));
    appliance.peer = "127.0.0.1";
    expectRefusal(await appliance.register({ user: "eve" }), 429, EXHAUSTED);
  });

  test("is served again at the time the refusal named, and the budget refills within an hour", async () => {
    const appliance = await openBudgetSite();
    await exhaustBudget(appliance);
    const [refused] = await appliance.register({ user: "bob" });
    appliance.clock.now = later(MONDAY, Number(refused.headers.get("retry-after")) * SECOND);
    expectOk(await appliance.register({ user: "bob" }));
    expectRefusal(await appliance.register({ user: "eve" }), 429, EXHAUSTED);
    appliance.clock.now = later(MONDAY, HOUR + MINUTE);
    expect(await exhaustBudget(appliance)).toBeGreaterThan(100);
  });

  test("has written its budget and no more, and its refusals are counted in the audit log", async () => {
    const appliance = await openBudgetSite();
    const before = auditedBytes(appliance);
    const granted = await exhaustBudget(appliance);
    for (let turn = 0; turn < 1_000; turn += 1) await appliance.register({ user: "flood" });
    const written = auditedBytes(appliance) - before;
    expect(granted).toBeGreaterThan(150);
    expect(written).toBeGreaterThanOrEqual(MIB);
    expect(written).toBeLessThan(MIB + 10_000);
    await appliance.stop();
    const history = readFileSync(join(appliance.folder, "history/2026-03.jsonl"), "utf8");
    expect(history).toContain(`"code":"${EXHAUSTED}","count":1001,"users":["flood"]`);
  });
});

test("the audit lines of expired slots are not charged to the address that calls next", async () => {
  const appliance = await openBudgetSite();
  appliance.peer = "10.0.0.1";
  for (let user = 0; user < 20; user += 1) expectOk(await appliance.register({ user: `u${user}` }));
  appliance.clock.now = later(MONDAY, 31 * MINUTE);
  appliance.peer = "10.0.0.2";
  const before = auditedBytes(appliance);
  expectOk(await appliance.register({ user: "ada" }));
  const writtenBytes = auditedBytes(appliance) - before;
  expect(writtenBytes).toBeGreaterThan(20 * 300);
  // As many turns as with a full budget, except for the one slot that was taken above.
  const turns = await exhaustBudget(appliance);
  appliance.peer = "10.0.0.3";
  expect(await exhaustBudget(appliance)).toBeLessThanOrEqual(turns + 1);
});
