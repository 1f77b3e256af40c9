import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { CallerFacts } from "../../../../src/domain/model/rules/caller-facts.ts";
import type { PoolRules, RuleSet } from "../../../../src/domain/model/rules/rule-set.ts";
import type { State } from "../../../../src/domain/model/state.ts";
import { evolve } from "../../../../src/domain/evolve/evolve.ts";
import { later, MINUTE, type Instant } from "../../../../src/domain/time.ts";
import { transact } from "../../../../src/domain/transact.ts";
import { sha256 } from "../../../../src/platform/crypto/hash.ts";
import { decodeSnapshot, encodeSnapshot } from "../../../../src/store/state/state-rows.ts";
import { emptyAuditLogEnd } from "../../../../src/store/state/snapshot.ts";
import { isMember, personOf } from "../../../sharing/membership.ts";
import { makeNewSite } from "../../../support/new-site.ts";
import { makeStepCommand, randomCommandSteps, USERS } from "../../../support/random-commands.ts";
import { contextAt } from "../../../support/rule-context.ts";
import { applyRules, group, poolRules, reserve, ruleSet } from "../../../support/rule-sets.ts";
import {
  CONTACT,
  featureTerms,
  hoursLater,
  install,
  minutesLater,
  MONDAY,
  register,
  registerFeature,
  remove,
  unregister,
} from "../../../support/scenario.ts";

/** The holders of a pool that have not ended, and the users for whom a slot is held. */
function* listCounted(state: State, pool: PoolRules, at: Instant): Generator<CallerFacts, void> {
  for (const license of state.products.get(pool.product) ?? []) {
    const holders =
      pool.feature === null
        ? license.pool.inSlotOrder()
        : (license.features.get(pool.feature)?.pool.inSlotOrder() ?? []);
    for (const { user, end, takenFrom, identity } of holders) {
      if (end <= at) continue;
      const observed = identity ?? { login: null, certificate: null };
      yield { user, host: takenFrom.hostname, address: takenFrom.peer, ...observed };
    }
  }
  if (pool.feature !== null) return;
  for (const { user, facts, hold } of state.queues.get(pool.product)?.places ?? [])
    if (hold !== null) yield { user, ...facts };
}

/** What the counters must be: every holder that has not ended, counted one by one. */
function countHolders(state: State, rules: RuleSet, at: Instant) {
  return rules.pools.map((pool) => {
    const counts = new Map<string, number>();
    const count = (key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);
    for (const facts of listCounted(state, pool, at)) {
      const members = rules.groups.filter((one) => isMember(one, facts));
      const groups = new Set(members.map(({ name }) => name));
      if (pool.eachUser !== null) count(`person ${personOf(facts.user)}`);
      if (pool.eachHost !== null && facts.host !== "") count(`host ${facts.host}`);
      for (const limit of pool.groupLimits)
        if (groups.has(limit.group)) count(`group ${limit.group}`);
      const home = pool.reservations
        .map((one) => one.group)
        .toSorted()
        .find((name) => groups.has(name));
      if (home !== undefined) count(`home ${home}`);
    }
    return { pool, counts };
  });
}

/** Compares the counters of all pools at this instant with what they must be. */
function checkCounters(state: State, at: Instant): number {
  const { rules } = state;
  if (rules === null) return 0;
  let checked = 0;
  for (const { pool, counts } of countHolders(state, rules.rules, at)) {
    const found = state.rulesIndex.findPool(state, pool.product, pool.feature, at);
    const names = [...USERS, "desk", "other", ...rules.rules.groups.map(({ name }) => name)];
    const read = names.flatMap((name): [string, number | undefined][] => [
      [`person ${name}`, found?.use.byPerson(name)],
      [`host ${name}`, found?.use.byHost(name)],
      [`group ${name}`, found?.use.byGroup(name)],
      [`home ${name}`, found?.use.byHome(name)],
    ]);
    expect(new Map(read.filter(([, count]) => count !== 0))).toEqual(counts);
    const idle = pool.reservations
      .filter((one) => one.idle === "keep")
      .reduce(
        (sum, { group: name, slots }) =>
          sum + Math.max(0, slots - (counts.get(`home ${name}`) ?? 0)),
        0,
      );
    expect(found?.use.keptIdle).toBe(idle);
    checked += counts.size;
  }
  return checked;
}

