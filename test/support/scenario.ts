// Stories about the rules: given what happened, at an instant, when somebody wants something, this is
// recorded or that is refused. Every story also checks, unasked, that a refusal changed nothing and
// that replaying what was recorded gives the state that served.
import { expect } from "bun:test";
import type * as commands from "../../src/domain/command.ts";
import type { Command } from "../../src/domain/command.ts";
import type { OutcomeOf } from "../../src/domain/decide.ts";
import type { Event, LicenseInstalled, SlotBorrowed, SlotTaken } from "../../src/domain/event.ts";
import { evolve } from "../../src/domain/evolve.ts";
import type { Fault } from "../../src/domain/fault.ts";
import type { License, State } from "../../src/domain/state.ts";
import type { SlotHolder, SlotPool } from "../../src/domain/pool.ts";
import type { ConsumptionTerms, FeatureTerms, Terms } from "../../src/domain/terms.ts";
import { HOUR, instant, later, MINUTE, type Instant } from "../../src/domain/time.ts";
import { transact } from "../../src/domain/transact.ts";
import { answerTo, makeGrant, makeNewSite, requestIdFor } from "./new-site.ts";

/** An event of which a test names only what it is about; undefined: it does not say so. */
export type ExpectedEvent = {
  [E in Event as E["type"]]: Pick<E, "type"> & { readonly [F in keyof E]?: E[F] | undefined };
}[Event["type"]];

export interface History {
  readonly events: readonly Event[];
  at(moment: Instant | string): ScenarioInstant;
}

export interface ScenarioInstant {
  when<C extends Command>(command: C): CommandExpectation<C>;
  /** The history goes on with what these commands recorded, all at this moment. */
  execute(...commands: readonly Command[]): History;
}

export interface CommandExpectation<C extends Command> {
  /** The command's own line, event by event; with none, that nothing was written. */
  records(...events: readonly ExpectedEvent[]): CommandExpectation<C>;
  /** The lines before the command's own: what ran out meanwhile. */
  expires(...events: readonly ExpectedEvent[]): CommandExpectation<C>;
  answers(outcome: Partial<OutcomeOf<C>>): CommandExpectation<C>;
  refuses(fault: Fault): void;
}

