import { beforeEach, describe, expect, test } from "bun:test";
import { viewPlace, viewQueue } from "../../../src/domain/views/queue-view.ts";
import type { PoolRules, QueueRules } from "../../../src/domain/model/rules/rule-set.ts";
import { later, SECOND } from "../../../src/domain/time.ts";
import { decodeSnapshot, encodeSnapshot } from "../../../src/store/state/state-rows.ts";
import { emptyAuditLogEnd } from "../../../src/store/state/snapshot.ts";
import { dispatch, movePlace, placeFacts, takePlace } from "../../support/queue-commands.ts";
import {
  applyRules,
  group,
  named,
  NO_RULES,
  poolRules,
  reserve,
  ruleSet,
} from "../../support/rule-sets.ts";
import {
  CONTACT,
  dumpState,
  install,
  register,
  renew,
  replayEvents,
  unregister,
  unregisterAll,
} from "../../support/scenario.ts";
import { QueueSite } from "./queue-site.ts";

const GROUPS = [
  group("sim", { users: ["sim*"] }),
  group("ops", { users: ["ops*"] }),
  group("lab", { hosts: ["lab-*"] }),
];

let site: QueueSite;

beforeEach(() => {
  site = new QueueSite();
  site.run(install(1, { slots: 2 }));
  site.hold("ada", "ben");
});

const apply = (differing: Partial<PoolRules>): void => {
  site.run(applyRules(ruleSet(GROUPS, poolRules("cad", differing))));
};

const queueRules = (differing: Partial<QueueRules>): QueueRules => ({
  line: 9,
  priority: [],
  holdSeconds: 30,
  maxWaiting: 1_000,
  ...differing,
});

describe("priority", () => {
  test("serves members of the first group first, then of the second, then all others", () => {
    apply({ queue: queueRules({ priority: ["ops", "sim"] }) });
    site.queue("cid", "sim-1", "ops-1", "sim-2");
    expect(site.line()).toEqual(["ops-1", "sim-1", "sim-2", "cid"]);
    site.run(unregisterAll());
    expect(site.serve()).toEqual(["ops-1", "sim-1"]);
  });

  test("is in the view of a place, with the position", () => {
    apply({ queue: queueRules({ priority: ["ops", "sim"] }) });
    site.queue("cid", "sim-1");
    expect(viewPlace(site.state, "cad", "sim-1", site.context)?.place).toMatchObject({
      position: 1,
      priority: "sim",
    });
    expect(viewPlace(site.state, "cad", "cid", site.context)?.place).toMatchObject({
      position: 2,
      priority: null,
    });
  });

  test("is in the view of a place that an administrator moved to the front", () => {
    apply({ queue: queueRules({ priority: ["ops", "sim"] }) });
    site.queue("cid", "sim-1");
    for (const user of ["sim-1", "cid"]) site.run(movePlace(user));
    const { places } = viewQueue(site.state, "cad", site.context) ?? { places: [] };
    expect(places.map(({ user, priority }) => [user, priority])).toEqual([
      ["cid", null],
      ["sim-1", "sim"],
    ]);
  });

  test("of users who wait already changes when rules are applied, and their arrival does not", () => {
    site.queue("cid", "sim-1", "ops-1");
    apply({ queue: queueRules({ priority: ["ops", "sim"] }) });
    expect(site.line()).toEqual(["ops-1", "sim-1", "cid"]);
    apply({ queue: queueRules({ priority: ["sim"] }) });
    expect(site.line()).toEqual(["sim-1", "cid", "ops-1"]);
    site.run(applyRules(NO_RULES));
    expect(site.line()).toEqual(["cid", "sim-1", "ops-1"]);
  });

  test("comes after a place that an administrator moved to the front", () => {
    apply({ queue: queueRules({ priority: ["ops"] }) });
    site.queue("cid", "dan", "ops-1");
    site.run(movePlace("dan"));
    expect(site.line()).toEqual(["dan", "ops-1", "cid"]);
    // Rules that are applied later do not undo it.
    apply({ queue: queueRules({ priority: ["ops", "sim"] }) });
    expect(site.line()).toEqual(["dan", "ops-1", "cid"]);
  });
});

