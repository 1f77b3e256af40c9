import * as fc from "fast-check";
import type { Command } from "../../src/domain/command.ts";
import { DAY, MINUTE } from "../../src/domain/time.ts";
import { makeRequestCommand, VENDOR } from "./new-site.ts";
import {
  borrow,
  consume,
  consumeFeature,
  consumptionTerms,
  featureTerms,
  install,
  register,
  registerFeature,
  releaseFeature,
  remove,
  unregister,
  unregisterAll,
} from "./scenario.ts";

/** Something somebody wants, some time after the one before. */
export interface CommandStep {
  readonly after: number;
  readonly command: Command;
}

// Names that a plain object would know already, and one that is hard to write down.
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

/** Ids belong to one product for good, so they are told apart by it. */
const installing = fc
  .record({
    product,
    id: fc.constantFrom(0, 1),
    slots: fc.constantFrom(1, 3),
    codes: fc.subarray(["view", "constructor", "__proto__"]),
  })
  .map(({ product: named, id, slots, codes }) =>
    install(1 + 10 * ["cad", "constructor", "__proto__"].indexOf(named) + id, {
      product: named,
      slots,
      consumption: consumptionTerms({
        max: null,
        negative: true,
        period: id === 0 ? "daily" : null,
      }),
      features: codes.map((named_) =>
        featureTerms(named_, {
          floating: { slots: 2, timeoutMinutes: 20 },
          consumption: consumptionTerms({ max: 9, period: "weekly" }),
        }),
      ),
    }),
  );

const LICENSES = [1, 2, 11, 12, 21, 22];
const OTHER_VENDOR = { ...VENDOR, vendor: "VENDOR0000000002", products: ["other"] };

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: installing },
  fc.tuple(fc.constantFrom(...LICENSES), fc.boolean()).map(([id, all]) => remove(id, all)),
  fc.uuid().map((id) => makeRequestCommand(`request ${id}`)),
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
      .map(({ user: who, product: named, info, nonceDigest: digest }) =>
        register(who, {
          product: named,
          nonceDigest: digest,
          contact: { hostname: who, ip: "", info, peer: "10.0.0.7" },
        }),
      ),
  },
  {
    weight: 3,
    arbitrary: fc
      .record({ user, product, once, nonceDigest })
      .map(({ user: who, ...told }) => borrow(who, null, told)),
  },
  fc.record({ user, product }).map((told) => unregister(told.user, { product: told.product })),
  fc.option(product).map((named) => unregisterAll(named)),
  {
    weight: 3,
    arbitrary: fc
      .record({ user, code, product })
      .map((told) => registerFeature(told.user, told.code, { product: told.product })),
  },
  fc
    .record({ user, code, product })
    .map((told) => releaseFeature(told.user, told.code, { product: told.product })),
  fc.constant<Command>({ type: "ReleaseAllFeatures", peer: "10.0.0.9" }),
  {
    weight: 2,
    arbitrary: fc
      .record({ product, once, count: fc.integer({ min: -2, max: 5 }) })
      .map(({ count, ...told }) => consume(count, told)),
  },
  fc
    .record({ code, product, count: fc.integer({ min: 1, max: 4 }) })
    .map((told) => consumeFeature(told.code, told.count, { product: told.product })),
  fc
    .record({ product: fc.option(product), code: fc.constantFrom("__proto__", "unknown_product") })
    .map((told): Command => ({
      type: "CountRefusals",
      refusals: [{ ...told, count: 3, users: ["__proto__"] }],
    })),
);

const after = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 40 }).map((count) => count * MINUTE) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 20 }).map((count) => count * DAY) },
);

/** A life of a site; its first step puts a license there. */
export const randomCommandSteps = (maxLength: number): fc.Arbitrary<CommandStep[]> =>
  fc
    .tuple(
      fc.record({ after, command: installing }),
      fc.array(fc.record({ after, command }), { maxLength, size: "max" }),
    )
    .map(([first, rest]) => [first, ...rest]);
