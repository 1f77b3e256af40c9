// Scenarios for the domain rules: given events, at an instant, when a command is executed, it
// records events or is refused. Every scenario also checks that a refusal changes nothing, and that
// replaying the recorded events gives the same state.
import { expect } from "bun:test";
import type { AddConsumption } from "../../src/domain/consumption/add-consumption.ts";
import type { AddFeatureConsumption } from "../../src/domain/consumption/add-feature-consumption.ts";
import type { FeatureRegister } from "../../src/domain/features/feature-register.ts";
import type { FeatureRelease } from "../../src/domain/features/feature-release.ts";
import type { LicenseRemove } from "../../src/domain/requests/license-remove.ts";
import type { LicenseUpload } from "../../src/domain/requests/license-upload.ts";
import type { Episode } from "../../src/domain/model/demand/episode.ts";
import type { Borrow } from "../../src/domain/slots/borrow.ts";
import type { Register } from "../../src/domain/slots/register.ts";
import type { Unregister, UnregisterAll } from "../../src/domain/slots/unregister.ts";
import type { Command, OutcomeOf } from "../../src/domain/decide.ts";
import type { Event, SlotBorrowed, SlotTaken } from "../../src/domain/model/event.ts";
import type { LicenseInstalled } from "../../src/domain/model/licenses/license-event-types.ts";
import { evolve } from "../../src/domain/evolve/evolve.ts";
import type { Fault } from "../../src/domain/model/fault.ts";
import type { License, State } from "../../src/domain/model/state.ts";
import type { SlotHolder, SlotPool } from "../../src/domain/model/slots/pool.ts";
import type {
  ConsumptionTerms,
  FeatureTerms,
  Terms,
} from "../../src/domain/model/licenses/terms.ts";
import { HOUR, instant, later, MINUTE, type Instant } from "../../src/domain/time.ts";
import { transact } from "../../src/domain/transact.ts";
import { answerTo, makeGrant, makeNewSite, requestIdFor, SIGNER } from "./new-site.ts";
import { contextAt } from "./rule-context.ts";
import { makeContact } from "./contact.ts";

/** An event with only the fields that a test checks; undefined: the field must be absent. */
export type ExpectedEvent = {
  [E in Event as E["type"]]: Pick<E, "type"> & { readonly [F in keyof E]?: E[F] | undefined };
}[Event["type"]];

export interface History {
  readonly events: readonly Event[];
  at(time: Instant | string): ScenarioInstant;
}

export interface ScenarioInstant {
  when<C extends Command>(command: C): CommandExpectation<C>;
  /** Executes these commands at this instant and appends their events to the history. */
  execute(...commands: readonly Command[]): History;
}

export interface CommandExpectation<C extends Command> {
  /** Expects the events of the command's line; without arguments, expects that none is written. */
  records(...events: readonly ExpectedEvent[]): CommandExpectation<C>;
  /** Expects the lines before the command's own, for what expired before it. */
  expires(...events: readonly ExpectedEvent[]): CommandExpectation<C>;
  answers(outcome: Partial<OutcomeOf<C>>): CommandExpectation<C>;
  refuses(fault: Fault): void;
}

export function given(...events: readonly Event[]): History {
  return {
    events,
    at: (time) => {
      const at = typeof time === "string" ? utc(time) : time;
      return {
        when: (command) => runCommand(events, command, at),
        execute: (...steps) =>
          given(...steps.reduce((past, step) => appendCommandEvents(past, step, at), events)),
      };
    },
  };
}

function runCommand<C extends Command>(
  events: readonly Event[],
  command: C,
  at: Instant,
): CommandExpectation<C> {
  const state = replayEvents(events);
  const before = dumpState(state);
  const result = transact(state, command, contextAt(at));
  const lines = result.ok ? result.value.journalLines : [];
  if (result.ok)
    expect(dumpState(replayEvents([...events, ...lines.flat()]))).toEqual(dumpState(state));
  else expect(dumpState(state)).toEqual(before);
  const unwrapResult = () => {
    if (!result.ok) throw new Error(`refused: ${JSON.stringify(result.fault)}`);
    return result.value;
  };
  const expectation: CommandExpectation<C> = {
    records: (...expected) => {
      const { journalLines } = unwrapResult();
      if (expected.length === 0) expect(journalLines).toEqual([]);
      expectEvents(journalLines.at(-1) ?? [], expected);
      return expectation;
    },
    expires: (...expected) => {
      const earlier = unwrapResult().journalLines.slice(0, -1);
      expect(earlier.every((line) => line.length === 1)).toBe(true);
      expectEvents(earlier.flat(), expected);
      return expectation;
    },
    answers: (expected) => {
      const { outcome } = unwrapResult();
      expect(outcome).toEqual(expected === null ? expected : { ...outcome, ...expected });
      return expectation;
    },
    refuses: (fault) => expect(result).toEqual({ ok: false, fault }),
  };
  return expectation;
}

