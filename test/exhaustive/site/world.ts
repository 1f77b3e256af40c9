// A site with one license and three users, as the search sees it: what the rules recorded, the
// clocks, and what was acknowledged. A world never changes; an action makes another one.
import { emptyMutableState } from "../../../src/domain/evolve/mutable-state.ts";
import { evolve } from "../../../src/domain/evolve/evolve.ts";
import type { Event } from "../../../src/domain/model/event.ts";
import type { Terms } from "../../../src/domain/model/licenses/terms.ts";
import type { RuleContext } from "../../../src/domain/model/rule-context.ts";
import type { License, State } from "../../../src/domain/model/state.ts";
import { HOUR, later, MINUTE, type Instant } from "../../../src/domain/time.ts";
import { VENDOR } from "../../support/new-site.ts";
import { contextAt } from "../../support/rule-context.ts";
import { featureTerms, licenseInstalled } from "../../support/scenario.ts";

export const USERS = ["ada", "bob", "cid"] as const;
export const PRODUCT = "cad";
export const LICENSE = 1;
export const FEATURE = "mesh";

// Few durations, but telling ones: time passes by less than a time-out, exactly to its end, or past
// it; a jump of the clock ends some borrows, and others not. The naive model has these time-outs.
export const TIMEOUT = 30 * MINUTE;
const FEATURE_TIMEOUT = 20 * MINUTE;
export const SHORT_BORROW = HOUR;
export const LONGEST_BORROW = 72 * HOUR;
export const SHORT_WAIT = 20 * MINUTE;
export const LONG_WAIT = 24 * HOUR;
export const JUMP = 30 * HOUR;

const COMMON_TERMS: Partial<Terms> = {
  timeoutMinutes: TIMEOUT / MINUTE,
  borrowHours: LONGEST_BORROW / HOUR,
  features: [
    featureTerms(FEATURE, {
      floating: { slots: 1, timeoutMinutes: FEATURE_TIMEOUT / MINUTE },
    }),
  ],
};

/** The license is renewed from one to the other, and back. */
export const TERMS: readonly Partial<Terms>[] = [
  { ...COMMON_TERMS, slots: 2, earlyReturn: true },
  { ...COMMON_TERMS, slots: 1, earlyReturn: false },
];

/** What a user was told of a borrow, and has not returned. */
export interface BorrowPromise {
  readonly user: string;
  /** Until when the user may work offline. */
  readonly until: Instant;
  /** When the lease of each device ends. */
  readonly leases: Readonly<Record<string, Instant>>;
}

export interface Clock {
  /** Appliance time. */
  readonly at: Instant;
  /** How far it is ahead of the true time (milliseconds). */
  readonly ahead: number;
  /** The system clock shows the true time again, although appliance time is ahead. */
  readonly isCorrected: boolean;
  /** Jumps so far, to limit them. */
  readonly jumpCount: number;
}

export interface SiteWorld {
  /** Everything that the rules recorded. */
  readonly events: readonly Event[];
  readonly clock: Clock;
  readonly renewals: number;
  readonly promises: readonly BorrowPromise[];
  /** See `makeKey`. */
  readonly key: string;
}

export const START_EVENTS: readonly Event[] = [licenseInstalled(LICENSE, TERMS[0])];

export const trueTimeOf = ({ at, ahead }: Clock): Instant => later(at, -ahead);

/** What the machine's clock shows. */
export const systemTimeOf = (clock: Clock): Instant =>
  clock.isCorrected ? trueTimeOf(clock) : clock.at;

export const contextOf = (clock: Clock): RuleContext =>
  contextAt(clock.at, { clockBehind: clock.at - systemTimeOf(clock) });

/** The state of the rules after these events. Each call makes another one. */
export function buildState(events: readonly Event[]): State {
  const state = emptyMutableState("site");
  state.vendors.set(VENDOR.vendor, VENDOR);
  for (const event of events) evolve(state, event);
  return state;
}

export function getLicense(state: State): License {
  const license = state.licenses.get(LICENSE);
  if (license === undefined) throw new Error("the license is not installed");
  return license;
}
