// Makes random commands from a seed: every type of command, mostly plausible, sometimes not.
import * as fc from "fast-check";
import type { Command } from "../../src/domain/decide.ts";
import type { AirgapLicense } from "../../src/domain/requests/airgap-license.ts";
import type { LicenseUpload } from "../../src/domain/requests/license-upload.ts";
import type { Episode } from "../../src/domain/model/demand/episode.ts";
import type { IdempotencyKey } from "../../src/domain/idempotency/idempotency.ts";
import type { Contact } from "../../src/domain/model/slots/contact.ts";
import type { State, TrustedVendor } from "../../src/domain/model/state.ts";
import { DAY, HOUR, later, latest, MINUTE, SECOND, type Instant } from "../../src/domain/time.ts";
import type { ChainHead } from "../../src/store/journal/journal.ts";
import { makeContact } from "./contact.ts";
import { AUDIT_HEAD, HARDWARE, HARDWARE_ID, makeGrant, SIGNER, VENDOR } from "./new-site.ts";
import { nextStatement } from "./statements.ts";
import { dispatch, dropPlace, movePlace, placeFacts, takePlace } from "./queue-commands.ts";
import {
  borrow,
  consume,
  consumeFeature,
  consumptionTerms,
  featureTerms,
  register,
  registerFeature,
  releaseFeature,
  remove,
  terms,
  unregister,
  unregisterAll,
} from "./scenario.ts";
import { SeededRandom } from "./seeded-random.ts";
import type { RuleSet } from "../../src/domain/model/rules/rule-set.ts";
import { applyRules, group, named, NO_RULES, poolRules, reserve, ruleSet } from "./rule-sets.ts";

// Most names have the same length, and so do their journal lines: the rest of a line that was cut
// off can then look like the beginning of the next.
export const USERS = [
  ...Array.from({ length: 16 }, (_, index) => `user-${10 + index}`),
  "constructor",
  "__proto__",
  'ä\n\u2028"🙂',
];
const PRODUCTS = ["cad", "cam", "constructor", "__proto__"];
const FEATURES = ["view", "plot", "__proto__"];
const OTHER_VENDOR: TrustedVendor = {
  ...VENDOR,
  vendor: "VENDOR0000000002",
  products: ["other"],
  jwk: { kty: "OKP", crv: "Ed25519", x: "y".repeat(43) },
};
const HOSTS = ["alpha", "beta", "__proto__"];
const PEER = "10.0.0.7";

const WEIGHTS: Readonly<Record<Command["type"], number>> = {
  Create: 0,
  Register: 34,
  Borrow: 7,
  Unregister: 6,
  UnregisterAll: 0.3,
  TakePlace: 8,
  Dispatch: 10,
  MovePlace: 0.5,
  DropPlace: 0.5,
  FeatureRegister: 12,
  FeatureRelease: 4,
  FeatureReleaseAll: 0.3,
  AddConsumption: 14,
  AddFeatureConsumption: 7,
  LicenseUpload: 3,
  // The maker of LicenseUpload makes these too.
  AirgapLicense: 0,
  LicenseRemove: 0.6,
  LicenseGenerate: 1.6,
  AirgapGenerate: 1,
  CancelRequest: 0.5,
  TrustVendor: 0.5,
  DistrustVendor: 0.3,
  SetKeys: 0.5,
  ChangeAccess: 0.3,
  ChangeSettings: 0.3,
  MoveAway: 0,
  SettleExpiries: 0.5,
  MakeStatement: 0.5,
  AcknowledgeStatement: 0.3,
  DeclareAuditGaps: 0,
  MarkClock: 1,
  AskClock: 0.5,
  // The store writes clock jumps by itself.
  JumpClock: 0,
  SetClockBack: 0.4,
  ObserveEpisodes: 1.5,
  EndEpisodes: 1,
  CountRefusals: 1.5,
  ApplyRules: 0.5,
  RecallReservation: 1,
  AdmitHost: 0.3,
  ChangeLeader: 0.5,
  LeavePair: 0.1,
};

export interface CommandContext {
  readonly random: SeededRandom;
  readonly state: State;
  readonly head: ChainHead;
  readonly at: Instant;
  /** The true time, which a vendor's clock shows. */
  readonly trueNow: Instant;
  /** Unique in a run. */
  readonly operationNumber: number;
}

export const randomCommand = (context: CommandContext): Command =>
  MAKERS[nextSetupCommand(context) ?? context.random.pickWeighted(WEIGHTS)](context);