function expectEvents(events: readonly Event[], expected: readonly ExpectedEvent[]): void {
  // Only the fields that a test names are compared.
  expect(events).toEqual(events.map((event, index) => Object.assign({}, event, expected[index])));
  expect(events.map(({ type }) => type)).toEqual(expected.map(({ type }) => type));
}

function appendCommandEvents(
  past: readonly Event[],
  command: Command,
  at: Instant,
): readonly Event[] {
  const result = transact(replayEvents(past), command, contextAt(at));
  if (!result.ok)
    throw new Error(`a command of the history was refused: ${JSON.stringify(result.fault)}`);
  return [...past, ...result.value.journalLines.flat()];
}

export function replayEvents(events: readonly Event[]): State {
  const state = makeNewSite();
  for (const event of events) evolve(state, event);
  return state;
}

/** The whole state as plain data that can be compared, in its own order. */
export const dumpState = ({
  registrationsByPeer: _byPeer,
  slotChanges: _changes,
  rulesIndex: _index,
  ...state
}: State) => ({
  ...state,
  vendors: [...state.vendors],
  retiredKeys: [...state.retiredKeys],
  requests: [...state.requests],
  activations: [...state.activations],
  answeredRequests: [...state.answeredRequests],
  cancelledRequests: [...state.cancelledRequests],
  requestHeads: [...state.requestHeads],
  tombstones: [...state.tombstones],
  statementChains: [...state.statementChains],
  licenses: [...state.licenses].map(([id, license]) => [id, dumpLicense(license)]),
  products: [...state.products].map(([code, all]) => [code, all.map(({ id }) => id)]),
  lapsedBorrows: [...state.lapsedBorrows],
  queues: [...state.queues].map(({ product, places }) => [
    product,
    Array.from(places, (place) => ({ ...place })),
  ]),
  idempotencyRecords: [...state.idempotencyRecords],
  refusals: [...state.refusals],
  openEpisodes: [...state.openEpisodes],
  endedEpisodes: [...state.endedEpisodes],
  recalls: [...state.recalls],
});

const dumpLicense = ({ counter, pool, features, ...license }: License) => ({
  ...license,
  counter: { ...counter },
  pool: dumpPool(pool),
  features: [...features].map(([code, feature]) => [
    code,
    { terms: feature.terms, counter: { ...feature.counter }, pool: dumpPool(feature.pool) },
  ]),
});

const dumpPool = (pool: SlotPool<SlotHolder>) => ({
  holders: [...pool.inSlotOrder()].map(({ user }) => [user, { ...pool.get(user) }]),
  ends: pool.expiryIndex.ended(instant(Infinity), Infinity).map(({ slot, end }) => [slot, end]),
});

/** An episode of one refusal of ada, who wanted a slot of cad. */
export const deniedEpisode = (differing: Partial<Episode> = {}): Episode => ({
  product: "cad",
  feature: null,
  user: "ada",
  code: "floating_not_available",
  rule: null,
  peer: "10.0.0.7",
  firstAt: MONDAY,
  lastAt: MONDAY,
  attempts: 1,
  firstSeq: 5,
  lastSeq: 5,
  ...differing,
});

export const utc = (iso: string): Instant => instant(Temporal.Instant.from(iso).epochMilliseconds);

/** The start of every scenario: 09:00 UTC on 2 March 2026. */
export const MONDAY = utc("2026-03-02T09:00:00Z");

export const minutesLater = (count: number): Instant => later(MONDAY, count * MINUTE);
export const hoursLater = (count: number): Instant => later(MONDAY, count * HOUR);
export const justBefore = (time: Instant): Instant => later(time, -1);

export const CONTACT = makeContact({ hostname: "desk", ip: "10.0.0.7", peer: "10.0.0.7" });

/** Two slots, 30 minutes, borrowing for a day with early return, no consumption. */
export const terms = (differing: Partial<Terms> = {}): Terms => ({
  product: "cad",
  productName: "CAD",
  licenseKey: null,
  type: "perpetual",
  customer: null,
  metadata: null,
  trial: false,
  enabled: true,
  start: null,
  validUntil: null,
  maintenanceUntil: null,
  graceHours: null,
  slots: 2,
  timeoutMinutes: 30,
  borrowHours: 24,
  earlyReturn: true,
  moveGraceHours: 72,
  consumption: null,
  features: [],
  ...differing,
});

export const consumptionTerms = (differing: Partial<ConsumptionTerms> = {}): ConsumptionTerms => ({
  max: 10,
  overages: 0,
  negative: false,
  period: null,
  ...differing,
});

export const featureTerms = (
  code: string,
  differing: Partial<FeatureTerms> = {},
): FeatureTerms => ({
  code,
  name: code,
  metadata: null,
  expires: null,
  floating: null,
  consumption: null,
  ...differing,
});

