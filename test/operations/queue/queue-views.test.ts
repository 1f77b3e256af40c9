import { describe, expect, test } from "bun:test";
import { later, SECOND, type Instant } from "../../../src/domain/time.ts";
import { QueueList } from "../../../src/operations/queue/queue-list.ts";
import {
  viewOwnPlace,
  type Estimator,
  type WaitingPlace,
  type WaitingQueue,
} from "../../../src/operations/queue/queue-views.ts";
import { QueueSite } from "../../domain/queue/queue-site.ts";
import { applyRules, poolRules, ruleSet } from "../../support/rule-sets.ts";
import { install, unregister } from "../../support/scenario.ts";
import { useShortSteps } from "../../support/short-steps.ts";

/** One second for each slot that must come free. */
const estimator: Estimator = {
  estimate: (_state, _product, slotsToFree, at) => {
    const expected = later(at, slotsToFree * SECOND);
    return { p50: expected, p90: expected };
  },
};

/** `ada#2` is blocked by a limit, a slot is held for `bob`, and `cid` and `dan` wait. */
function openQueue(): QueueSite {
  const site = new QueueSite();
  const eachUser = { slots: 1, line: 3 };
  site.run(install(1, { slots: 2 }));
  site.run(applyRules(ruleSet([], poolRules("cad", { eachUser }))));
  site.hold("ada#1", "zoe");
  site.queue("ada#2", "bob", "cid", "dan");
  site.run(unregister("zoe"));
  site.dispatch();
  return site;
}

const requests = { isConnected: (_product: string, user: string) => user === "cid" };

describe("the estimate in the view of a queue", () => {
  const site = openQueue();
  const { state, context, at } = site;
  const after = (seconds: number): Instant => later(at, seconds * SECOND);

  test("is by the position of a user who waits, and absent for a held slot and a limit", () => {
    const dispatcher = { requests, findPlaceEnd: () => null } as never;
    const places: WaitingPlace[] = [];
    const convert = { queue: () => 0, place: (place: WaitingPlace) => places.push(place) };
    const list = new QueueList(["cad"], convert, { estimator, dispatcher });
    while (!list.isComplete) list.runStep(state, context);
    expect(places.map(({ user, state: of, eta }) => [user, of, eta?.p50 ?? null])).toEqual([
      ["bob", "held", null],
      ["ada#2", "limited", null],
      ["cid", "waiting", after(2)],
      ["dan", "waiting", after(3)],
    ]);
    expect(places.filter((place) => place.isConnected).map(({ user }) => user)).toEqual(["cid"]);
  });

  test("is the same for the user itself", () => {
    const etaOf = (user: string) =>
      viewOwnPlace(state, "cad", user, context, estimator)?.eta?.p50 ?? null;
    expect(["bob", "ada#2", "cid", "dan"].map(etaOf)).toEqual([null, null, after(2), after(3)]);
  });
});

describe("the list of queues in steps", () => {
  const dispatcher = { requests, findPlaceEnd: () => null } as never;
  const convert = {
    queue: ({ product }: WaitingQueue) => product,
    place: ({ user, state, position }: WaitingPlace) => `${user} ${state} ${position}`,
  };
  const openList = (products: readonly string[]) =>
    new QueueList(products, convert, { estimator, dispatcher });

  test("has the queues by name, each with its places in the order of service", () => {
    useShortSteps();
    const { state, context } = openQueue();
    const list = openList(["cam", "cad", "cab"]);
    const steps: string[][] = [];
    while (!list.isComplete) steps.push(list.runStep(state, context));
    expect(steps).toEqual([
      [],
      ["cad"],
      ["bob held 0"],
      ["ada#2 limited 1"],
      ["cid waiting 2"],
      ["dan waiting 3"],
      [],
    ]);
  });

  test("shows each place as it is in its step, and none that has ended", () => {
    useShortSteps();
    const site = openQueue();
    const list = openList(["cad"]);
    const next = (): string[] => list.runStep(site.state, site.context);
    expect([next(), next()]).toEqual([["cad"], ["bob held 0"]]);
    site.run(unregister("bob"));
    site.run(unregister("cid"));
    site.dispatch();
    site.queue("eve");
    expect([next(), next(), next()]).toEqual([["ada#2 limited 1"], [], ["dan held 0"]]);
    expect(list.isComplete).toBe(true);
  });
});