/** The next command that sets up the site: a vendor, a request, or a license that answers it. */
function nextSetupCommand({ random, state, at, trueNow }: CommandContext): Command["type"] | null {
  // A clock that is far ahead is soon corrected.
  if (at - trueNow > HOUR && random.chance(0.03)) {
    return state.clockNonce === null ? "AskClock" : "SetClockBack";
  }
  if (!state.vendors.has(VENDOR.vendor)) return random.chance(0.3) ? "TrustVendor" : null;
  if (state.licenses.size > 2 || random.chance(0.7)) return null;
  return state.requests.size === 0 ? "LicenseGenerate" : "LicenseUpload";
}

/** A step of a property test: a command, which `makeStepCommand` makes from the seed. */
export interface CommandStep {
  /** The time since the step before, in milliseconds. */
  readonly after: number;
  readonly seed: number;
}

export const randomCommandSteps = (maxLength: number): fc.Arbitrary<CommandStep[]> =>
  fc.array(fc.record({ after: stepDelay, seed: fc.integer({ min: 1, max: 1_000_000 }) }), {
    minLength: 1,
    maxLength: maxLength + 1,
    size: "max",
  });

const stepDelay = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 40 }).map((count) => count * MINUTE) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 20 }).map((count) => count * DAY) },
);

/** The command of a step in this state. The sequences are short, so most commands must succeed. */
export function makeStepCommand({ seed }: CommandStep, state: State, at: Instant): Command {
  const random = new SeededRandom(seed);
  const head = { seq: 9, sum: "", ...AUDIT_HEAD };
  const context = { random, state, head, at, trueNow: at, operationNumber: seed % 5_000 };
  if (state.licenses.size === 0) return randomLicense(context);
  if (random.chance(0.03)) return applyRules(random.pick(RULE_SETS));
  const command = randomCommand(context);
  const nonceDigest = random.pick([null, "a".repeat(64), "b".repeat(64)]);
  if (command.type === "Register" || command.type === "Borrow") return { ...command, nonceDigest };
  const holders = [...state.licenses.values()].flatMap(({ pool }) => [...pool.inSlotOrder()]);
  return /^(?:Feature|Unregister)/.test(command.type) && "user" in command && holders.length > 0
    ? { ...command, user: random.pick(holders).user }
    : command;
}

/** Every kind of rule, with the names of properties that all objects have. */
const RULE_SETS = [
  NO_RULES,
  ruleSet(
    [
      group("proto", { users: ["__proto__", "user-1*"] }),
      group("constructor", { hosts: ["other"] }),
    ],
    poolRules("cad", {
      reservations: [reserve("constructor", 1), reserve("proto", 1, "lend")],
      queue: { line: 1, priority: ["proto"], holdSeconds: 30, maxWaiting: 3 },
    }),
    poolRules("__proto__", { deny: named("proto"), eachHost: { slots: 1, line: 2 } }),
  ),
  ruleSet(
    [group("__proto__", { users: ["user-2*", "c*"] })],
    poolRules("cad", { allowOnly: named("__proto__"), eachUser: { slots: 1, line: 3 } }),
    poolRules("constructor", { groupLimits: [{ group: "__proto__", slots: 1, line: 4 }] }),
  ),
];

type CommandMaker = (context: CommandContext) => Command;