export const licenseInstalled = (
  license: number,
  differing: Partial<Terms> = {},
  at: Instant = MONDAY,
): LicenseInstalled => {
  const fullTerms = terms(differing);
  const grant = makeGrant(license, fullTerms);
  const origin = { request: null, activation: null, peer: "10.0.0.1" };
  return { type: "LicenseInstalled", at, license, terms: fullTerms, grant, ...origin };
};

export const slotTaken = (user: string, differing: Partial<SlotTaken> = {}): SlotTaken => {
  const at = differing.at ?? MONDAY;
  const end = later(at, 30 * MINUTE);
  return { type: "SlotTaken", at, license: 1, user, slot: 1, end, contact: CONTACT, ...differing };
};

export const slotBorrowed = (user: string, until: Instant, slot = 1): SlotBorrowed => {
  const fields = { at: MONDAY, license: 1, user, slot };
  return { type: "SlotBorrowed", ...fields, until, end: until, contact: CONTACT, early: false };
};

const TARGET = { product: "cad", licenseId: null };

/** The fields of a command that a test sets; the others have defaults. */
type CommandOverrides<C extends Command> = Partial<Omit<C, "type">>;

/** A newer serial that answers no request. */
export const renew = (
  license: number,
  serial: number,
  differing: Partial<Terms> = {},
): LicenseUpload => {
  const fullTerms = terms(differing);
  const { hardware: _hardware, ...grant } = makeGrant(license, fullTerms, serial);
  const origin = { answers: null, signer: SIGNER, peer: "10.0.0.1" };
  return { type: "LicenseUpload", license, terms: fullTerms, grant, ...origin };
};

/** Answers the open request for this license; if it is installed, renews it. */
export const install = (license: number, differing: Partial<Terms> = {}): LicenseUpload => {
  return { ...renew(license, 2, differing), answers: answerTo(requestIdFor(license)) };
};

export const remove = (license: number, withBorrows = false): LicenseRemove => ({
  type: "LicenseRemove",
  license,
  withBorrows,
  peer: "10.0.0.1",
});

export const register = (
  user: string | null,
  differing: CommandOverrides<Register> = {},
): Register => {
  const defaults = { ...TARGET, user, contact: CONTACT, nonceDigest: null, identity: null };
  return { type: "Register", ...defaults, ...differing };
};

export const borrow = (
  user: string | null,
  until: Instant | null = null,
  differing: CommandOverrides<Borrow> = {},
): Borrow => {
  const caller = { contact: CONTACT, identity: null };
  const defaults = { ...TARGET, ...caller, user, until, nonceDigest: null, once: null };
  return { type: "Borrow", ...defaults, ...differing };
};

export const unregister = (
  user: string | null,
  differing: CommandOverrides<Unregister> = {},
): Unregister => {
  return { type: "Unregister", ...TARGET, user, by: "user", peer: "10.0.0.7", ...differing };
};

export const unregisterAll = (product: string | null = null): UnregisterAll => ({
  type: "UnregisterAll",
  product,
  peer: "10.0.0.1",
});

export const registerFeature = (
  user: string | null,
  code: string | null,
  differing: CommandOverrides<FeatureRegister> = {},
): FeatureRegister => {
  return {
    type: "FeatureRegister",
    peer: CONTACT.peer,
    identity: null,
    ...TARGET,
    user,
    feature: code,
    ...differing,
  };
};

/** The refusal while all slots are in use, without rules and without a queue. */
export const noFreeSlot = (slots: number): Fault => ({
  code: "floating_not_available",
  slots,
  reserved: [],
  holds: 0,
  waiting: 0,
});

export const releaseFeature = (
  user: string | null,
  code: string | null,
  differing: CommandOverrides<FeatureRelease> = {},
): FeatureRelease => {
  return {
    type: "FeatureRelease",
    peer: CONTACT.peer,
    ...TARGET,
    user,
    feature: code,
    ...differing,
  };
};

const CONSUMPTION_DEFAULTS = {
  user: null,
  peer: "10.0.0.7",
  allowOverages: null,
  maxOverages: null,
  once: null,
};

export const consume = (
  count: number,
  differing: CommandOverrides<AddConsumption> = {},
): AddConsumption => ({
  type: "AddConsumption",
  ...TARGET,
  ...CONSUMPTION_DEFAULTS,
  count,
  ...differing,
});

export const consumeFeature = (
  code: string | null,
  count: number,
  differing: CommandOverrides<AddFeatureConsumption> = {},
): AddFeatureConsumption => {
  return {
    type: "AddFeatureConsumption",
    ...TARGET,
    ...CONSUMPTION_DEFAULTS,
    feature: code,
    count,
    ...differing,
  };
};