describe("a reservation", () => {
  test("with idle slots serves its members before priority and arrival", () => {
    apply({
      reservations: [reserve("sim", 1)],
      queue: queueRules({ priority: ["ops"] }),
    });
    site.queue("ops-1", "cid", "sim-1");
    site.run(unregister("ada"));
    expect(site.serve()).toEqual(["sim-1"]);
    site.run(unregister("ben"));
    expect(site.serve()).toEqual(["ops-1"]);
  });

  test("with idle slots shows its members before all others, as many as there are idle slots", () => {
    apply({
      reservations: [reserve("sim", 2)],
      queue: queueRules({ priority: ["ops"] }),
    });
    site.queue("ops-1", "cid", "sim-1", "sim-2", "sim-3");
    const order = ["sim-1", "sim-2", "ops-1", "cid", "sim-3"];
    const places = viewQueue(site.state, "cad", site.context)?.places ?? [];
    expect(places.map(({ user }) => user)).toEqual(order);
    expect(places.map(({ position }) => position)).toEqual([1, 2, 3, 4, 5]);
    const positions = order.map(
      (user) => viewPlace(site.state, "cad", user, site.context)?.place.position,
    );
    expect(positions).toEqual([1, 2, 3, 4, 5]);
  });

  test("that keeps idle slots lets others wait for as many slots more", () => {
    const slotsToFree = (user: string) =>
      viewPlace(site.state, "cad", user, site.context)?.place.slotsToFree;
    site.queue("cid", "dan");
    expect(["cid", "dan"].map(slotsToFree)).toEqual([1, 2]);
    apply({ reservations: [reserve("sim", 1)] });
    expect(["cid", "dan"].map(slotsToFree)).toEqual([2, 3]);
    // A waiting member uses the slot that is kept for it.
    site.queue("sim-1");
    expect(["sim-1", "cid", "dan"].map(slotsToFree)).toEqual([1, 2, 3]);
    apply({ reservations: [reserve("sim", 2, "lend")] });
    expect(["sim-1", "cid", "dan"].map(slotsToFree)).toEqual([1, 2, 3]);
    site.run(unregister("ada"));
    site.serve();
    expect(["cid", "dan"].map(slotsToFree)).toEqual([1, 2]);
  });

  test("that lends its slots serves no member with a slot that another group keeps", () => {
    apply({ reservations: [reserve("ops", 1), reserve("sim", 1, "lend")] });
    site.queue("sim-1", "ops-1", "cid");
    const places = viewQueue(site.state, "cad", site.context)?.places ?? [];
    expect(places.map(({ user }) => user)).toEqual(["ops-1", "sim-1", "cid"]);
    const viewed = places.map(({ user }) => viewPlace(site.state, "cad", user, site.context));
    expect(viewed.map((view) => view?.place.position)).toEqual([1, 2, 3]);
    expect(viewed.map((view) => view?.place.slotsToFree)).toEqual([1, 2, 3]);
    site.run(unregister("ada"));
    expect(site.serve()).toEqual(["ops-1"]);
    site.run(unregister("ben"));
    expect(site.serve()).toEqual(["sim-1"]);
  });

  test("that lends its slots lets members wait for those that another group keeps", () => {
    apply({ reservations: [reserve("ops", 1), reserve("sim", 1, "lend")] });
    site.queue("sim-1");
    expect(viewPlace(site.state, "cad", "sim-1", site.context)?.place.slotsToFree).toBe(2);
    const places = viewQueue(site.state, "cad", site.context)?.places ?? [];
    expect(places.map(({ slotsToFree }) => slotsToFree)).toEqual([2]);
    site.run(unregister("ada"));
    expect(site.serve()).toEqual([]);
    site.run(unregister("ben"));
    expect(site.serve()).toEqual(["sim-1"]);
  });

  test("that keeps idle slots counts those that are free already", () => {
    site.run(unregister("ben"));
    apply({ reservations: [reserve("sim", 2)] });
    site.queue("cid");
    const places = viewQueue(site.state, "cad", site.context)?.places ?? [];
    expect(places.map(({ slotsToFree }) => slotsToFree)).toEqual([2]);
  });

  test("that is met serves its members by priority and arrival", () => {
    apply({ reservations: [reserve("sim", 1)] });
    site.queue("cid", "sim-1", "sim-2");
    site.run(unregisterAll());
    expect(site.serve()).toEqual(["sim-1", "cid"]);
  });

  test("comes before a place that an administrator moved to the front", () => {
    apply({ reservations: [reserve("sim", 1)] });
    site.queue("cid", "sim-1");
    site.run(movePlace("cid"));
    site.run(unregister("ada"));
    expect(site.serve()).toEqual(["sim-1"]);
  });

  test("that keeps its idle slot gives it to no waiting user of another group", () => {
    apply({ reservations: [reserve("sim", 1)] });
    site.queue("cid", "dan");
    site.run(unregisterAll());
    expect(site.serve()).toEqual(["cid"]);
    expect(site.refusal(register("zoe"))).toBe("floating_not_available");
    expect(site.refusal(register("sim-1"))).toBeNull();
  });

  test("that lends its idle slot gives it to a waiting user of another group", () => {
    apply({ reservations: [reserve("sim", 1, "lend")] });
    site.queue("cid", "dan");
    site.run(unregisterAll());
    expect(site.serve()).toEqual(["cid", "dan"]);
  });

  test("counts a hold of a member as used", () => {
    apply({ reservations: [reserve("sim", 1)] });
    site.queue("sim-1", "cid");
    site.run(unregisterAll());
    expect(site.serve()).toEqual(["sim-1", "cid"]);
  });

  test("is idle again when a member's hold lapses", () => {
    apply({ reservations: [reserve("sim", 1)] });
    site.queue("sim-1", "cid", "dan");
    site.run(unregisterAll());
    expect(site.serve()).toEqual(["sim-1", "cid"]);
    expect(site.dispatch("cad", ["sim-1"])).toEqual([
      { kind: "lapsed", user: "sim-1", license: null },
    ]);
  });

  test("cannot be used by a member who collects from a host that is not of the group", () => {
    apply({ reservations: [reserve("lab", 1)] });
    site.run(takePlace("cid", { facts: placeFacts({ host: "lab-1" }) }));
    site.run(unregister("ada"));
    expect(site.serve()).toEqual(["cid"]);
    expect(site.refusal(register("cid"))).toBe("floating_not_available");
    expect(
      site.refusal(register("cid", { contact: { ...CONTACT, hostname: "lab-1" } })),
    ).toBeNull();
  });

  test("is computed anew for a user who waits from another host", () => {
    apply({ reservations: [reserve("lab", 1)] });
    site.run(takePlace("cid", { facts: placeFacts({ host: "lab-1" }) }));
    site.run(unregister("ada"));
    site.dispatch();
    expect(site.record(takePlace("cid"))).toMatchObject([
      { type: "HoldWithdrawn" },
      { type: "PlaceTaken", home: null },
    ]);
    expect(site.serve()).toEqual([]);
  });
});

