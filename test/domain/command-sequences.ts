// Random sequences of commands on several licenses of several products, with waiting times between
// the commands.
import * as fc from "fast-check";
import type { Arbitrary } from "fast-check";
import type { Command } from "../../src/domain/decide.ts";
import type { Event } from "../../src/domain/event.ts";
import type { Fault } from "../../src/domain/fault.ts";
import type { Result } from "../../src/domain/result.ts";
import type { State } from "../../src/domain/state.ts";
import type { ConsumptionTerms, Terms } from "../../src/domain/licenses/terms.ts";
import { DAY, HOUR, later, MINUTE, type Instant, type Period } from "../../src/domain/time.ts";
import { transact, type TransactionResult } from "../../src/domain/transact.ts";
import { makeNewSite, makeNextInstall } from "../support/new-site.ts";
import { featureTerms, install, MONDAY } from "../support/scenario.ts";
import { EventModel } from "./event-model.ts";
import { contextAt } from "../support/rule-context.ts";
import * as scenario from "../support/scenario.ts";

// Names that every object has as properties must work like any other name.
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

const smallInteger = (max: number, min = 0): Arbitrary<number> => fc.integer({ min, max });
const orNull = <T>(value: Arbitrary<T>): Arbitrary<T | null> => fc.option(value, { freq: 2 });

const consumptionTermsOf = (period: Period | null): Arbitrary<ConsumptionTerms> =>
  fc.record({
    max: orNull(smallInteger(20)),
    overages: smallInteger(5),
    negative: fc.boolean(),
    period: fc.constant(period),
  });

const featureTermsOf = (period: Period | null): Arbitrary<Terms["features"]> =>
  fc
    .tuple(
      smallInteger(2),
      smallInteger(90, 1),
      consumptionTermsOf(period),
      fc.boolean(),
      fc.boolean(),
    )
    .map(([slots, timeoutMinutes, consumption, isFloating, isCounted]) => [
      ...(isFloating ? [featureTerms(FLOATING, { floating: { slots, timeoutMinutes } })] : []),
      ...(isCounted ? [featureTerms(COUNTED, { consumption })] : []),
    ]);

const installation = ({ id, product, period }: (typeof LICENSES)[number]) =>
  fc
    .record({
      slots: fc.constantFrom(0, 1, 1, 2, 2, 3),
      timeoutMinutes: fc.constantFrom(1, 60, 120, 240),
      borrowHours: orNull(smallInteger(72, 1)),
      earlyReturn: fc.boolean(),
      enabled: fc.integer({ min: 0, max: 9 }).map((n) => n < 9),
      validUntil: orNull(smallInteger(90, 1).map((days) => later(MONDAY, days * DAY))),
      graceHours: orNull(smallInteger(48)),
      consumption: consumptionTermsOf(period),
      features: featureTermsOf(period),
    })
    .map((overrides) => install(id, { product, ...overrides }));

const user = fc.constantFrom(...USERS);
const licenseSelector = fc.record({
  product: fc.constantFrom("cad", "cad", ...PRODUCTS),
  licenseId: fc.constantFrom(null, null, null, null, null, null, null, 1, 2),
});
const nonceDigest = fc.constantFrom(null, null, "laptop", "laptop", "tablet");
const count = fc.oneof(smallInteger(8, -4), fc.constant(0), fc.constant(10 ** 12));
const overageLimits = fc.record({
  allowOverages: orNull(fc.boolean()),
  maxOverages: orNull(smallInteger(9)),
  user: orNull(user),
});

