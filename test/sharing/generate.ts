// Random sites, rules and steps. A step is plain data that does not depend on what happened before,
// so that a failing sequence can be shortened.
import type { CallerFacts } from "../../src/domain/model/rules/caller-facts.ts";
import type { Group } from "../../src/domain/model/rules/rule-set.ts";
import type { SlotCaps } from "../../src/domain/model/rule-context.ts";
import { HOUR, MINUTE } from "../../src/domain/time.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import { emptyBlock, type RuleBlock, type RuleFile } from "./rule-file.ts";

export const PRODUCTS = ["cad", "cam"];
export const FEATURE = "MESH";
const GROUP_NAMES = ["ga", "gb", "gc", "gd"];

const USERS = ["ada", "ada#1", "ada#2", "Bob", "bob", "bob#x", "cy", "cy#1", "dora", "#e", "eve"];
const HOSTS = ["ws1", "ws2", "sim-1", "sim-2", ""];
const ADDRESSES = ["10.1.4.7", "10.1.5.9", "10.2.0.1", "fd00:1::5"];
const NETWORKS = ["10.1.4.0/24", "10.1.0.0/16", "10.2.0.1/32", "fd00:1::/32"];

export interface CallStep {
  readonly type: "register" | "borrow" | "feature" | "releaseFeature" | "unregister";
  readonly product: string;
  readonly licenseIndex: number | null;
  readonly facts: CallerFacts;
  /** Whether a refused caller waits. */
  readonly wait: boolean;
  /** Of a borrow; null: as long as allowed. */
  readonly hours: number | null;
}

export interface RulesStep {
  readonly type: "rules";
  readonly file: RuleFile | null;
  /** Holders are counted for the new rules during so many steps, before they are applied. */
  readonly delay: number;
}

export type Step =
  | CallStep
  | { readonly type: "tick"; readonly milliseconds: number }
  | { readonly type: "lapse"; readonly product: string; readonly users: readonly string[] }
  | { readonly type: "move" | "drop"; readonly product: string; readonly user: string }
  | RulesStep
  | { readonly type: "caps"; readonly slotCaps: SlotCaps }
  | { readonly type: "install"; readonly license: LicensePlan }
  | { readonly type: "renew"; readonly index: number; readonly license: LicensePlan }
  | { readonly type: "remove"; readonly index: number }
  | { readonly type: "restart"; readonly by: "snapshot" | "replay" }
  | { readonly type: "jump"; readonly milliseconds: number }
  | { readonly type: "setBack" };

export interface LicensePlan {
  readonly product: string;
  readonly slots: number;
  readonly borrowHours: number | null;
  /** Slots of the floating feature; null: it has none. */
  readonly featureSlots: number | null;
  /** After this time, or null: no end. */
  readonly endsAfter: number | null;
}

export interface Sequence {
  readonly slotCaps: SlotCaps;
  readonly licenses: readonly LicensePlan[];
  readonly rules: RuleFile | null;
  readonly steps: readonly Step[];
}

/**
 * What a sequence is about: everything, reservations of few slots that many users want, borrowing,
 * or licenses that lose slots while some are held for waiting users. Without this, recalls, moved
 * ends of borrows and withdrawn holds would be rare.
 */
type Theme = "mixed" | "crowded" | "borrowing" | "shrinking";

/** With rules of reservations only. */
const isOneLicense = (theme: Theme): boolean => theme === "crowded" || theme === "shrinking";

export function generateSequence(random: SeededRandom, length: number): Sequence {
  const theme = random.pickWeighted({ mixed: 5, crowded: 3, borrowing: 2, shrinking: 2 });
  if (isOneLicense(theme)) {
    return {
      slotCaps: { perUser: null, perPeer: null },
      licenses: [{ ...planLicense(random), product: "cad", slots: random.intBetween(2, 6) }],
      rules: generateRules(random, theme),
      steps: Array.from({ length }, () => generateStep(random, theme)),
    };
  }
  const others = Array.from({ length: random.intBetween(0, 2) }, () => planLicense(random));
  const cam = random.chance(0.6) ? [{ ...planLicense(random), product: "cam" }] : [];
  return {
    slotCaps: generateCaps(random),
    licenses: [{ ...planLicense(random), product: "cad" }, ...others, ...cam],
    rules: random.chance(0.85) ? generateRules(random, theme) : null,
    steps: Array.from({ length }, () => generateStep(random, theme)),
  };
}