describe("a limit of the rules", () => {
  test("parks a user until a slot of the person is released", () => {
    apply({ eachUser: { slots: 1, line: 3 } });
    site.run(renew(1, 3, { slots: 9 }));
    site.queue("ada#2", "cid", "ada#3");
    expect(site.serve()).toEqual(["cid"]);
    expect(site.line()).toEqual(["ada#2", "ada#3"]);
    site.run(unregister("ada"));
    expect(site.serve()).toEqual(["ada#2"]);
  });

  test("parks a user until a slot of the person ends without an event", () => {
    apply({ eachUser: { slots: 1, line: 3 } });
    site.run(renew(1, 3, { slots: 9 }));
    site.queue("ada#2", "ada#3");
    expect(site.serve()).toEqual([]);
    site.wait(30);
    site.at = later(site.at, -1);
    expect(site.serve()).toEqual([]);
    site.at = later(site.at, 1);
    expect(site.serve()).toEqual(["ada#2"]);
  });

  test("counts holds of other users of the group", () => {
    apply({ groupLimits: [{ group: "sim", slots: 2, line: 3 }] });
    site.run(renew(1, 3, { slots: 9 }));
    site.queue("sim-1", "sim-2", "sim-3", "cid");
    expect(site.serve()).toEqual(["sim-1", "sim-2", "cid"]);
    expect(site.refusal(register("sim-4"))).toBe("slots_capped");
    // The own hold does not count against its user.
    expect(site.refusal(register("sim-1"))).toBeNull();
    expect(site.serve()).toEqual([]);
    expect(site.dispatch("cad", ["sim-2"]).map(({ user }) => user)).toEqual(["sim-2", "sim-3"]);
  });

  test("that was raised lets parked users come back", () => {
    apply({ eachHost: { slots: 2, line: 3 } });
    site.run(renew(1, 3, { slots: 9 }));
    site.queue("cid", "dan");
    expect(site.serve()).toEqual([]);
    apply({ eachHost: { slots: 3, line: 3 } });
    expect(site.serve()).toEqual(["cid"]);
    site.run(applyRules(NO_RULES));
    expect(site.serve()).toEqual(["dan"]);
  });

  test("is named in the view of a parked place", () => {
    apply({ eachUser: { slots: 1, line: 3 } });
    site.run(renew(1, 3, { slots: 9 }));
    site.queue("ada#2");
    expect(viewQueue(site.state, "cad", site.context)?.places).toMatchObject([
      {
        user: "ada#2",
        state: "limited",
        limit: { code: "slots_capped", rule: { kind: "each_user", name: "ada", line: 3 } },
      },
    ]);
  });

  test("parks many users in several commands, none of which records anything", () => {
    apply({ groupLimits: [{ group: "sim", slots: 0, line: 3 }] });
    site.run(renew(1, 3, { slots: 9 }));
    for (let n = 0; n < 90; n += 1) site.run(takePlace(`sim-${n}`));
    site.queue("cid");
    const before = site.events.length;
    expect(site.run(dispatch()).change).toEqual({ kind: "parked", user: "sim-63", license: null });
    expect(site.events.length).toBe(before);
    expect(site.run(dispatch()).change).toEqual({ kind: "held", user: "cid", license: 1 });
    expect(site.run(dispatch()).change).toBeNull();
  });

  test("parks a user under one limit after the other", () => {
    apply({
      eachUser: { slots: 1, line: 3 },
      groupLimits: [{ group: "lab", slots: 1, line: 4 }],
    });
    site.run(renew(1, 3, { slots: 9 }));
    site.run(register("eve", { contact: { ...CONTACT, hostname: "lab-1" } }));
    site.run(takePlace("ada#2", { facts: placeFacts({ host: "lab-2" }) }));
    expect(site.serve()).toEqual([]);
    site.run(unregister("ada"));
    expect(site.serve()).toEqual([]);
    site.run(unregister("eve"));
    expect(site.serve()).toEqual(["ada#2"]);
  });
});