const MAKERS: Readonly<Record<Command["type"], CommandMaker>> = {
  DeclareAuditGaps: () => ({ type: "DeclareAuditGaps", gaps: [], note: "", peer: PEER }),
  Create: () => ({ type: "Create", kind: "site", appliance: "" }),
  Register: (context) =>
    register(randomUser(context.random), {
      ...randomTarget(context),
      contact: randomContact(context.random),
    }),
  Borrow: (context) => {
    const { random, at } = context;
    const until = random.chance(0.6) ? null : later(at, random.intBetween(-1, 30) * HOUR);
    return borrow(randomUser(random), until, {
      ...randomTarget(context),
      once: randomIdempotencyKey(random),
    });
  },
  Unregister: (context) => {
    const { random } = context;
    return unregister(randomUser(random), {
      ...randomTarget(context),
      by: random.pick(["user", "admin"]),
    });
  },
  UnregisterAll: ({ random }) => unregisterAll(random.chance(0.3) ? null : random.pick(PRODUCTS)),
  TakePlace: (context) =>
    takePlace(randomUser(context.random), {
      ...randomTarget(context),
      facts: placeFacts({ host: context.random.chance(0.9) ? "desk" : "other" }),
    }),
  Dispatch: ({ random, state }) =>
    dispatch(
      random.pick(knownProducts(random, state.products.keys())),
      random.chance(0.9) ? [] : [randomUser(random)],
    ),
  MovePlace: ({ random, state }) => movePlace(...randomPlace(random, state)),
  DropPlace: ({ random, state }) => dropPlace(...randomPlace(random, state)),
  FeatureRegister: (context) =>
    registerFeature(
      randomUser(context.random),
      context.random.pick(FEATURES),
      randomTarget(context),
    ),
  FeatureRelease: (context) =>
    releaseFeature(
      randomUser(context.random),
      context.random.pick(FEATURES),
      randomTarget(context),
    ),
  FeatureReleaseAll: () => ({ type: "FeatureReleaseAll", peer: PEER }),
  AddConsumption: (context) => {
    const { random } = context;
    const user = random.chance(0.5) ? null : randomUser(random);
    const limit = random.chance(0.1) && { maxOverages: random.intBelow(4) };
    return consume(random.intBetween(-2, 6), {
      ...randomTarget(context),
      user,
      once: randomIdempotencyKey(random),
      ...limit,
    });
  },
  AddFeatureConsumption: (context) => {
    const { random } = context;
    const options = { ...randomTarget(context), once: randomIdempotencyKey(random) };
    return consumeFeature(random.pick(FEATURES), random.intBetween(0, 4), options);
  },
  LicenseUpload: randomLicense,
  AirgapLicense: randomLicense,
  LicenseRemove: ({ random, state }) =>
    remove(random.pick([...state.licenses.keys(), 99]), random.chance(0.5)),
  LicenseGenerate: ({ random, head, operationNumber }) => ({
    type: "LicenseGenerate",
    request: {
      request: `request ${operationNumber}`,
      nonce: `nonce ${operationNumber}`,
      product: random.chance(0.5) ? null : random.pick(PRODUCTS),
      licenseKey: null,
      hardwareId: HARDWARE_ID,
      hardware: HARDWARE,
    },
    head: { auditSeq: head.auditSeq, auditSum: head.auditSum },
    peer: PEER,
  }),
  AirgapGenerate: ({ operationNumber }) => ({
    type: "AirgapGenerate",
    activation: {
      nonce: operationNumber.toString(16).padStart(10, "0"),
      licenseKey: `key ${operationNumber % 7}`,
      initializationCode: "",
      hardwareId: HARDWARE_ID,
      hardware: HARDWARE,
    },
    peer: PEER,
  }),
  CancelRequest: ({ random, state }) => ({
    type: "CancelRequest",
    request: random.pick([...state.requests.keys(), ...state.activations.keys(), "unknown"]),
    peer: PEER,
  }),
  TrustVendor: ({ random, operationNumber }) => {
    const { notice: _notice, ...trust } = random.chance(0.6) ? VENDOR : OTHER_VENDOR;
    const version = 1 + (operationNumber >> 10);
    // Hardly ever the key that signs the licenses here.
    const retired = random.chance(0.02) ? [SIGNER.key] : ["KEY0000000000009"];
    const document = `trust ${version} ${retired.join(" ")}`;
    return {
      type: "TrustVendor",
      trust: { ...trust, version, retired, document },
      peer: PEER,
    };
  },
  DistrustVendor: ({ random }) => ({
    type: "DistrustVendor",
    vendor: random.pick([OTHER_VENDOR, OTHER_VENDOR, VENDOR]).vendor,
    peer: PEER,
  }),
  SettleExpiries: () => ({ type: "SettleExpiries", vendor: VENDOR.vendor }),
  MakeStatement: ({ random, state, at, operationNumber }) => {
    const last = state.statementChains.get(VENDOR.vendor)?.statements.at(-1);
    const statement = nextStatement(last ?? null, at, `statement ${operationNumber}`);
    const isWrong = random.chance(0.1) && { previous: "f".repeat(64) };
    const changed = { ...statement, ...isWrong };
    return { type: "MakeStatement", vendor: VENDOR.vendor, statement: changed, peer: PEER };
  },
  AcknowledgeStatement: ({ random, state }) => {
    const statements = state.statementChains.get(VENDOR.vendor)?.statements ?? [];
    const { n, digest } =
      statements.length > 0 ? random.pick(statements) : { n: 1, digest: "f".repeat(64) };
    const vendor = VENDOR.vendor;
    return { type: "AcknowledgeStatement", vendor, n, digest, signer: SIGNER, peer: PEER };
  },
  MoveAway: () => ({ type: "MoveAway", move: "a move", peer: PEER }),
  ChangeAccess: ({ random }) => ({
    type: "ChangeAccess",
    change: random.pick(["token_made", "user_set"] as const),
    name: "ops",
    peer: PEER,
  }),
  ChangeSettings: ({ random }) => ({
    type: "ChangeSettings",
    changes: [{ name: "site_name", from: "a", to: random.pick(["b", "c"]) }],
    peer: PEER,
  }),
  SetKeys: ({ random }) => ({
    type: "SetKeys",
    changed: [random.pick(["a", "b"])],
    peer: PEER,
  }),
  MarkClock: () => ({ type: "MarkClock" }),
  AskClock: ({ operationNumber }) => ({
    type: "AskClock",
    nonce: `asked ${operationNumber}`,
    peer: PEER,
  }),
  JumpClock: ({ at }) => ({ type: "JumpClock", from: at, to: at, reason: "step" }),
  SetClockBack: ({ random, state, at, trueNow }) => ({
    type: "SetClockBack",
    // Never before the true time, which a vendor knows; sometimes later than it.
    to: random.chance(0.7)
      ? trueNow
      : latest(
          trueNow,
          later(at, -random.pick([MINUTE, HOUR, DAY, 20 * DAY, 60 * DAY]) * random.intBelow(3)),
        ),
    nonce: random.chance(0.8) ? state.clockNonce : null,
    peer: PEER,
  }),
  ObserveEpisodes: (context) => ({
    type: "ObserveEpisodes",
    episodes: Array.from({ length: context.random.intBetween(1, 3) }, () => randomEpisode(context)),
  }),
  EndEpisodes: (context) => {
    const { random, state, at } = context;
    const open = [...state.openEpisodes.values()];
    const episode =
      open.length > 0 && random.chance(0.8) ? random.pick(open) : randomEpisode(context);
    const outcome = random.pick(["granted", "gave_up", "left"] as const);
    return { type: "EndEpisodes", episodes: [{ ...episode, outcome, endedAt: at }] };
  },
  CountRefusals: ({ random }) => ({
    type: "CountRefusals",
    refusals: Array.from({ length: random.intBetween(1, 3) }, () => ({
      product: random.chance(0.5) ? null : random.pick(PRODUCTS),
      feature: random.chance(0.7) ? null : random.pick(FEATURES),
      code: random.pick(["unknown_product", "floating_not_available", "__proto__"]),
      count: random.intBetween(1, 9),
      users: [randomUser(random)],
    })),
  }),
  ApplyRules: ({ random }) => applyRules(randomRules(random)),
  AdmitHost: ({ random }) => ({
    type: "AdmitHost",
    log: "log",
    host: random.pick(HOSTS),
    hardwareId: HARDWARE_ID,
    hardware: HARDWARE,
    peer: PEER,
  }),
  ChangeLeader: ({ random, state }) => ({
    type: "ChangeLeader",
    log: "log",
    hardware: HARDWARE,
    epoch: (state.pair?.epoch ?? 0) + 1,
    host: random.pick(HOSTS),
    hardwareId: HARDWARE_ID,
  }),
  LeavePair: ({ random }) => ({
    type: "LeavePair",
    host: random.pick(HOSTS),
    hardware: HARDWARE,
    isWithoutLog: random.chance(0.5),
    peer: PEER,
  }),
  RecallReservation: ({ random }) => ({
    type: "RecallReservation",
    product: random.pick(PRODUCTS),
    feature: random.chance(0.7) ? null : random.pick(FEATURES),
    group: random.pick(["team", "user-10"]),
  }),
};

