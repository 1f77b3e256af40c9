// Measures what the sharing rules cost, in the domain alone: no network, no disk. One site decides
// the same commands in turns with many rules and without: two sites would differ by a few percent.
import type { Command } from "../../src/domain/decide.ts";
import { evolve } from "../../src/domain/evolve/evolve.ts";
import type { Group, RuleSet } from "../../src/domain/model/rules/rule-set.ts";
import type { State } from "../../src/domain/model/state.ts";
import { later, MINUTE } from "../../src/domain/time.ts";
import { transact } from "../../src/domain/transact.ts";
import { makeNewSite } from "../support/new-site.ts";
import { contextAt } from "../support/rule-context.ts";
import {
  applyRules,
  group,
  named,
  NO_RULES,
  poolRules,
  reserve,
  ruleSet,
} from "../support/rule-sets.ts";
import { install, MONDAY, register, unregister } from "../support/scenario.ts";
import type { BenchSize, PartResult } from "./bench-part.ts";
import { atMost, formatNumber, median, type Figure } from "./goals.ts";
import { makeContact } from "../support/contact.ts";

const GROUPS = 1_000;
const PATTERNS = 10_000;
const HOLDERS = 10_000;
const PAIRS = 10;
const COMMANDS = 5_000;
const HEARTBEATS = 400_000;
/** As many as the server counts between two requests. */
const HOLDERS_PER_STEP = 1_000;

export async function measureRules({ registrations }: BenchSize): Promise<PartResult> {
  const site = makeSite(HOLDERS);
  const heartbeats = measurePairs(site, () => {
    for (let index = 0; index < HEARTBEATS; index += 1) run(site, callOf(index % HOLDERS));
  });
  const claims = measurePairs(
    site,
    () => {
      for (let index = 0; index < COMMANDS; index += 1) run(site, callOf(HOLDERS + index));
    },
    () => {
      for (let index = 0; index < COMMANDS; index += 1)
        run(site, unregister(userOf(HOLDERS + index)));
    },
  );
  const perCommand = (milliseconds: number): number => (milliseconds * 1_000) / COMMANDS;
  const what = `${formatNumber(GROUPS)} groups, ${formatNumber(PATTERNS)} patterns`;
  const figures: Figure[] = [
    {
      what: `heartbeats in the domain alone with ${what}, of those without`,
      value: median(heartbeats.map((pair) => pair.plain / pair.ruled)),
      unit: "x",
      goal: null,
    },
    {
      what: `a claim with ${what}, more than without`,
      value: median(claims.map((pair) => perCommand(pair.ruled - pair.plain))),
      unit: "µs",
      goal: atMost(10),
    },
    ...registrations.filter((count) => count >= 100_000).map(measureApply),
  ];
  return {
    figures,
    text: `${PAIRS} pairs of ${HEARTBEATS} heartbeats and ${COMMANDS} claims; a claim without rules takes ${formatNumber(
      perCommand(median(claims.map((pair) => pair.plain))),
    )} µs`,
    wrong: [],
  };
}

/** The longest time that another request waits while rules are applied. */
function measureApply(holders: number): Figure {
  const state = makeSite(holders);
  const { digest } = applyRules(RULES);
  const times: number[] = [];
  const measure = <T>(work: () => T): T => {
    const start = process.cpuUsage();
    const result = work();
    times.push(toMilliseconds(process.cpuUsage(start)));
    return result;
  };
  const countSome = measure(() => state.rulesIndex.prepare(state, digest, RULES, MONDAY));
  let next = 0;
  while (!measure(() => countSome(HOLDERS_PER_STEP))) {
    measure(() => run(state, callOf(next % holders)));
    next += 1;
  }
  const apply = applyRules(RULES);
  measure(() => run(state, apply));
  measure(() => run(state, callOf(holders)));
  return {
    what: `longest step while rules are applied to ${formatNumber(holders)} holders`,
    value: Math.max(...times),
    unit: "ms",
    goal: atMost(100),
  };
}

/** The time of the processor: on a busy machine, the time of a clock says little. */
const toMilliseconds = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1_000;

interface Pair {
  readonly plain: number;
  readonly ruled: number;
}

/** Processor times (ms) without and with rules, in turns. `undo` is not measured. */
function measurePairs(site: State, work: () => void, undo: () => void = () => {}): Pair[] {
  const time = (rules: RuleSet): number => {
    run(site, applyRules(rules));
    site.rulesIndex.findPool(site, "cad", null, MONDAY);
    // What the change of the rules left behind is not work of the commands.
    Bun.gc(true);
    const start = process.cpuUsage();
    work();
    const elapsed = toMilliseconds(process.cpuUsage(start));
    undo();
    return elapsed;
  };
  // The first runs are slower: the code is not compiled yet.
  for (const rules of [NO_RULES, RULES, NO_RULES, RULES]) time(rules);
  return Array.from({ length: PAIRS }, (_, index) => {
    if (index % 2 === 0) return { plain: time(NO_RULES), ruled: time(RULES) };
    const ruled = time(RULES);
    return { plain: time(NO_RULES), ruled };
  });
}

const userOf = (index: number): string => `user-${index % 997}#${index}`;

const callOf = (index: number): Command =>
  register(userOf(index), {
    contact: makeContact({
      hostname: `ws-${index % 4_000}.site.example`,
      peer: `10.${index % 200}.${index % 251}.${index % 253}`,
    }),
  });

const GROUP_LIST: readonly Group[] = Array.from({ length: GROUPS }, (_, index) =>
  group(`group-${index}`, {
    users: [`user-${index}`, `user-${index}.x`, `team${index}-*`, `contractor-${index}*`],
    hosts: [`ws-${index}.site.example`, `farm${index}-*`],
    networks: [`10.${index % 200}.${index % 251}.0/24`, `fd00:${index.toString(16)}::/32`],
    logins: [`login-${index}`, `login-${index}.*`],
    ignoreCase: index % 2 === 0,
  }),
);

const RULES: RuleSet = ruleSet(
  [...GROUP_LIST, group("denied", { users: ["denied-*"] })],
  poolRules("cad", {
    deny: named("denied"),
    reservations: Array.from({ length: 200 }, (_, index) =>
      reserve(`group-${index}`, 1, index % 2 === 0 ? "keep" : "lend"),
    ),
    eachUser: { slots: 1_000_000, line: 1 },
    eachHost: { slots: 1_000_000, line: 2 },
    groupLimits: GROUP_LIST.map(({ name }) => ({ group: name, slots: 1_000_000, line: 3 })),
  }),
);

function makeSite(holders: number): State {
  const state = makeNewSite();
  run(state, install(1, { slots: 10 * holders, timeoutMinutes: 60 }));
  for (let index = 0; index < holders; index += 1) {
    const command = callOf(index);
    if (command.type !== "Register") continue;
    const { contact } = command;
    const slot = { license: 1, slot: index + 1, user: userOf(index), contact };
    const end = later(MONDAY, 30 * MINUTE + (index % 60_000));
    evolve(state, { type: "SlotTaken", at: MONDAY, ...slot, end });
  }
  return state;
}

function run(state: State, command: Command): void {
  const result = transact(state, command, contextAt(MONDAY));
  if (!result.ok) throw new Error(`refused: ${JSON.stringify(result.fault)}`);
}
