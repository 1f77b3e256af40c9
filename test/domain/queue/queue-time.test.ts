import { beforeEach, describe, expect, test } from "bun:test";
import { isAudited, isNewGrant, summarize } from "../../../src/domain/event-catalogue.ts";
import { evolve } from "../../../src/domain/evolve/evolve.ts";
import { findNextDispatchAt, viewQueue } from "../../../src/domain/views/queue-view.ts";
import { DAY, HOUR, later, MINUTE, SECOND } from "../../../src/domain/time.ts";
import { transact } from "../../../src/domain/transact.ts";
import { decodeSnapshot, encodeSnapshot } from "../../../src/store/state/state-rows.ts";
import { emptyAuditLogEnd } from "../../../src/store/state/snapshot.ts";
import { contextAt } from "../../support/rule-context.ts";
import { movePlace, takePlace } from "../../support/queue-commands.ts";
import { applyRules, group, poolRules, reserve, ruleSet } from "../../support/rule-sets.ts";
import {
  dumpState,
  install,
  MONDAY,
  register,
  renew,
  unregister,
  unregisterAll,
} from "../../support/scenario.ts";
import { QueueSite } from "./queue-site.ts";

let site: QueueSite;

beforeEach(() => {
  site = new QueueSite();
  site.run(install(1, { slots: 1 }));
  site.hold("ada");
  site.queue("bob", "cid");
});

describe("a clock that is set back", () => {
  test("moves arrivals and holds that were set while the clock was ahead", () => {
    const to = later(site.at, HOUR);
    const jumped = later(to, 10 * DAY);
    site.at = to;
    site.run(register("ada"));
    site.at = jumped;
    site.run({ type: "JumpClock", from: to, to: jumped, reason: "step" });
    site.queue("dan");
    site.dispatch();
    expect(site.holdsOf()).toEqual(["bob"]);
    site.run({ type: "AskClock", nonce: "asked", peer: "" });
    site.run({ type: "SetClockBack", to, nonce: "asked", peer: "" });
    const queue = site.state.queues.get("cad");
    expect(queue?.get("bob")?.since).toBe(MONDAY);
    expect(queue?.get("bob")?.hold?.at).toBe(to);
    expect(queue?.get("dan")?.since).toBe(to);
  });

  test("moves the end of a recall that was decided while the clock was ahead", () => {
    const sim = group("sim", { users: ["sim-1"] });
    const reservations = [reserve("sim", 1, "lend")];
    site.run(applyRules(ruleSet([sim], poolRules("cad", { reservations }))));
    const jumped = later(MONDAY, 10 * DAY);
    site.at = jumped;
    site.run({ type: "JumpClock", from: MONDAY, to: jumped, reason: "step" });
    site.run({ type: "RecallReservation", product: "cad", feature: null, group: "sim" });
    site.run({ type: "AskClock", nonce: "asked", peer: "" });
    site.run({ type: "SetClockBack", to: MONDAY, nonce: "asked", peer: "" });
    const until = later(MONDAY, 10 * MINUTE);
    expect([...site.state.recalls.values()]).toMatchObject([{ at: MONDAY, until }]);
  });
});

describe("a clock that jumps forward", () => {
  test("lets users come back whose limit ends with time", () => {
    site.run(renew(1, 3, { slots: 9 }));
    site.settings = { slotCaps: { perUser: null, perPeer: 1 } };
    expect(site.serve()).toEqual([]);
    const jumped = later(site.at, DAY);
    site.run({ type: "JumpClock", from: site.at, to: jumped, reason: "step" });
    site.at = jumped;
    expect(site.serve()).toEqual(["bob"]);
  });
});

describe("places in a saved state", () => {
  const saveAndLoad = () => {
    const head = { seq: 0, sum: "", auditSeq: 0, auditSum: "" };
    const saved = encodeSnapshot(site.state, head, emptyAuditLogEnd);
    return { saved, loaded: decodeSnapshot(structuredClone(saved)) };
  };

  test("are the same after they are read, with hold and order", () => {
    site.run(movePlace("cid"));
    site.run(unregister("ada"));
    site.dispatch();
    const { loaded } = saveAndLoad();
    expect(dumpState(loaded).queues).toEqual(dumpState(site.state).queues);
    expect(loaded.queues.countHoldsOfPeer("10.0.0.7")).toBe(1);
    expect(loaded.queues.countOfAddress("10.0.0.7")).toBe(2);
  });

  test("are served in the same order after they are read", () => {
    site.run(movePlace("cid"));
    const { loaded } = saveAndLoad();
    const context = contextAt(later(site.at, HOUR));
    const result = transact(loaded, { type: "Dispatch", product: "cad", lapsed: [] }, context);
    expect(result.ok && result.value.outcome).toEqual({
      change: { kind: "held", user: "cid", license: 1 },
    });
  });
});