export function given(...events: readonly Event[]): History {
  return {
    events,
    at: (moment) => {
      const at = typeof moment === "string" ? utc(moment) : moment;
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
  const result = transact(state, command, at);
  const lines = result.ok ? result.value.journalLines : [];
  if (result.ok)
    expect(dumpState(replayEvents([...events, ...lines.flat()]))).toEqual(dumpState(state));
  else expect(dumpState(state)).toEqual(before);
  const granted = () => {
    if (!result.ok) throw new Error(`refused: ${JSON.stringify(result.fault)}`);
    return result.value;
  };
  const told: CommandExpectation<C> = {
    records: (...wanted) => {
      const { journalLines } = granted();
      if (wanted.length === 0) expect(journalLines).toEqual([]);
      expectEvents(journalLines.at(-1) ?? [], wanted);
      return told;
    },
    expires: (...wanted) => {
      const earlier = granted().journalLines.slice(0, -1);
      expect(earlier.every((line) => line.length === 1)).toBe(true);
      expectEvents(earlier.flat(), wanted);
      return told;
    },
    answers: (wanted) => {
      const { outcome } = granted();
      expect(outcome).toEqual(wanted === null ? wanted : { ...outcome, ...wanted });
      return told;
    },
    refuses: (fault) => expect(result).toEqual({ ok: false, fault }),
  };
  return told;
}

function expectEvents(got: readonly Event[], wanted: readonly ExpectedEvent[]): void {
  // A named field has to be there as named; the rest of the event is its own affair.
  expect(got).toEqual(got.map((event, place) => Object.assign({}, event, wanted[place])));
  expect(got.map(({ type }) => type)).toEqual(wanted.map(({ type }) => type));
}

function appendCommandEvents(
  past: readonly Event[],
  command: Command,
  at: Instant,
): readonly Event[] {
  const result = transact(replayEvents(past), command, at);
  if (!result.ok) throw new Error(`history was refused: ${JSON.stringify(result.fault)}`);
  return [...past, ...result.value.journalLines.flat()];
}

export function replayEvents(events: readonly Event[]): State {
  const state = makeNewSite();
  for (const event of events) evolve(state, event);
  return state;
}

/** All there is in a state, as plain data that can be compared, in the order it is kept. */
export const dumpState = ({
  isSignedForThisMachine: _isBound,
  slotCaps: _caps,
  registrationsByPeer: _byPeer,
  clockBehind: _clockBehind,
  ...state
}: State) => ({
  ...state,
  vendors: [...state.vendors],
  requests: [...state.requests],
  activations: [...state.activations],
  answeredRequests: [...state.answeredRequests],
  requestHeads: [...state.requestHeads],
  tombstones: [...state.tombstones],
  licenses: [...state.licenses].map(([id, license]) => [id, dumpLicense(license)]),
  products: [...state.products].map(([code, all]) => [code, all.map(({ id }) => id)]),
  lapsedBorrows: [...state.lapsedBorrows],
  idempotencyRecords: [...state.idempotencyRecords],
  refusals: [...state.refusals],
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

export const utc = (iso: string): Instant => instant(Temporal.Instant.from(iso).epochMilliseconds);

/** When every story begins: nine in the morning, UTC, of 2 March 2026. */
export const MONDAY = utc("2026-03-02T09:00:00Z");

export const minutesLater = (count: number): Instant => later(MONDAY, count * MINUTE);
export const hoursLater = (count: number): Instant => later(MONDAY, count * HOUR);
export const justBefore = (moment: Instant): Instant => later(moment, -1);

export const CONTACT = { hostname: "desk", ip: "10.0.0.7", info: "", peer: "10.0.0.7" };

/** Two slots, half an hour, lent for a day and given back at will; counts nothing. */
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
  const granted = terms(differing);
  const grant = makeGrant(license, granted);
  const unasked = { request: null, activation: null, peer: "10.0.0.1" };
  return { type: "LicenseInstalled", at, license, terms: granted, grant, ...unasked };
};

export const slotTaken = (user: string, differing: Partial<SlotTaken> = {}): SlotTaken => {
  const at = differing.at ?? MONDAY;
  const end = later(at, 30 * MINUTE);
  return { type: "SlotTaken", at, license: 1, user, slot: 1, end, contact: CONTACT, ...differing };
};

export const slotBorrowed = (user: string, until: Instant, slot = 1): SlotBorrowed => {
  const named = { at: MONDAY, license: 1, user, slot };
  return { type: "SlotBorrowed", ...named, until, end: until, contact: CONTACT, early: false };
};

const TARGET = { product: "cad", licenseId: null };

/** A command that differs from the plain one in what a test is about. */
type CommandOverrides<C extends Command> = Partial<Omit<C, "type">>;

/** A newer serial that nobody asked for. */
export const renew = (
  license: number,
  serial: number,
  differing: Partial<Terms> = {},
): commands.InstallLicense => {
  const granted = terms(differing);
  const { hardware: _hardware, ...grant } = makeGrant(license, granted, serial);
  const unasked = { answers: null, peer: "10.0.0.1" };
  return { type: "InstallLicense", license, terms: granted, grant, ...unasked };
};

/** In answer to the request that is open for this license; of one installed already, the renewal. */
export const install = (
  license: number,
  differing: Partial<Terms> = {},
): commands.InstallLicense => {
  return { ...renew(license, 2, differing), answers: answerTo(requestIdFor(license)) };
};

export const remove = (license: number, withBorrows = false): commands.RemoveLicense => ({
  type: "RemoveLicense",
  license,
  withBorrows,
  peer: "10.0.0.1",
});

export const register = (
  user: string | null,
  differing: CommandOverrides<commands.Register> = {},
): commands.Register => {
  const plain = { ...TARGET, user, contact: CONTACT, nonceDigest: null };
  return { type: "Register", ...plain, ...differing };
};

export const borrow = (
  user: string | null,
  until: Instant | null = null,
  differing: CommandOverrides<commands.Borrow> = {},
): commands.Borrow => {
  const plain = { ...TARGET, user, until, contact: CONTACT, nonceDigest: null, once: null };
  return { type: "Borrow", ...plain, ...differing };
};

export const unregister = (
  user: string | null,
  differing: CommandOverrides<commands.Unregister> = {},
): commands.Unregister => {
  return { type: "Unregister", ...TARGET, user, by: "user", peer: "10.0.0.7", ...differing };
};

export const unregisterAll = (product: string | null = null): commands.UnregisterAll => ({
  type: "UnregisterAll",
  product,
  peer: "10.0.0.1",
});

export const registerFeature = (
  user: string | null,
  code: string | null,
  differing: CommandOverrides<commands.RegisterFeature> = {},
): commands.RegisterFeature => {
  return {
    type: "RegisterFeature",
    peer: CONTACT.peer,
    ...TARGET,
    user,
    feature: code,
    ...differing,
  };
};

export const releaseFeature = (
  user: string | null,
  code: string | null,
  differing: CommandOverrides<commands.ReleaseFeature> = {},
): commands.ReleaseFeature => {
  return {
    type: "ReleaseFeature",
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
  differing: CommandOverrides<commands.AddConsumption> = {},
): commands.AddConsumption => ({
  type: "AddConsumption",
  ...TARGET,
  ...CONSUMPTION_DEFAULTS,
  count,
  ...differing,
});

export const consumeFeature = (
  code: string | null,
  count: number,
  differing: CommandOverrides<commands.AddFeatureConsumption> = {},
): commands.AddFeatureConsumption => {
  return {
    type: "AddFeatureConsumption",
    ...TARGET,
    ...CONSUMPTION_DEFAULTS,
    feature: code,
    count,
    ...differing,
  };
};