const generateCaps = (random: SeededRandom): SlotCaps => ({
  perUser: random.chance(0.1) ? random.intBetween(1, 2) : null,
  perPeer: random.chance(0.2) ? random.intBetween(1, 3) : null,
});

const planLicense = (random: SeededRandom): LicensePlan => ({
  product: random.chance(0.75) ? "cad" : "cam",
  slots: random.intBetween(random.chance(0.1) ? 0 : 1, 4),
  borrowHours: random.chance(0.8) ? random.pick([4, 24]) : null,
  featureSlots: random.chance(0.8) ? random.intBetween(0, 3) : null,
  endsAfter: random.chance(0.15) ? random.intBetween(1, 8) * HOUR : null,
});

const WEIGHTS = {
  register: 45,
  borrow: 12,
  feature: 20,
  releaseFeature: 4,
  unregister: 12,
  tick: 9,
  lapse: 3,
  move: 2,
  drop: 1,
  rules: 3,
  caps: 1,
  install: 1,
  renew: 3,
  remove: 1,
  restart: 2,
  jump: 1,
  setBack: 1,
};

const THEME_WEIGHTS = {
  mixed: WEIGHTS,
  crowded: { ...WEIGHTS, register: 60, unregister: 30, borrow: 2, rules: 1, install: 0, remove: 0 },
  borrowing: { ...WEIGHTS, register: 15, borrow: 50, rules: 8 },
  shrinking: {
    ...WEIGHTS,
    feature: 0,
    releaseFeature: 0,
    borrow: 0,
    install: 0,
    lapse: 0,
    drop: 0,
    rules: 6,
    renew: 30,
    tick: 15,
    register: 60,
  },
};

function generateStep(random: SeededRandom, theme: Theme): Step {
  const type = random.pickWeighted(THEME_WEIGHTS[theme]);
  const product = isOneLicense(theme) || random.chance(0.88) ? "cad" : "cam";
  switch (type) {
    case "tick":
      return { type, milliseconds: random.pick([1, 1_000, 5 * MINUTE, 9 * MINUTE, 31 * MINUTE]) };
    case "lapse":
      return { type, product, users: USERS.filter(() => random.chance(0.3)) };
    case "move":
    case "drop":
      return { type, product, user: random.pick(USERS) };
    case "rules":
      return {
        type,
        file: random.chance(0.8) ? generateRules(random, theme) : null,
        delay: random.chance(0.5) ? 0 : random.intBetween(1, 8),
      };
    case "caps":
      return { type, slotCaps: generateCaps(random) };
    case "install":
      return { type, license: planLicense(random) };
    case "renew":
      return {
        type,
        index: isOneLicense(theme) ? 0 : random.intBelow(4),
        license: planLicense(random),
      };
    case "remove":
      return { type, index: random.intBelow(4) };
    case "restart":
      return { type, by: random.pick(["snapshot", "replay"]) };
    case "jump":
      return { type, milliseconds: random.pick([HOUR, 30 * HOUR]) };
    case "setBack":
      return { type };
    default:
      return {
        type,
        product,
        licenseIndex: random.chance(0.1) ? random.intBelow(4) : null,
        facts: generateFacts(random),
        wait: random.chance(0.6),
        hours: random.chance(0.4) ? null : random.pick([1, 2, 5, 30]),
      };
  }
}

/** A user mostly calls from the same host. */
function generateFacts(random: SeededRandom): CallerFacts {
  const index = random.intBelow(random.chance(0.7) ? 6 : USERS.length);
  const user = USERS[index] ?? "ada";
  const isUsual = random.chance(0.85);
  const host = isUsual ? HOSTS[index % HOSTS.length] : random.pick(HOSTS);
  const address = isUsual ? ADDRESSES[index % ADDRESSES.length] : random.pick(ADDRESSES);
  const login = random.chance(0.2) ? (user.split("#")[0] ?? null) || null : null;
  return { user, host: host ?? "", address: address ?? "", login, certificate: null };
}