const RULES = ruleSet(
  [
    group("team", { users: ["user-1*", "constructor"] }),
    group("__proto__", { users: ["*"], networks: ["10.0.0.0/8"] }),
  ],
  ...["cad", "constructor", "__proto__"].flatMap((product) =>
    [null, "view", "constructor"].map((feature) =>
      poolRules(product, {
        feature,
        reservations: [reserve("__proto__", 0), reserve("team", 0, "lend")],
        eachUser: { slots: 3, line: 1 },
        eachHost: { slots: 3, line: 2 },
        groupLimits: [{ group: "team", slots: 3, line: 3 }],
      }),
    ),
  ),
);

describe("the counters of the rules", () => {
  test("are those of a recount after any commands, at any instant", () => {
    let checked = 0;
    fc.assert(
      fc.property(randomCommandSteps(60), fc.integer({ min: 0, max: 90 }), (steps, wait) => {
        const state = makeNewSite();
        let at = MONDAY;
        transact(state, applyRules(RULES), contextAt(at));
        for (const step of steps) {
          at = later(at, step.after);
          transact(state, makeStepCommand(step, state, at), contextAt(at));
          checked += checkCounters(state, at);
        }
        checkCounters(state, later(at, wait * MINUTE));
      }),
      { numRuns: 150 },
    );
    expect(checked).toBeGreaterThan(1_000);
  });

  test("are right if they were prepared in steps while commands ran", () => {
    let checked = 0;
    fc.assert(
      fc.property(randomCommandSteps(40), fc.nat(40), fc.nat(3), (steps, start, size) => {
        const state = makeNewSite();
        let at = MONDAY;
        let countSome: ((limit: number) => boolean) | null = null;
        const digest = applyRules(RULES).digest;
        for (const [index, step] of steps.entries()) {
          at = later(at, step.after);
          const command = makeStepCommand(step, state, at);
          if (index === Math.min(start, steps.length - 1))
            countSome = state.rulesIndex.prepare(state, digest, RULES, at);
          if (command.type !== "ApplyRules") transact(state, command, contextAt(at));
          countSome?.(size);
        }
        transact(state, applyRules(RULES), contextAt(at));
        checked += checkCounters(state, at);
        checkCounters(state, later(at, 20 * MINUTE));
      }),
      { numRuns: 300 },
    );
    expect(checked).toBeGreaterThan(100);
  });

  test("do not count a slot that ends while they are prepared, counted before or not", () => {
    const limited = ruleSet([], poolRules("cad", { eachUser: { slots: 9, line: 1 } }));
    for (const user of ["ada#1", "ada#2", "ada#3"]) {
      const state = makeNewSite();
      const run = (command: Parameters<typeof transact>[1]): void =>
        void transact(state, command, contextAt(MONDAY));
      run(install(1, { slots: 5 }));
      for (const each of ["ada#1", "ada#2", "ada#3"]) run(register(each));
      const { digest } = applyRules(limited);
      const countSome = state.rulesIndex.prepare(state, digest, limited, MONDAY);
      expect(countSome(2)).toBe(false);
      run(unregister(user));
      run(register("ada#4"));
      expect(countSome(2)).toBe(true);
      run(applyRules(limited));
      expect(state.rulesIndex.findPool(state, "cad", null, MONDAY)?.use.byPerson("ada")).toBe(3);
    }
  });

  test("are right if the time went back a little after they were prepared", () => {
    const limited = (slots: number) =>
      ruleSet([], poolRules("cad", { eachUser: { slots, line: 1 } }));
    const state = makeNewSite();
    const run = (command: Parameters<typeof transact>[1], at: Instant): void =>
      void transact(state, command, contextAt(at));
    run(install(1, { slots: 5, timeoutMinutes: 30 }), MONDAY);
    run(register("ada"), MONDAY);
    run(applyRules(limited(8)), MONDAY);
    const end = minutesLater(30);
    const countOf = (at: Instant) =>
      state.rulesIndex.findPool(state, "cad", null, at)?.use.byPerson("ada");
    const { digest } = applyRules(limited(9));
    const countSome = state.rulesIndex.prepare(state, digest, limited(9), end);
    expect(countOf(later(end, -20))).toBe(1);
    expect(countSome(Infinity)).toBe(true);
    run(applyRules(limited(9)), later(end, -20));
    expect(countOf(later(end, -10))).toBe(1);
    expect(countOf(end)).toBe(0);
  });

  test("do not count the slots of features of a license that was returned", () => {
    const state = makeNewSite();
    const features = [featureTerms("render", { floating: { slots: 5, timeoutMinutes: 20 } })];
    const limited = ruleSet(
      [],
      poolRules("cad", { feature: "render", eachUser: { slots: 1, line: 1 } }),
    );
    const run = (command: Parameters<typeof transact>[1]): string => {
      const result = transact(state, command, contextAt(MONDAY));
      return result.ok ? "ok" : result.fault.code;
    };
    for (const id of [1, 2]) run(install(id, { slots: 5, features }));
    run(applyRules(limited));
    for (const id of [1, 2]) run(register(`ada#${id}`, { licenseId: id }));
    expect(run(registerFeature("ada#1", "render"))).toBe("ok");
    expect(run(registerFeature("ada#2", "render"))).toBe("slots_capped");
    expect(run(remove(1))).toBe("ok");
    expect(run(registerFeature("ada#2", "render"))).toBe("ok");
  });

  test("are right after the clock was set back", () => {
    const state = makeNewSite();
    const limited = ruleSet([], poolRules("cad", { eachUser: { slots: 1, line: 1 } }));
    const run = (command: Parameters<typeof transact>[1], at: Instant): string => {
      const result = transact(state, command, contextAt(at));
      return result.ok ? "ok" : result.fault.code;
    };
    run(install(1, { slots: 5, timeoutMinutes: 30 }), MONDAY);
    run(applyRules(limited), MONDAY);
    expect(run(register("ada#1"), MONDAY)).toBe("ok");
    expect(
      run({ type: "JumpClock", from: MONDAY, to: hoursLater(9), reason: "step" }, hoursLater(9)),
    ).toBe("ok");
    // The slot of ada has left the counters: it has ended by the wrong clock.
    const pool = state.rulesIndex.findPool(state, "cad", null, hoursLater(9));
    expect(pool?.use.byPerson("ada")).toBe(0);
    evolve(state, {
      type: "ClockSetBack",
      at: minutesLater(5),
      from: hoursLater(9),
      to: minutesLater(5),
      peer: "",
    });
    expect(run(register("ada#2"), minutesLater(29))).toBe("slots_capped");
    expect(run(register("ada#2"), minutesLater(30))).toBe("ok");
  });

  test("are right after the state was saved and loaded", () => {
    const state = makeNewSite();
    const limited = ruleSet(
      [group("sim", { hosts: ["sim-*"], logins: ["ada"] })],
      poolRules("cad", {
        groupLimits: [{ group: "sim", slots: 2, line: 1 }],
        eachHost: { slots: 1, line: 2 },
      }),
    );
    const run = (target: State, command: Parameters<typeof transact>[1]): string => {
      const result = transact(target, command, contextAt(MONDAY));
      return result.ok ? "ok" : result.fault.code;
    };
    const call = (user: string, hostname: string, login: string | null = null) =>
      register(user, {
        contact: { ...CONTACT, hostname },
        identity: login === null ? null : { login, certificate: null },
      });
    run(state, install(1, { slots: 9 }));
    run(state, applyRules(limited));
    expect(run(state, call("ada", "desk", "ada"))).toBe("ok");
    expect(run(state, call("eve", "sim-1"))).toBe("ok");
    // The facts at the grant count, not where the holder is now.
    expect(run(state, call("eve", "home"))).toBe("ok");
    const head = { seq: 0, sum: sha256(""), auditSeq: 0, auditSum: sha256("") };
    const text = JSON.stringify(encodeSnapshot(state, head, emptyAuditLogEnd));
    const loaded = decodeSnapshot(JSON.parse(text));
    for (const target of [state, loaded]) {
      expect(run(target, call("zoe", "sim-2"))).toBe("slots_capped");
      expect(run(target, call("zoe", "sim-1"))).toBe("slots_capped");
      expect(run(target, call("zoe", "home"))).toBe("ok");
    }
  });
});
