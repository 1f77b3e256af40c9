// Random sequences of what callers might want, over several licenses of several products, with time
// going on between them.
import * as fc from "fast-check";
import type { Arbitrary } from "fast-check";
import type { Command } from "../../src/domain/command.ts";
import type { Event } from "../../src/domain/event.ts";
import type { Fault } from "../../src/domain/fault.ts";
import type { Result } from "../../src/domain/result.ts";
import type { State } from "../../src/domain/state.ts";
import type { ConsumptionTerms, Terms } from "../../src/domain/terms.ts";
import { DAY, HOUR, later, MINUTE, type Instant, type Period } from "../../src/domain/time.ts";
import { transact, type TransactionResult } from "../../src/domain/transact.ts";
import { makeNewSite, makeNextInstall } from "../support/new-site.ts";
import * as scenario from "../support/scenario.ts";
import { featureTerms, install, MONDAY } from "../support/scenario.ts";
import { EventModel } from "./event-model.ts";

// Names that a plain object would already know are names like any other.
const USERS = ["constructor", "__proto__", "toString"];
const FLOATING = "toString";
const COUNTED = "__proto__";
const LICENSES: readonly { id: number; product: string; period: Period | null }[] = [
  { id: 1, product: "cad", period: "daily" },
  { id: 2, product: "cad", period: null },
  { id: 3, product: "__proto__", period: "weekly" },
  { id: 4, product: "constructor", period: "monthly" },
];
const PRODUCTS = ["cad", "__proto__", "constructor"];

const small = (max: number, min = 0): Arbitrary<number> => fc.integer({ min, max });
const orNull = <T>(value: Arbitrary<T>): Arbitrary<T | null> => fc.option(value, { freq: 2 });

const counts = (period: Period | null): Arbitrary<ConsumptionTerms> =>
  fc.record({
    max: orNull(small(20)),
    overages: small(5),
    negative: fc.boolean(),
    period: fc.constant(period),
  });

const features = (period: Period | null): Arbitrary<Terms["features"]> =>
  fc
    .tuple(small(2), small(90, 1), counts(period), fc.boolean(), fc.boolean())
    .map(([slots, timeoutMinutes, consumption, floats, counted]) => [
      ...(floats ? [featureTerms(FLOATING, { floating: { slots, timeoutMinutes } })] : []),
      ...(counted ? [featureTerms(COUNTED, { consumption })] : []),
    ]);

const installation = ({ id, product, period }: (typeof LICENSES)[number]) =>
  fc
    .record({
      slots: fc.constantFrom(0, 1, 1, 2, 2, 3),
      timeoutMinutes: fc.constantFrom(1, 60, 120, 240),
      borrowHours: orNull(small(72, 1)),
      earlyReturn: fc.boolean(),
      enabled: fc.integer({ min: 0, max: 9 }).map((n) => n < 9),
      validUntil: orNull(small(90, 1).map((days) => later(MONDAY, days * DAY))),
      graceHours: orNull(small(48)),
      consumption: counts(period),
      features: features(period),
    })
    .map((differing) => install(id, { product, ...differing }));

const user = fc.constantFrom(...USERS);
const aim = fc.record({
  product: fc.constantFrom("cad", "cad", ...PRODUCTS),
  licenseId: fc.constantFrom(null, null, null, null, null, null, null, 1, 2),
});
const nonceDigest = fc.constantFrom(null, null, "laptop", "laptop", "tablet");
const count = fc.oneof(small(8, -4), fc.constant(0), fc.constant(10 ** 12));
const tighter = fc.record({
  allowOverages: orNull(fc.boolean()),
  maxOverages: orNull(small(9)),
  user: orNull(user),
});

/** What somebody might want; a borrow's date is so many minutes from whenever it is asked for. */
const commandAt: Arbitrary<(at: Instant) => Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: plain(
      fc
        .tuple(user, aim, nonceDigest)
        .map(([u, a, nonce]) => scenario.register(u, { ...a, nonceDigest: nonce })),
    ),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(user, aim, orNull(small(5_000, -1)), nonceDigest)
      .map(([u, a, minutes, nonce]) => (at: Instant) => {
        const until = minutes === null ? null : later(at, minutes * MINUTE);
        return scenario.borrow(u, until, { ...a, nonceDigest: nonce });
      }),
  },
  { weight: 2, arbitrary: plain(fc.tuple(user, aim).map(([u, a]) => scenario.unregister(u, a))) },
  {
    weight: 3,
    arbitrary: plain(fc.tuple(user, aim).map(([u, a]) => scenario.registerFeature(u, FLOATING, a))),
  },
  plain(fc.tuple(user, aim).map(([u, a]) => scenario.releaseFeature(u, FLOATING, a))),
  {
    weight: 4,
    arbitrary: plain(
      fc.tuple(count, aim, tighter).map(([n, a, t]) => scenario.consume(n, { ...a, ...t })),
    ),
  },
  {
    weight: 2,
    arbitrary: plain(
      fc
        .tuple(count, aim, tighter)
        .map(([n, a, t]) => scenario.consumeFeature(COUNTED, n, { ...a, ...t })),
    ),
  },
  plain(fc.constantFrom(null, ...PRODUCTS).map(scenario.unregisterAll)),
  { weight: 2, arbitrary: plain(fc.oneof(...LICENSES.map(installation))) },
  plain(fc.tuple(small(4, 1), fc.boolean()).map(([id, all]) => scenario.remove(id, all))),
);

function plain(command: Arbitrary<Command>): Arbitrary<(at: Instant) => Command> {
  return command.map((value) => () => value);
}

/** Mostly short, so that things meet; at times long enough for everything to have ended. */
const wait = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom(0, 0, 0, 1, MINUTE) },
  { weight: 10, arbitrary: small(10 * MINUTE) },
  { weight: 2, arbitrary: small(9 * HOUR) },
  { weight: 1, arbitrary: fc.constantFrom(DAY, 7 * DAY, 31 * DAY) },
);

/** Without bias: a story needs the ordinary to happen again and again, not the extremes. */
export const commandSequence = fc.noBias(
  fc.record({
    installs: fc.tuple(...LICENSES.map(installation)),
    steps: fc.array(fc.tuple(wait, commandAt), { maxLength: 150, size: "max" }),
  }),
);

export type CommandSequence = typeof commandSequence extends Arbitrary<infer S> ? S : never;

/** One command about to be served: look before, `run`, look after. */
export interface SequenceStep {
  readonly command: Command;
  readonly at: Instant;
  readonly state: State;
  readonly model: EventModel;
  /** All that was written so far. */
  readonly writtenEvents: readonly Event[];
  run(): Result<TransactionResult<unknown>, Fault>;
}

/** Serves the whole story with one state, and shows every event to the model, which judges it. */
export function* runSequence({ installs, steps }: CommandSequence): Generator<SequenceStep> {
  const state = makeNewSite();
  const model = new EventModel();
  const written: Event[] = [];
  const stepOf = (command: Command, at: Instant): SequenceStep => ({
    command,
    at,
    state,
    model,
    writtenEvents: written,
    run: () => {
      const result = transact(state, command, at);
      const events = result.ok ? result.value.journalLines.flat() : [];
      for (const event of events) model.apply(event);
      written.push(...events);
      return result;
    },
  });
  let at: Instant = MONDAY;
  for (const command of installs) yield stepOf(makeNextInstall(state, command), at);
  for (const [waited, wanted] of steps) {
    at = later(at, waited);
    const command = wanted(at);
    yield stepOf(command.type === "InstallLicense" ? makeNextInstall(state, command) : command, at);
  }
}