describe("the audit log", () => {
  test("contains every event of a queue", () => {
    site.run(movePlace("cid"));
    site.run(unregisterAll());
    site.dispatch();
    site.run(register("cid"));
    const events = site.events.filter((event) => "place" in event);
    expect(events.map(({ type }) => type)).toEqual([
      "PlaceTaken",
      "PlaceTaken",
      "PlaceMoved",
      "HoldGiven",
      "PlaceLeft",
    ]);
    expect(events.every(isAudited)).toBe(true);
  });

  test("says why a place ended, for each cause in other words", () => {
    const fields = {
      type: "PlaceLeft",
      at: MONDAY,
      product: "cad",
      user: "bob",
      place: 2,
    } as const;
    const causes = [
      "granted",
      "unregistered",
      "lapsed",
      "dropped",
      "denied",
      "license_gone",
    ] as const;
    expect(causes.map((cause) => summarize({ ...fields, cause }))).toEqual([
      "left the queue: the user got a slot",
      "left the queue: the user unregistered",
      "left the queue: no contact in time",
      "left the queue: removed by an administrator",
      "left the queue: the rules refuse the user",
      "left the queue: the license was removed",
    ]);
  });

  test("has a budget for each address, which a place is charged to", () => {
    const exhausted = {
      code: "audit_budget_exhausted",
      mibPerHour: 1,
      retryAfterSeconds: 1,
    } as const;
    const budget = { checkBudget: () => exhausted };
    const result = transact(site.state, takePlace("dan"), site.context, budget);
    expect(result).toEqual({ ok: false, fault: exhausted });
    expect(site.line()).toEqual(["bob", "cid"]);
    const repeated = transact(site.state, takePlace("bob"), site.context, budget);
    expect(repeated.ok).toBe(true);
    expect(site.events.filter((event) => event.type === "PlaceTaken").every(isNewGrant)).toBe(true);
  });
});

describe("the next time at which a queue may change by itself", () => {
  test("is the end of the first slot", () => {
    expect(findNextDispatchAt(site.state, "cad", site.context)).toBe(later(MONDAY, 30 * MINUTE));
  });

  test("is the end of the license, if that is earlier", () => {
    const validUntil = later(site.at, 10 * SECOND);
    site.run(renew(1, 3, { slots: 1, validUntil }));
    expect(findNextDispatchAt(site.state, "cad", site.context)).toBe(validUntil);
  });

  test("is the start of a license that grants nothing yet, if that is earlier", () => {
    const start = later(site.at, 10 * SECOND);
    site.run(install(2, { slots: 1, start }));
    expect(findNextDispatchAt(site.state, "cad", site.context)).toBe(start);
  });

  test("is the time at which a recalled reservation lends again, if that is earlier", () => {
    const until = later(site.at, 10 * MINUTE);
    const recall = {
      type: "ReservationRecalled",
      at: site.at,
      product: "cad",
      feature: null,
    } as const;
    evolve(site.state, { ...recall, group: "sim", until });
    expect(findNextDispatchAt(site.state, "cad", site.context)).toBe(until);
  });

  test("is unknown without a queue", () => {
    expect(findNextDispatchAt(site.state, "cam", site.context)).toBeNull();
  });

  test("includes the end of a slot of another product that a cap waits for", () => {
    site.settings = { slotCaps: { perUser: 1, perPeer: null } };
    site.run(install(2, { product: "cam", slots: 3, timeoutMinutes: 10 }));
    site.run(register("bob", { product: "cam" }));
    site.run(unregister("ada"));
    expect(site.serve()).toEqual(["cid"]);
    site.run(register("cid"));
    site.run(renew(1, 3, { slots: 2 }));
    expect(site.serve()).toEqual([]);
    expect(findNextDispatchAt(site.state, "cad", site.context)).toBe(later(MONDAY, 10 * MINUTE));
  });
});

describe("the view of a queue", () => {
  test("lists users with a held slot first, then the order of service", () => {
    site.queue("dan");
    site.run(movePlace("dan"));
    site.run(unregister("ada"));
    site.dispatch();
    const view = viewQueue(site.state, "cad", site.context);
    expect(view).toMatchObject({ waitingCount: 2, heldCount: 1, holdSeconds: 30 });
    expect(view?.places.map(({ user, position, state }) => [user, position, state])).toEqual([
      ["dan", 0, "held"],
      ["bob", 1, "waiting"],
      ["cid", 2, "waiting"],
    ]);
  });

  test("names the limit that blocks a user", () => {
    site.run(renew(1, 3, { slots: 9 }));
    site.settings = { slotCaps: { perUser: null, perPeer: 1 } };
    expect(viewQueue(site.state, "cad", site.context)?.places[0]).toMatchObject({
      state: "limited",
      limit: { code: "slots_capped", scope: "peer", slots: 1 },
    });
  });

  test("is null for a product without a queue", () => {
    expect(viewQueue(site.state, "cam", site.context)).toBeNull();
  });
});
