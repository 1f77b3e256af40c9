import * as fc from "fast-check";
import type { Command } from "../../src/domain/decide.ts";
import { DAY, MINUTE } from "../../src/domain/time.ts";
import { makeRequestCommand, requestIdFor, VENDOR } from "./new-site.ts";
import { nextStatement } from "./statements.ts";
import { dispatch, dropPlace, movePlace, placeFacts, takePlace } from "./queue-commands.ts";
import { applyRules, group, named, NO_RULES, poolRules, reserve, ruleSet } from "./rule-sets.ts";
import {
  borrow,
  consume,
  consumeFeature,
  consumptionTerms,
  deniedEpisode,
  featureTerms,
  install,
  MONDAY,
  register,
  registerFeature,
  releaseFeature,
  remove,
  unregister,
  unregisterAll,
} from "./scenario.ts";

/** A command, and the time since the one before. */
export interface CommandStep {
  readonly after: number;
  readonly command: Command;
}

// Names of built-in object properties, and one with characters that need escaping.
const user = fc.constantFrom("ada", "bob", "constructor", "__proto__", "toString", 'ä\n\u2028"🙂');
const product = fc.constantFrom("cad", "constructor", "__proto__");
const code = fc.constantFrom("view", "constructor", "__proto__");
const nonceDigest = fc.constantFrom(null, "a".repeat(64), "b".repeat(64));
const once = fc.constantFrom(
  null,
  { key: "__proto__", fingerprint: "a" },
  { key: "k", fingerprint: "a" },
  { key: "k", fingerprint: "b" },
);

/** A license id belongs to one product permanently, so it is derived from the product. */
const installCommand = fc
  .record({
    product,
    id: fc.constantFrom(0, 1),
    slots: fc.constantFrom(1, 3),
    codes: fc.subarray(["view", "constructor", "__proto__"]),
  })
  .map(({ product: productCode, id, slots, codes }) =>
    install(1 + 10 * ["cad", "constructor", "__proto__"].indexOf(productCode) + id, {
      product: productCode,
      slots,
      consumption: consumptionTerms({
        max: null,
        negative: true,
        period: id === 0 ? "daily" : null,
      }),
      features: codes.map((featureCode) =>
        featureTerms(featureCode, {
          floating: { slots: 2, timeoutMinutes: 20 },
          consumption: consumptionTerms({ max: 9, period: "weekly" }),
        }),
      ),
    }),
  );

const RULE_SETS = [
  NO_RULES,
  ruleSet(
    [
      group("proto", { users: ["__proto__", "ada"] }),
      group("constructor", { hosts: ["__proto__"] }),
    ],
    poolRules("cad", {
      reservations: [reserve("constructor", 1), reserve("proto", 1, "lend")],
      queue: { line: 1, priority: ["proto"], holdSeconds: 30, maxWaiting: 3 },
    }),
    poolRules("__proto__", { deny: named("proto"), eachHost: { slots: 1, line: 2 } }),
  ),
  ruleSet(
    [group("__proto__", { users: ["b*", "c*"] })],
    poolRules("cad", { allowOnly: named("__proto__"), eachUser: { slots: 1, line: 3 } }),
    poolRules("constructor", { groupLimits: [{ group: "__proto__", slots: 1, line: 4 }] }),
  ),
];