const some = <T>(random: SeededRandom, items: readonly T[], probability: number): T[] =>
  items.filter(() => random.chance(probability));

const maybe = (random: SeededRandom, probability: number, max: number): number | null =>
  random.chance(probability) ? random.intBetween(0, max) : null;

function generateRules(random: SeededRandom, theme: Theme): RuleFile {
  const blocks = isOneLicense(theme)
    ? generateReservations(random)
    : [
        ...generatePool(random, "cad", null),
        ...generatePool(random, "cad", FEATURE),
        ...generatePool(random, "cam", null),
      ];
  return { groups: GROUP_NAMES.map((name) => generateGroup(random, name)), blocks };
}

const generateGroup = (random: SeededRandom, name: string): Group => ({
  name,
  users: some(random, ["ada", "bob", "Bob", "c*", "dora", "#e", "e*", "BO*"], 0.25),
  hosts: some(random, ["ws1", "SIM-1", "sim-*", "ws*"], 0.1),
  networks: some(random, NETWORKS, 0.1),
  logins: some(random, ["ada", "bo*", "cy"], 0.1),
  certificates: [],
  ignoreCase: random.chance(0.3),
});

/** Only reservations, of one or two slots, and sometimes a priority. */
function generateReservations(random: SeededRandom): readonly RuleBlock[] {
  const makeReserve = (): RuleBlock["reserve"] =>
    some(random, GROUP_NAMES, 0.5).map((group) => ({
      group,
      slots: random.chance(0.9) ? 1 : 2,
      idle: random.chance(0.6) ? "lend" : "keep",
    }));
  const priority = some(random, GROUP_NAMES, 0.5);
  const queue = random.chance(0.5) ? { priority, maxWaiting: 1_000 } : null;
  return [
    { ...emptyBlock("cad", null), reserve: makeReserve(), queue },
    { ...emptyBlock("cad", FEATURE), reserve: makeReserve() },
  ];
}

/** Several rules for one pool, in which a group is reserved once and a queue is set once. */
function generatePool(
  random: SeededRandom,
  product: string,
  feature: string | null,
): readonly RuleBlock[] {
  if (random.chance(0.3)) return [];
  const reserved = some(random, GROUP_NAMES, 0.35);
  const count = random.intBetween(1, 3);
  const queueBlock = random.intBelow(6);
  return Array.from({ length: count }, (_, index) => ({
    ...emptyBlock(product, feature),
    deny: some(random, GROUP_NAMES, 0.06),
    allowOnly: random.chance(0.12) ? [random.pick(GROUP_NAMES), random.pick(GROUP_NAMES)] : null,
    reserve: reserved
      .filter((_group, position) => position % count === index)
      .map((group) => ({
        group,
        slots: random.intBetween(1, 2),
        idle: random.chance(0.5) ? ("lend" as const) : ("keep" as const),
      })),
    eachUser: maybe(random, 0.2, 3),
    eachHost: maybe(random, 0.15, 4),
    groupLimits: some(random, GROUP_NAMES, 0.15).map((group) => ({
      group,
      slots: random.intBetween(0, 4),
    })),
    borrow: feature === null && random.chance(0.35) ? generateBorrow(random) : null,
    queue:
      feature === null && index === queueBlock
        ? { priority: some(random, GROUP_NAMES, 0.5), maxWaiting: random.pick([1, 2, 1_000]) }
        : null,
  }));
}

const generateBorrow = (random: SeededRandom): RuleBlock["borrow"] => ({
  deny: some(random, GROUP_NAMES, 0.1),
  allowOnly: random.chance(0.2) ? [random.pick(GROUP_NAMES), random.pick(GROUP_NAMES)] : null,
  maxHours: random.chance(0.4) ? random.pick([1, 3, 10]) : null,
  maxSlots: maybe(random, 0.3, 3),
  keepHome: maybe(random, 0.3, 3),
});