/** A command for the time it is run at: the end of a borrow is relative to that time. */
const commandAt: Arbitrary<(at: Instant) => Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: atAnyTime(
      fc
        .tuple(user, licenseSelector, nonceDigest)
        .map(([u, a, nonce]) => scenario.register(u, { ...a, nonceDigest: nonce })),
    ),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(user, licenseSelector, orNull(smallInteger(5_000, -1)), nonceDigest)
      .map(([u, a, minutes, nonce]) => (at: Instant) => {
        const until = minutes === null ? null : later(at, minutes * MINUTE);
        return scenario.borrow(u, until, { ...a, nonceDigest: nonce });
      }),
  },
  {
    weight: 2,
    arbitrary: atAnyTime(
      fc.tuple(user, licenseSelector).map(([u, a]) => scenario.unregister(u, a)),
    ),
  },
  {
    weight: 3,
    arbitrary: atAnyTime(
      fc.tuple(user, licenseSelector).map(([u, a]) => scenario.registerFeature(u, FLOATING, a)),
    ),
  },
  atAnyTime(
    fc.tuple(user, licenseSelector).map(([u, a]) => scenario.releaseFeature(u, FLOATING, a)),
  ),
  {
    weight: 4,
    arbitrary: atAnyTime(
      fc
        .tuple(count, licenseSelector, overageLimits)
        .map(([n, a, t]) => scenario.consume(n, { ...a, ...t })),
    ),
  },
  {
    weight: 2,
    arbitrary: atAnyTime(
      fc
        .tuple(count, licenseSelector, overageLimits)
        .map(([n, a, t]) => scenario.consumeFeature(COUNTED, n, { ...a, ...t })),
    ),
  },
  atAnyTime(fc.constantFrom(null, ...PRODUCTS).map(scenario.unregisterAll)),
  { weight: 2, arbitrary: atAnyTime(fc.oneof(...LICENSES.map(installation))) },
  atAnyTime(
    fc
      .tuple(smallInteger(4, 1), fc.boolean())
      .map(([id, withBorrows]) => scenario.remove(id, withBorrows)),
  ),
);

function atAnyTime(command: Arbitrary<Command>): Arbitrary<(at: Instant) => Command> {
  return command.map((value) => () => value);
}

/** Mostly short, so that slots overlap; sometimes long enough for everything to end. */
const waitTime = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom(0, 0, 0, 1, MINUTE) },
  { weight: 10, arbitrary: smallInteger(10 * MINUTE) },
  { weight: 2, arbitrary: smallInteger(9 * HOUR) },
  { weight: 1, arbitrary: fc.constantFrom(DAY, 7 * DAY, 31 * DAY) },
);

/** Without bias: ordinary values must occur again and again, not the extremes. */
export const commandSequence = fc.noBias(
  fc.record({
    installs: fc.tuple(...LICENSES.map(installation)),
    steps: fc.array(fc.tuple(waitTime, commandAt), { maxLength: 150, size: "max" }),
  }),
);

export type CommandSequence = typeof commandSequence extends Arbitrary<infer S> ? S : never;

/** One command before it is run: read the state, call `run`, read the state again. */
export interface SequenceStep {
  readonly command: Command;
  readonly at: Instant;
  readonly state: State;
  readonly model: EventModel;
  /** All events recorded so far. */
  readonly writtenEvents: readonly Event[];
  run(): Result<TransactionResult<unknown>, Fault>;
}

/** Runs the sequence on one state and applies every event to the model, which checks it. */
export function* runSequence({ installs, steps }: CommandSequence): Generator<SequenceStep> {
  const state = makeNewSite();
  const model = new EventModel();
  const writtenEvents: Event[] = [];
  const makeStep = (command: Command, at: Instant): SequenceStep => ({
    command,
    at,
    state,
    model,
    writtenEvents,
    run: () => {
      const result = transact(state, command, contextAt(at));
      const events = result.ok ? result.value.journalLines.flat() : [];
      for (const event of events) model.apply(event);
      writtenEvents.push(...events);
      return result;
    },
  });
  let at: Instant = MONDAY;
  for (const command of installs) yield makeStep(makeNextInstall(state, command), at);
  for (const [waitedMs, makeCommand] of steps) {
    at = later(at, waitedMs);
    const command = makeCommand(at);
    yield makeStep(
      command.type === "LicenseUpload" ? makeNextInstall(state, command) : command,
      at,
    );
  }
}
