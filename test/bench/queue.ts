// Measures the queue of the domain alone: no network, no disk. What a freed slot costs with 10,000
// users who wait, with rules that park half of them, and what a place costs in memory.
import { heapStats } from "bun:jsc";
import type { Command } from "../../src/domain/decide.ts";
import type { DispatchOutcome } from "../../src/domain/queue/dispatch/dispatch.ts";
import { viewPlace } from "../../src/domain/views/queue-view.ts";
import type { PoolRules } from "../../src/domain/model/rules/rule-set.ts";
import { later, type Instant } from "../../src/domain/time.ts";
import { transact } from "../../src/domain/transact.ts";
import { makeNewSite } from "../support/new-site.ts";
import { dispatch, placeFacts, takePlace } from "../support/queue-commands.ts";
import { contextAt } from "../support/rule-context.ts";
import { applyRules, group, poolRules, reserve, ruleSet } from "../support/rule-sets.ts";
import { install, MONDAY, register, unregister } from "../support/scenario.ts";
import type { BenchSize, PartResult } from "./bench-part.ts";
import { atMost, formatNumber, median, type Figure } from "./goals.ts";

const WAITERS = 10_000;
const SLOTS = 200;
const RESERVATIONS = 10;

export async function measureQueue({ rounds }: BenchSize): Promise<PartResult> {
  const figures: Figure[] = [];
  const wrong: string[] = [];
  for (const [name, rules] of Object.entries(RULES)) {
    const site = fillQueue(rules);
    const served: number[] = [];
    const positions: number[] = [];
    for (let cycle = 0; cycle < rounds * 1_000; cycle += 1) {
      const releasing = site.holders.shift();
      if (releasing === undefined) throw new Error("no user holds a slot");
      site.run(unregister(releasing));
      const start = performance.now();
      const change = site.dispatch();
      served.push((performance.now() - start) * 1_000);
      if (change === null) {
        wrong.push(`queue: no user got the freed slot of cycle ${cycle}, ${name}`);
        break;
      }
      site.run(register(change.user));
      site.holders.push(change.user);
      site.run(takePlace(releasing, callerOf(releasing)));
      const viewStart = performance.now();
      viewPlace(site.state, "cad", releasing, contextAt(site.at));
      positions.push((performance.now() - viewStart) * 1_000);
    }
    const sorted = served.toSorted((a, b) => a - b);
    const what = `freed slot with ${formatNumber(WAITERS)} waiting users, ${name}`;
    figures.push(
      { what: `${what}: median`, value: median(served), unit: "µs", goal: atMost(100) },
      {
        what: `${what}: p99`,
        value: sorted[Math.floor(served.length * 0.99)] ?? NaN,
        unit: "µs",
        goal: null,
      },
      { what: `${what}: longest`, value: sorted.at(-1) ?? NaN, unit: "µs", goal: null },
      {
        what: `position of a user, ${name}: median`,
        value: median(positions),
        unit: "µs",
        goal: atMost(100),
      },
      {
        what: `memory of a place, ${name}`,
        value: site.bytesPerPlace,
        unit: "bytes",
        goal: atMost(2_048),
      },
    );
  }
  return { figures, text: `${WAITERS} users wait for ${SLOTS} slots, in memory`, wrong };
}

const GROUPS = [
  group("parked", { users: ["p-*"] }),
  ...Array.from({ length: RESERVATIONS }, (_, n) => group(`team-${n}`, { users: [`t${n}-*`] })),
];

const QUEUE = { line: 1, priority: ["team-3"], holdSeconds: 30, maxWaiting: WAITERS };
const RULES: Readonly<Record<string, Partial<PoolRules>>> = {
  "without limits": { queue: QUEUE },
  "10 reservations, half of the users parked": {
    queue: QUEUE,
    reservations: Array.from({ length: RESERVATIONS }, (_, n) => reserve(`team-${n}`, 2, "lend")),
    groupLimits: [{ group: "parked", slots: 1, line: 2 }],
  },
};

const callerOf = (user: string) => {
  const address = `10.${user.length}.0.${user.charCodeAt(user.length - 1)}`;
  return { facts: placeFacts({ address, host: `host-of-${user}` }), peer: address };
};

function fillQueue(rules: Partial<PoolRules>) {
  const state = makeNewSite();
  let at: Instant = MONDAY;
  const run = (command: Command) => {
    at = later(at, 1);
    const result = transact(state, command, contextAt(at, { maxPlacesPerCaller: Infinity }));
    if (!result.ok) throw new Error(`refused: ${JSON.stringify(result.fault)}`);
    return result.value;
  };
  /** Serves the queue until nothing changes; returns the first user who got a slot. */
  const dispatchAll = (): { readonly user: string } | null => {
    let first: { readonly user: string } | null = null;
    for (;;) {
      const { change } = run(dispatch()).outcome as DispatchOutcome;
      if (change === null) return first;
      if (change.kind === "held") first ??= change;
    }
  };
  run(install(1, { slots: SLOTS, timeoutMinutes: 60 * 24 }));
  run(applyRules(ruleSet(GROUPS, poolRules("cad", rules))));
  const holders = Array.from({ length: SLOTS }, (_, n) => (n === 0 ? "p-0" : `holder-${n}`));
  for (const user of holders) run(register(user));
  // The one of the parked group never releases its slot.
  holders.shift();
  Bun.gc(true);
  const before = heapStats().heapSize;
  for (let n = 1; n <= WAITERS; n += 1) {
    const user = n % 2 === 0 ? `p-${n}` : `t${n % 20}-${n}`;
    run(takePlace(user, callerOf(user)));
  }
  Bun.gc(true);
  const bytesPerPlace = (heapStats().heapSize - before) / WAITERS;
  return {
    state,
    run,
    dispatch: dispatchAll,
    holders,
    bytesPerPlace,
    get at() {
      return at;
    },
  };
}
