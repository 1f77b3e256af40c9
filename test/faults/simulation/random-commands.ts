// What people ask of a site, from a seed: every command there is, mostly plausible, sometimes not.
import type { Command, InstallLicense, IdempotencyKey } from "../../../src/domain/command.ts";
import type { Contact } from "../../../src/domain/registration.ts";
import type { State, TrustedVendor } from "../../../src/domain/state.ts";
import { DAY, HOUR, later, latest, MINUTE, type Instant } from "../../../src/domain/time.ts";
import type { ChainHead } from "../../../src/store/journal.ts";
import { makeGrant, HARDWARE, HARDWARE_ID, VENDOR } from "../../support/new-site.ts";
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
} from "../../support/scenario.ts";
import type { SeededRandom } from "../../support/seeded-random.ts";

// Most names are as long as the others, and so are the lines they make: what is left of a line that
// was cut off can then look like the beginning of the next.
const USERS = [
  ...Array.from({ length: 16 }, (_, place) => `user-${10 + place}`),
  "constructor",
  "__proto__",
  'ä\n\u2028"🙂',
];
const PRODUCTS = ["cad", "cam", "constructor", "__proto__"];
const FEATURES = ["view", "plot", "__proto__"];
const OTHER: TrustedVendor = {
  ...VENDOR,
  vendor: "VENDOR0000000002",
  products: ["other"],
  keys: [{ kty: "OKP", crv: "Ed25519", x: "y".repeat(43) }],
};
const PEER = "10.0.0.7";

const WEIGHTS: Readonly<Record<Command["type"], number>> = {
  Create: 0,
  Register: 34,
  Borrow: 7,
  Unregister: 6,
  UnregisterAll: 0.3,
  RegisterFeature: 12,
  ReleaseFeature: 4,
  ReleaseAllFeatures: 0.3,
  AddConsumption: 14,
  AddFeatureConsumption: 7,
  InstallLicense: 3,
  RemoveLicense: 0.6,
  MakeRequest: 1.6,
  MakeActivation: 1,
  TrustVendor: 0.5,
  DistrustVendor: 0.3,
  SetKeys: 0.5,
  ChangeAccess: 0.3,
  MoveAway: 0,
  DeclareAuditGaps: 0,
  MarkClock: 1,
  AskClock: 0.5,
  // The store puts jumps on record by itself.
  JumpClock: 0,
  SetClockBack: 0.4,
  CountRefusals: 1.5,
};

export interface CommandContext {
  readonly random: SeededRandom;
  readonly state: State;
  readonly head: ChainHead;
  readonly at: Instant;
  /** What a vendor's clock says. */
  readonly trueNow: Instant;
  /** Never the same twice. */
  readonly operationNumber: number;
}

export const randomCommand = (asking: CommandContext): Command =>
  MAKERS[nextSetupCommand(asking) ?? asking.random.pickWeighted(WEIGHTS)](asking);

/** What a site needs first: a vendor, a request, and a license in answer to it. */
function nextSetupCommand({
  random: dice,
  state,
  at,
  trueNow,
}: CommandContext): Command["type"] | null {
  // A clock that is far ahead is put right before long.
  if (at - trueNow > HOUR && dice.chance(0.03)) {
    return state.clockNonce === null ? "AskClock" : "SetClockBack";
  }
  if (!state.vendors.has(VENDOR.vendor)) return dice.chance(0.3) ? "TrustVendor" : null;
  if (state.licenses.size > 2 || dice.chance(0.7)) return null;
  return state.requests.size === 0 ? "MakeRequest" : "InstallLicense";
}

type CommandMaker = (asking: CommandContext) => Command;