/** Often none, and never so narrow that a site stands still. */
function randomRules(random: SeededRandom): RuleSet {
  if (random.chance(0.3)) return NO_RULES;
  const groups = [group("team", { users: ["user-1*"] }), group("user-10", { users: ["user-10"] })];
  const pools = PRODUCTS.filter(() => random.chance(0.6)).map((product) =>
    poolRules(product, {
      feature: random.chance(0.3) ? random.pick(FEATURES) : null,
      deny: random.chance(0.2) ? named("user-10") : [],
      reservations: random.chance(0.5) ? [reserve("team", 2, random.pick(["keep", "lend"]))] : [],
      eachUser: random.chance(0.3) ? { slots: 1, line: 3 } : null,
      eachHost: random.chance(0.3) ? { slots: random.intBetween(1, 5), line: 4 } : null,
    }),
  );
  return pools.length === 0 ? NO_RULES : ruleSet(groups, ...pools);
}

const randomUser = (random: SeededRandom): string => random.pick(USERS);

/** Mostly a user who waits, and the product. */
function randomPlace(random: SeededRandom, state: State): [string, string] {
  const places = [...state.queues].flatMap(({ product, places: all }) =>
    [...all].map(({ user }): [string, string] => [user, product]),
  );
  return places.length === 0 || random.chance(0.1)
    ? [randomUser(random), random.pick(PRODUCTS)]
    : random.pick(places);
}

