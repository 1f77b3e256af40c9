// Compares orders and automatic answers with a model that was written from the rules alone.
import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { chooseSize, seed } from "../../support/suite-harness.ts";
import { hostsOf, orderRun, OrderRun } from "./order-actions.ts";
import type { SoldOrder } from "./order-model.ts";
import { install, newSite, OrderWorld, PRODUCT, uninstall } from "./order-world.ts";

const RUNS = Number(process.env["MODEL_RUNS"] ?? chooseSize(150, 40_000));
const LENGTH = 50;

test(
  "the desk and the model agree on random orders, requests, codes, returns and write-offs",
  () => {
    const outcomes = new Map<string, number>();
    fc.assert(
      fc.property(orderRun(LENGTH), ({ sizes, actions }) => {
        const run = new OrderRun(sizes);
        for (const action of actions) run.perform(action);
        for (const [outcome, count] of run.world.verdicts)
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + count);
      }),
      { numRuns: RUNS, seed, includeErrorInReport: true },
    );
    // Grants and refusals of many kinds.
    expect(outcomes.size).toBeGreaterThan(18);
    for (const kind of ["automatic: renewal", "automatic: take", "nobody: full"])
      expect(outcomes.get(kind)).toBeGreaterThan(RUNS / 4);
    expect(outcomes.get("automatic: move")).toBeGreaterThan(0);
  },
  RUNS * 1_000,
);

const ORDER: SoldOrder = {
  key: "QAAAA",
  isOwnKey: true,
  product: PRODUCT,
  appliances: 1,
  hosts: 1,
  allowWeak: false,
  moves: 1,
  end: null,
  borrowHours: 24,
  consumption: null,
};

test("an appliance that a person lets follow another one gets the consumption that is left", () => {
  const world = new OrderWorld();
  world.sell({ ...ORDER, consumption: 100 });
  const ask = (name: string) => ({ key: ORDER.key, hosts: hostsOf(name) });
  const [first, site] = world.makeRequest(newSite("A"), ask("A"));
  const issued = world.answer(first);
  if (issued === null) throw new Error("it is not answered");
  const installed = install(site, issued);
  const [entry] = installed.installed;
  if (entry === undefined) throw new Error("it is not installed");
  const used = { ...installed, installed: [{ ...entry, total: 30 }] };
  world.receive(used, issued.license_id, 0);
  const [second] = world.makeRequest(newSite("B"), ask("B"));
  expect(world.answer(second)).toBeNull();
  expect(world.decide(second, null)?.terms.consumption?.max).toBe(70);
});

// Both licenses have the same number.
test("a place that is not free yet stays taken after the next code of its appliance", () => {
  const world = new OrderWorld();
  world.sell({ ...ORDER, appliances: 2 });
  const confirm = (name: string) => world.confirm(newSite(name), ORDER.key, hostsOf(name));
  const issued = confirm("A");
  if (issued === null) throw new Error("it is not confirmed");
  const site = install(newSite("A"), issued);
  world.receive(site, issued.license_id, 2);
  expect(uninstall(site, issued.license_id).installed).toEqual([]);
  expect(confirm("A")).not.toBeNull();
  expect(confirm("B")).toBeNull();
});