const MAKERS: Readonly<Record<Command["type"], CommandMaker>> = {
  DeclareAuditGaps: () => ({ type: "DeclareAuditGaps", gaps: [], note: "", peer: PEER }),
  Create: () => ({ type: "Create", kind: "site", appliance: "" }),
  Register: (asking) =>
    register(user(asking.random), { ...aim(asking), contact: contact(asking.random) }),
  Borrow: (asking) => {
    const { random: dice, at } = asking;
    const until = dice.chance(0.6) ? null : later(at, dice.intBetween(-1, 30) * HOUR);
    return borrow(user(dice), until, { ...aim(asking), once: once(dice) });
  },
  Unregister: (asking) => {
    const { random: dice } = asking;
    return unregister(user(dice), { ...aim(asking), by: dice.pick(["user", "admin"]) });
  },
  UnregisterAll: ({ random: dice }) => unregisterAll(dice.chance(0.3) ? null : dice.pick(PRODUCTS)),
  RegisterFeature: (asking) =>
    registerFeature(user(asking.random), asking.random.pick(FEATURES), aim(asking)),
  ReleaseFeature: (asking) =>
    releaseFeature(user(asking.random), asking.random.pick(FEATURES), aim(asking)),
  ReleaseAllFeatures: () => ({ type: "ReleaseAllFeatures", peer: PEER }),
  AddConsumption: (asking) => {
    const { random: dice } = asking;
    const who = dice.chance(0.5) ? null : user(dice);
    const limit = dice.chance(0.1) && { maxOverages: dice.intBelow(4) };
    return consume(dice.intBetween(-2, 6), {
      ...aim(asking),
      user: who,
      once: once(dice),
      ...limit,
    });
  },
  AddFeatureConsumption: (asking) => {
    const { random: dice } = asking;
    const told = { ...aim(asking), once: once(dice) };
    return consumeFeature(dice.pick(FEATURES), dice.intBetween(0, 4), told);
  },
  InstallLicense: randomLicense,
  RemoveLicense: ({ random: dice, state }) =>
    remove(dice.pick([...state.licenses.keys(), 99]), dice.chance(0.5)),
  MakeRequest: ({ random: dice, head, operationNumber: number }) => ({
    type: "MakeRequest",
    request: {
      request: `request ${number}`,
      nonce: `nonce ${number}`,
      product: dice.chance(0.5) ? null : dice.pick(PRODUCTS),
      licenseKey: null,
      hardwareId: HARDWARE_ID,
      hardware: HARDWARE,
    },
    head: { auditSeq: head.auditSeq, auditSum: head.auditSum },
    peer: PEER,
  }),
  MakeActivation: ({ operationNumber: number }) => ({
    type: "MakeActivation",
    activation: {
      nonce: number.toString(16).padStart(10, "0"),
      licenseKey: `key ${number % 7}`,
      initializationCode: "",
      hardwareId: HARDWARE_ID,
      hardware: HARDWARE,
    },
    peer: PEER,
  }),
  TrustVendor: ({ random: dice, operationNumber: number }) => {
    const vendor = dice.chance(0.6) ? VENDOR : OTHER;
    return { type: "TrustVendor", vendor: { ...vendor, version: 1 + (number >> 10) }, peer: PEER };
  },
  DistrustVendor: ({ random: dice }) => ({
    type: "DistrustVendor",
    vendor: dice.pick([OTHER, OTHER, VENDOR]).vendor,
    peer: PEER,
  }),
  MoveAway: () => ({ type: "MoveAway", move: "a move", peer: PEER }),
  ChangeAccess: ({ random: dice }) => ({
    type: "ChangeAccess",
    change: dice.pick(["token_made", "user_set"] as const),
    name: "ops",
    peer: PEER,
  }),
  SetKeys: ({ random: dice }) => ({
    type: "SetKeys",
    changed: [dice.pick(["a", "b"])],
    peer: PEER,
  }),
  MarkClock: () => ({ type: "MarkClock" }),
  AskClock: ({ operationNumber: number }) => ({
    type: "AskClock",
    nonce: `asked ${number}`,
    peer: PEER,
  }),
  JumpClock: ({ at }) => ({ type: "JumpClock", from: at, to: at, reason: "step" }),
  SetClockBack: ({ random: dice, state, at, trueNow }) => ({
    type: "SetClockBack",
    // Never before the true time, which a vendor knows; sometimes not all the way.
    to: dice.chance(0.7)
      ? trueNow
      : latest(
          trueNow,
          later(at, -dice.pick([MINUTE, HOUR, DAY, 20 * DAY, 60 * DAY]) * dice.intBelow(3)),
        ),
    nonce: dice.chance(0.8) ? state.clockNonce : null,
    peer: PEER,
  }),
  CountRefusals: ({ random: dice }) => ({
    type: "CountRefusals",
    refusals: Array.from({ length: dice.intBetween(1, 3) }, () => ({
      product: dice.chance(0.5) ? null : dice.pick(PRODUCTS),
      code: dice.pick(["unknown_product", "floating_not_available", "__proto__"]),
      count: dice.intBetween(1, 9),
      users: [user(dice)],
    })),
  }),
};

