import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { HOUR, later, MINUTE, SECOND } from "../../src/domain/time.ts";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../support/appliance.ts";
import { readJournal } from "../support/licensed-store.ts";
import { consumptionTerms, featureTerms, MONDAY } from "../support/scenario.ts";

const MIB = 1024 * 1024;
const CODE = "audit_budget_exhausted";
const LONG = "x".repeat(4_096);

const site = (): Promise<Appliance> =>
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

/** Takes a slot and gives it back until that is refused; how often it was granted. */
async function exhaust(appliance: Appliance): Promise<number> {
  for (let turn = 0; turn < 1_000; turn += 1) {
    const answer = await appliance.register({ user: "flood", user_info: LONG });
    if (answer[0].status === 429) return turn;
    expectOk(answer);
    expectOk(await appliance.unregister({ user: "flood" }));
  }
  throw new Error("nothing was ever refused");
}

/** Of the lines that the audit log keeps. */
const auditedBytes = (appliance: Appliance): number =>
  readJournal(appliance.folder)
    .filter(({ line }) => line.audit_seq !== undefined)
    .reduce((sum, { raw }) => sum + raw.length, 0);

describe("an address that has spent its budget for the audit log", () => {
  test("is refused what would add to it, with when to try again, and nothing is changed", async () => {
    const appliance = await site();
    expectOk(await appliance.register({ user: "ada" }));
    expectOk(await appliance.featureRegister({ user: "ada", feature: "view" }));
    await exhaust(appliance);
    const calls = [
      () => appliance.register({ user: "bob" }),
      () => appliance.borrow({ user: "ada" }),
      () => appliance.addConsumption({ consumptions: "1" }, { "idempotency-key": "k" }),
      () => appliance.addFeatureConsumption({ feature: "plot" }),
    ];
    for (const call of calls) {
      const message = await expectRefusedUnchanged(appliance, 429, CODE, call);
      expect(message).toContain("1 MiB an hour");
      expect(message).toContain("audit_budget");
      const [response] = await call();
      const seconds = Number(response.headers.get("retry-after"));
      expect(seconds).toBeGreaterThan(0);
      expect(message).toContain(`${seconds} s`);
    }
    expect(await appliance.listHolders()).toEqual(["ada"]);
  });

  test("is served heartbeats, reads, zeros, repeats and what it gives back", async () => {
    const appliance = await site();
    for (const user of ["ada", "bob"]) expectOk(await appliance.register({ user }));
    expectOk(await appliance.featureRegister({ user: "ada", feature: "view" }));
    const key = { "idempotency-key": "k" };
    expectOk(await appliance.addConsumption({ consumptions: "1" }, key));
    await exhaust(appliance);
    expectOk(await appliance.register({ user: "ada" }));
    expectOk(await appliance.register({ user: "ada", os_hostname: "laptop", user_info: LONG }));
    expectOk(await appliance.featureRegister({ user: "ada", feature: "view" }));
    expectOk(await appliance.addConsumption({ consumptions: "1" }, key));
    expectOk(await appliance.addConsumption({ consumptions: "0" }));
    expectOk(await appliance.license());
    expectOk(await appliance.registrations());
    expectOk(await appliance.featureRelease({ user: "ada", feature: "view" }));
    expectOk(await appliance.unregister({ user: "ada" }));
    expectRefusal(await appliance.register({ user: "ada" }), 429, CODE);
    expect(await appliance.listHolders()).toEqual(["bob"]);
  });

  test("does not keep an administrator from anything", async () => {
    const appliance = await site();
    expectOk(await appliance.register({ user: "ada" }));
    await exhaust(appliance);
    await appliance.makeRequestDocument("cad");
    expectOk(await appliance.post("license/generate", {}));
    expectOk(await appliance.post("unregister/all", {}));
    expect(await appliance.listHolders()).toEqual([]);
  });

  test("keeps nobody else from anything", async () => {
    const appliance = await site();
    await exhaust(appliance);
    appliance.peer = "127.0.0.2";
    expectOk(await appliance.register({ user: "bob" }));
    appliance.peer = "127.0.0.1";
    expectRefusal(await appliance.register({ user: "eve" }), 429, CODE);
  });

  test("goes on as its budget is refilled, when it was told to try again", async () => {
    const appliance = await site();
    await exhaust(appliance);
    const [refused] = await appliance.register({ user: "bob" });
    appliance.clock.now = later(MONDAY, Number(refused.headers.get("retry-after")) * SECOND);
    expectOk(await appliance.register({ user: "bob" }));
    expectRefusal(await appliance.register({ user: "eve" }), 429, CODE);
    appliance.clock.now = later(MONDAY, HOUR + MINUTE);
    expect(await exhaust(appliance)).toBeGreaterThan(100);
  });

  test("has written as much as it may and no more, and its refusals are counted", async () => {
    const appliance = await site();
    const before = auditedBytes(appliance);
    const granted = await exhaust(appliance);
    for (let turn = 0; turn < 1_000; turn += 1) await appliance.register({ user: "flood" });
    const written = auditedBytes(appliance) - before;
    expect(granted).toBeGreaterThan(150);
    expect(written).toBeGreaterThanOrEqual(MIB);
    expect(written).toBeLessThan(MIB + 10_000);
    await appliance.stop();
    const history = readFileSync(join(appliance.folder, "history/2026-03.jsonl"), "utf8");
    expect(history).toContain(`"code":"${CODE}","count":1001,"users":["flood"]`);
  });
});

test("what runs out meanwhile is not paid for by whoever calls next", async () => {
  const appliance = await site();
  appliance.peer = "10.0.0.1";
  for (let user = 0; user < 20; user += 1) expectOk(await appliance.register({ user: `u${user}` }));
  appliance.clock.now = later(MONDAY, 31 * MINUTE);
  appliance.peer = "10.0.0.2";
  const before = auditedBytes(appliance);
  expectOk(await appliance.register({ user: "ada" }));
  const lines = auditedBytes(appliance) - before;
  expect(lines).toBeGreaterThan(20 * 300);
  // As many as with a whole budget, but for the one slot that was taken.
  const turns = await exhaust(appliance);
  appliance.peer = "10.0.0.3";
  expect(await exhaust(appliance)).toBeLessThanOrEqual(turns + 1);
});