const randomTarget = ({ random, state }: CommandContext) => ({
  product: random.chance(0.05) ? null : random.pick(knownProducts(random, state.products.keys())),
  licenseId: random.chance(0.05) ? random.intBetween(1, 8) : null,
});

/** Product codes to choose from: mostly the installed ones. */
function knownProducts(random: SeededRandom, installed: Iterable<string>): readonly string[] {
  const codes = random.chance(0.05) ? [] : [...installed];
  return codes.length === 0 ? PRODUCTS : codes;
}

/** Mostly the same contact: a renewal from another machine is audited at most once a day. */
const randomContact = (random: SeededRandom): Contact => {
  const hostname = random.chance(0.1) ? "other" : "desk";
  // A borrow with new info makes two lines.
  return makeContact({ hostname, ip: PEER, info: hostname === "other" ? "busy" : "", peer: PEER });
};

const randomIdempotencyKey = (random: SeededRandom): IdempotencyKey | null =>
  random.chance(0.6)
    ? null
    : { key: `key-${random.intBelow(40)}`, fingerprint: random.pick(["a", "a", "a", "b"]) };

/** Answers a pending request or activation, or has a newer serial; sometimes it is a license file used before. */
function randomLicense({ random, state, at }: CommandContext): LicenseUpload | AirgapLicense {
  const license = random.intBetween(1, 8);
  const installed = state.licenses.get(license);
  const product = PRODUCTS[license % PRODUCTS.length] ?? "cad";
  const granted = terms({
    product,
    slots: random.pick([0, 3, 3, 9, 20]),
    timeoutMinutes: random.pick([5, 30, 600]),
    borrowHours: random.pick([null, 24, 72, 720]),
    earlyReturn: random.chance(0.7),
    validUntil: random.chance(0.2) ? later(at, random.intBetween(1, 90) * DAY) : null,
    consumption: random.chance(0.7)
      ? consumptionTerms({
          max: random.pick([null, 50, 5_000]),
          overages: random.intBelow(3),
          negative: random.chance(0.5),
          period: random.pick([null, "daily", "weekly", "monthly", "annually"]),
        })
      : null,
    features: FEATURES.filter(() => random.chance(0.8)).map((code) =>
      featureTerms(code, {
        floating: random.chance(0.8)
          ? { slots: random.intBetween(0, 6), timeoutMinutes: 20 }
          : null,
        consumption: random.chance(0.6)
          ? consumptionTerms({ max: random.pick([9, 1_000]), period: "daily" })
          : null,
      }),
    ),
  });
  const newest = installed?.grant.serial ?? state.tombstones.get(license)?.serial ?? 0;
  const serial = newest + (random.chance(0.9) ? 1 : 0);
  const { hardware: _hardware, ...grant } = makeGrant(license, granted, serial);
  const [request] = [...state.requests.values()].toReversed();
  const [activation] = state.activations.keys();
  const fields = { license, terms: granted, grant, signer: SIGNER, peer: PEER };
  const answers = request === undefined ? null : { request: request.request, nonce: request.nonce };
  return random.pick<LicenseUpload | AirgapLicense>([
    { type: "LicenseUpload", ...fields, answers },
    activation === undefined || installed === undefined
      ? { type: "LicenseUpload", ...fields, answers: null }
      : { type: "AirgapLicense", ...fields, activation },
  ]);
}

/** Sometimes it is ahead of the clock, as after the clock was set back. */
function randomEpisode({ random, head, at }: CommandContext): Episode {
  return {
    product: random.pick(PRODUCTS),
    feature: random.chance(0.5) ? null : random.pick(FEATURES),
    user: randomUser(random),
    code: random.pick(["floating_not_available", "slots_capped"]),
    rule: random.chance(0.8) ? null : "max_slots_per_user = 3",
    peer: PEER,
    firstAt: later(at, -random.intBetween(0, 20) * MINUTE),
    lastAt: later(at, random.intBetween(-1, 1) * SECOND),
    attempts: random.intBetween(1, 50),
    firstSeq: random.intBetween(0, head.seq),
    lastSeq: head.seq,
  };
}