const user = (dice: SeededRandom): string => dice.pick(USERS);

const aim = ({ random: dice, state }: CommandContext) => ({
  product: dice.chance(0.05) ? null : dice.pick(known(dice, state.products.keys())),
  licenseId: dice.chance(0.05) ? dice.intBetween(1, 8) : null,
});

/** What is installed, mostly. */
function known(dice: SeededRandom, installed: Iterable<string>): readonly string[] {
  const codes = dice.chance(0.05) ? [] : [...installed];
  return codes.length === 0 ? PRODUCTS : codes;
}

/** Mostly the same as ever: a renewal from another machine is audited once a day at most. */
const contact = (dice: SeededRandom): Contact => {
  const hostname = dice.chance(0.1) ? "other" : "desk";
  // A borrow that says something new of itself is two lines.
  return { hostname, ip: PEER, info: hostname === "other" ? "busy" : "", peer: PEER };
};

const once = (dice: SeededRandom): IdempotencyKey | null =>
  dice.chance(0.6)
    ? null
    : { key: `key-${dice.intBelow(40)}`, fingerprint: dice.pick(["a", "a", "a", "b"]) };

/** In answer to what is open, or a newer serial of what is there; sometimes a file used before. */
function randomLicense({ random: dice, state, at }: CommandContext): InstallLicense {
  const license = dice.intBetween(1, 8);
  const known = state.licenses.get(license);
  const product = PRODUCTS[license % PRODUCTS.length] ?? "cad";
  const granted = terms({
    product,
    slots: dice.pick([0, 3, 3, 9, 20]),
    timeoutMinutes: dice.pick([5, 30, 600]),
    borrowHours: dice.pick([null, 24, 72, 720]),
    earlyReturn: dice.chance(0.7),
    validUntil: dice.chance(0.2) ? later(at, dice.intBetween(1, 90) * DAY) : null,
    consumption: dice.chance(0.7)
      ? consumptionTerms({
          max: dice.pick([null, 50, 5_000]),
          overages: dice.intBelow(3),
          negative: dice.chance(0.5),
          period: dice.pick([null, "daily", "weekly", "monthly", "annually"]),
        })
      : null,
    features: FEATURES.filter(() => dice.chance(0.8)).map((code) =>
      featureTerms(code, {
        floating: dice.chance(0.8) ? { slots: dice.intBetween(0, 6), timeoutMinutes: 20 } : null,
        consumption: dice.chance(0.6)
          ? consumptionTerms({ max: dice.pick([9, 1_000]), period: "daily" })
          : null,
      }),
    ),
  });
  const newest = known?.grant.serial ?? state.tombstones.get(license)?.serial ?? 0;
  const serial = newest + (dice.chance(0.9) ? 1 : 0);
  const { hardware: _hardware, ...grant } = makeGrant(license, granted, serial);
  const [request] = [...state.requests.values()].toReversed();
  const [activation] = state.activations.keys();
  const answers = dice.pick([
    request === undefined ? null : { request: request.request, nonce: request.nonce },
    activation === undefined || known === undefined ? null : { activation },
  ]);
  return { type: "InstallLicense", license, terms: granted, grant, answers, peer: PEER };
}