describe("rules that deny a user", () => {
  test("refuse a place", () => {
    apply({ deny: named("sim") });
    expect(site.refusal(takePlace("sim-1"))).toBe("not_allowed_by_rules");
    expect(site.refusal(takePlace("cid"))).toBeNull();
  });

  test("end the places of users who wait when they are applied, holds too", () => {
    site.queue("sim-1", "cid", "sim-2");
    site.run(unregister("ada"));
    expect(site.serve()).toEqual(["sim-1"]);
    apply({ deny: named("sim") });
    expect(site.dispatch()).toEqual([
      { kind: "denied", user: "sim-1", license: null },
      { kind: "denied", user: "sim-2", license: null },
      { kind: "held", user: "cid", license: 1 },
    ]);
  });

  test("end the places of users whom allow_only leaves out", () => {
    site.queue("sim-1", "cid");
    apply({ allowOnly: named("sim") });
    expect(site.dispatch()).toEqual([{ kind: "denied", user: "cid", license: null }]);
    expect(site.refusal(takePlace("cid"))).toBe("not_allowed_by_rules");
    expect(site.line()).toEqual(["sim-1"]);
  });

  test("end no place if they are cleared before the queue is served", () => {
    site.queue("sim-1");
    apply({ deny: named("sim") });
    site.run(applyRules(NO_RULES));
    expect(site.dispatch()).toEqual([]);
    expect(site.line()).toEqual(["sim-1"]);
  });
});

describe("the rules of a queue", () => {
  test("limit the number of places, with those that have a hold", () => {
    apply({ queue: queueRules({ maxWaiting: 2 }) });
    site.queue("cid", "dan");
    site.run(unregister("ada"));
    site.dispatch();
    expect(site.run(takePlace("eve")).reason).toBe("queue_full");
    site.run(register("cid"));
    expect(site.run(takePlace("eve")).reason).toBeNull();
  });

  test("say how long a hold lasts", () => {
    apply({ queue: queueRules({ holdSeconds: 90 }) });
    site.queue("cid");
    expect(viewQueue(site.state, "cad", site.context)?.holdSeconds).toBe(90);
  });
});

test("a queue with rules is the same after a replay and after it was saved and read", () => {
  apply({
    reservations: [reserve("sim", 1)],
    groupLimits: [{ group: "ops", slots: 1, line: 4 }],
    queue: queueRules({ priority: ["ops"] }),
  });
  site.queue("sim-1", "cid", "ops-1", "ops-2");
  site.run(unregisterAll());
  site.dispatch();
  site.at = later(site.at, SECOND);
  const head = { seq: 0, sum: "", auditSeq: 0, auditSum: "" };
  const saved = encodeSnapshot(site.state, head, emptyAuditLogEnd);
  const loaded = decodeSnapshot(structuredClone(saved));
  expect(dumpState(loaded).queues).toEqual(dumpState(site.state).queues);
  expect(dumpState(replayEvents(site.events)).queues).toEqual(dumpState(site.state).queues);
  expect(site.run(dispatch())).toEqual({ change: null });
});