const LICENSES = [1, 2, 11, 12, 21, 22];
const OTHER_VENDOR = { ...VENDOR, vendor: "VENDOR0000000002", products: ["other"] };

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: installCommand },
  fc.tuple(fc.constantFrom(...LICENSES), fc.boolean()).map(([id, all]) => remove(id, all)),
  fc.uuid().map((id) => makeRequestCommand(`request ${id}`)),
  fc.constantFrom(...LICENSES, 99).map((id): Command => ({
    type: "CancelRequest",
    request: requestIdFor(id),
    peer: "10.0.0.9",
  })),
  fc.integer({ min: 1, max: 3 }).map((version): Command => ({
    type: "TrustVendor",
    vendor: { ...OTHER_VENDOR, version },
    peer: "10.0.0.9",
  })),
  fc
    .constantFrom(OTHER_VENDOR.vendor, VENDOR.vendor)
    .map((vendor): Command => ({ type: "DistrustVendor", vendor, peer: "10.0.0.9" })),
  {
    weight: 6,
    arbitrary: fc
      .record({ user, product, info: fc.constantFrom("", "__proto__"), nonceDigest })
      .map(({ user: name, product: productCode, info, nonceDigest: digest }) =>
        register(name, {
          product: productCode,
          nonceDigest: digest,
          contact: { hostname: name, ip: "", info, peer: "10.0.0.7" },
        }),
      ),
  },
  {
    weight: 3,
    arbitrary: fc
      .record({ user, product, once, nonceDigest })
      .map(({ user: name, ...fields }) => borrow(name, null, fields)),
  },
  fc
    .record({ user, product })
    .map((fields) => unregister(fields.user, { product: fields.product })),
  fc.option(product).map((productCode) => unregisterAll(productCode)),
  {
    weight: 4,
    arbitrary: fc
      .record({
        user,
        product,
        licenseId: fc.constantFrom(null, null, 1, 2, 11),
        host: fc.constantFrom("desk", "__proto__"),
      })
      .map(({ user: name, host, ...fields }) =>
        takePlace(name, { ...fields, facts: placeFacts({ host }) }),
      ),
  },
  {
    weight: 4,
    arbitrary: fc
      .record({ product, lapsed: fc.constantFrom([], [], [], ["__proto__"], ["ada", "bob"]) })
      .map((fields) => dispatch(fields.product, fields.lapsed)),
  },
  fc.constantFrom(...RULE_SETS).map((rules) => applyRules(rules)),
  fc.record({ user, product }).map((fields) => movePlace(fields.user, fields.product)),
  fc.record({ user, product }).map((fields) => dropPlace(fields.user, fields.product)),
  {
    weight: 3,
    arbitrary: fc
      .record({ user, code, product })
      .map((fields) => registerFeature(fields.user, fields.code, { product: fields.product })),
  },
  fc
    .record({ user, code, product })
    .map((fields) => releaseFeature(fields.user, fields.code, { product: fields.product })),
  fc.constant<Command>({ type: "FeatureReleaseAll", peer: "10.0.0.9" }),
  {
    weight: 2,
    arbitrary: fc
      .record({ product, once, count: fc.integer({ min: -2, max: 5 }) })
      .map(({ count, ...fields }) => consume(count, fields)),
  },
  fc
    .record({ code, product, count: fc.integer({ min: 1, max: 4 }) })
    .map((fields) => consumeFeature(fields.code, fields.count, { product: fields.product })),
  fc
    .record({ product, feature: fc.option(code), user, attempts: fc.integer({ min: 1, max: 50 }) })
    .map((demand): Command => ({ type: "ObserveEpisodes", episodes: [deniedEpisode(demand)] })),
  fc
    .record({
      product,
      feature: fc.option(code),
      user,
      outcome: fc.constantFrom("left", "granted"),
    })
    .map(({ outcome, ...demand }): Command => ({
      type: "EndEpisodes",
      episodes: [{ ...deniedEpisode(demand), outcome, endedAt: MONDAY }],
    })),
  fc.constant<Command>({ type: "SettleExpiries", vendor: VENDOR.vendor }),
  fc.integer({ min: 1, max: 2 }).map((n): Command => {
    const first = { ...nextStatement(null, MONDAY, "statement 1"), at: MONDAY };
    const statement = n === 1 ? first : nextStatement(first, MONDAY, "statement 2");
    return { type: "MakeStatement", vendor: VENDOR.vendor, statement, peer: "10.0.0.9" };
  }),
  fc.integer({ min: 1, max: 2 }).map((n): Command => {
    const { digest } = nextStatement(null, MONDAY, `statement ${n}`);
    return {
      type: "AcknowledgeStatement",
      vendor: VENDOR.vendor,
      n,
      digest,
      peer: "10.0.0.9",
    };
  }),
  fc
    .record({
      product: fc.option(product),
      feature: fc.option(code),
      code: fc.constantFrom("__proto__", "unknown_product"),
    })
    .map((fields): Command => ({
      type: "CountRefusals",
      refusals: [{ ...fields, count: 3, users: ["__proto__"] }],
    })),
);

const after = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 40 }).map((count) => count * MINUTE) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 20 }).map((count) => count * DAY) },
);

/** A random sequence of commands; the first one installs a license. */
export const randomCommandSteps = (maxLength: number): fc.Arbitrary<CommandStep[]> =>
  fc
    .tuple(
      fc.record({ after, command: installCommand }),
      fc.array(fc.record({ after, command }), { maxLength, size: "max" }),
    )
    .map(([first, rest]) => [first, ...rest]);
