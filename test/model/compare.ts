// Runs the rules and the model with the same commands, and reports where they differ.
import { isDeepStrictEqual } from "node:util";
import type { Command } from "../../src/domain/decide.ts";
import type { Event } from "../../src/domain/model/event.ts";
import type { State } from "../../src/domain/model/state.ts";
import { HOUR, instant, type Instant } from "../../src/domain/time.ts";
import { transact } from "../../src/domain/transact.ts";
import { viewLicense, viewRegistrations } from "../../src/domain/views/views.ts";
import { dumpState, replayEvents, terms } from "../support/scenario.ts";
import { makeNewSite } from "../support/new-site.ts";
import { writeExpiry } from "./clock-rules.ts";
import { CommandGenerator, type GeneratedStep, type WrongClock } from "./generate.ts";
import { applyToModel } from "./model.ts";
import { WRONG_CLOCK_OPTIONS } from "./wrong-clock-options.ts";
import { findBorrowEnd, computeSlotEnd, isHeld, type SlotRecord } from "./records.ts";
import { ModelSite, type Answer, type Reason } from "./site.ts";
import { TrueTimeCheck } from "./true-time.ts";
import { contextAt } from "../support/rule-context.ts";

export interface Difference {
  readonly step: number;
  readonly subject: string;
  readonly rules: unknown;
  readonly model: unknown;
}

/** Counts of what was granted and refused: they show how much of the rules a test covers. */
export type OutcomeCounts = Map<string, number>;

/** The rules and the model side by side, after the same commands. */
class Comparison {
  readonly state: State = makeNewSite();
  readonly site = new ModelSite();
  readonly clock: WrongClock = { ahead: 0 };
  readonly outcomeCounts: OutcomeCounts;
  readonly #trueTime = new TrueTimeCheck();
  /** The number of each slot. */
  readonly #numbers = new Map<SlotRecord, number>();
  readonly #events: Event[] = [];
  #steps = 0;

  constructor(outcomeCounts: OutcomeCounts) {
    this.outcomeCounts = outcomeCounts;
    this.site.openRequests = [...this.state.requests.values()];
  }

  runStep(step: GeneratedStep): Difference | null {
    this.#steps += 1;
    for (const { command, at } of listCommands(step, this.clock)) {
      if (isExcluded(this.site, command, step.at, this.clock)) continue;
      const difference = this.#runCommand(command, at);
      if (difference !== null) return difference;
    }
    const clockTime = instant(step.at + this.clock.ahead);
    return (
      this.#compareViews(clockTime) ??
      this.#compareViews(instant(clockTime + this.#chooseViewDistance())) ??
      this.#compareTrueTime(step.at) ??
      (this.#steps % 20 === 0 ? this.compareReplay() : null)
    );
  }

  #runCommand(command: Command, at: Instant): Difference | null {
    const isClockRight = this.clock.ahead === 0;
    if (command.type === "JumpClock") this.clock.ahead += command.to - command.from;
    if (command.type === "SetClockBack") this.clock.ahead -= at - command.to;
    const result = transact(this.state, command, contextAt(at));
    const answer: Answer = result.ok
      ? { granted: { ...result.value.outcome } }
      : { refused: [{ ...result.fault }] };
    const events = result.ok ? result.value.journalLines.flat() : [];
    this.#events.push(...events);
    const expiries = this.#compareExpiries(command, events, at);
    const expected = applyToModel(this.site, command, at);
    this.#count(command, expected);
    return (
      this.#compareAnswers(answer, expected) ??
      expiries ??
      this.#differ(
        "true time",
        this.#trueTime.checkEvents(events, this.state, at, isClockRight),
        null,
      )
    );
  }

  /** Also shows that a refused command changes nothing: it records no event. */
  compareReplay(): Difference | null {
    return this.#differ("replay", dumpState(replayEvents(this.#events)), dumpState(this.state));
  }

  #compareTrueTime(now: Instant): Difference | null {
    if (this.clock.ahead !== 0) return null;
    const views = viewRegistrations(this.state, null, now);
    return this.#differ("true time", this.#trueTime.checkViews(views, now), null);
  }

  #compareAnswers(rules: Answer, model: Answer): Difference | null {
    if ("granted" in rules && "granted" in model) {
      return this.#differ("answer", pick(rules.granted, model.granted), model.granted);
    }
    if ("granted" in rules || "granted" in model) return this.#differ("answer", rules, model);
    const [refusal] = rules.refused;
    const isRight = (reason: Reason) => isDeepStrictEqual(pick(refusal ?? {}, reason), reason);
    return model.refused.some(isRight) ? null : this.#differ("answer", rules, model);
  }

  #count(command: Command, answer: Answer): void {
    const outcome = "granted" in answer ? "granted" : answer.refused[0]?.code;
    const name = `${command.type} ${outcome}`;
    this.outcomeCounts.set(name, (this.outcomeCounts.get(name) ?? 0) + 1);
  }

  /**
   * A different distance at every step, so that wrong ends and resets show before they are reached.
   */
  #chooseViewDistance(): number {
    return [1, 600_000, 3_600_000, 86_400_000, 7 * 86_400_000][this.#steps % 5] ?? 1;
  }

  #differ(subject: string, rules: unknown, model: unknown): Difference | null {
    return isDeepStrictEqual(rules, model)
      ? null
      : { step: this.#steps - 1, subject, rules, model };
  }

  /** An expiry is recorded once, dated at its end, with the next event of its license. */
  #compareExpiries(command: Command, events: readonly Event[], at: Instant): Difference | null {
    const written = events.flatMap((event) =>
      event.type === "SlotExpired" || event.type === "FeatureExpired" ? [event] : [],
    );
    const considered = command.type === "SetClockBack" ? written : events;
    const touchedLicenses = new Set(
      considered.flatMap((event) => ("license" in event ? [event.license] : [])),
    );
    const endedSlots = this.site.slots.filter(
      (slot) =>
        !slot.isReleased &&
        !slot.isExpiryWritten &&
        computeSlotEnd(slot) <= at &&
        touchedLicenses.has(slot.license.id),
    );
    const expected = endedSlots.map((slot) => {
      const { license, feature, user } = slot;
      return { license: license.id, feature, user, at: computeSlotEnd(slot) };
    });
    for (const slot of endedSlots) writeExpiry(this.site, slot);
    const recorded = written.map((event) => ({
      license: event.license,
      feature: "feature" in event ? event.feature : null,
      user: event.user,
      at: event.at,
    }));
    return this.#differ("recorded expiries", sortRows(recorded), sortRows(expected));
  }

  #compareViews(at: Instant): Difference | null {
    const { site } = this;
    const licenses = [...this.state.licenses.values()].map((license) => {
      const view = viewLicense(this.state, license, contextAt(at));
      const { id, slotsInUse, total, addedAt } = view;
      const features = view.features.map(({ terms, slotsInUse, total }) => {
        return { code: terms.code, slotsInUse, total };
      });
      return { id, addedAt, slotsInUse, borrowed: license.pool.countBorrowed(at), total, features };
    });
    const expected = site.findInstalledLicenses().map((license) => ({
      id: license.id,
      addedAt: license.addedAt,
      slotsInUse: site.findHeldSlots(license, null, at).length,
      borrowed: site
        .findHeldSlots(license, null, at)
        .filter((slot) => findBorrowEnd(slot, at) !== null).length,
      total: site.computeTotal(license, null, at),
      features: license.features.map(({ code }) => ({
        code,
        slotsInUse: site.findHeldSlots(license, code, at).length,
        total: site.computeTotal(license, code, at),
      })),
    }));
    return this.#differ(`licenses ${at}`, licenses, expected) ?? this.#compareSlots(at);
  }

  #compareSlots(at: Instant): Difference | null {
    const { slots } = this.site;
    const views = viewRegistrations(this.state, null, at);
    const shown = views.map(
      ({ license, user, contact, registeredAt, end, borrowedUntil, features }) => {
        return { license, user, contact, registeredAt, end, borrowedUntil, features };
      },
    );
    const heldSlots = slots.filter((slot) => slot.feature === null && isHeld(slot, at));
    const expected = heldSlots.map((slot) => ({
      license: slot.license.id,
      user: slot.user,
      contact: slot.contact,
      registeredAt: slot.takenAt.value,
      end: computeSlotEnd(slot),
      borrowedUntil: findBorrowEnd(slot, at),
      features: slot.license.features
        .map(({ code }) => code)
        .filter((code) =>
          slots.some(
            (other) =>
              other.license === slot.license &&
              other.feature === code &&
              other.user === slot.user &&
              isHeld(other, at),
          ),
        ),
    }));
    return (
      this.#differ(`slots ${at}`, shown, expected) ??
      this.#compareNumbers(
        heldSlots,
        views.map(({ slot }) => slot),
      )
    );
  }

  /** A slot keeps its number as long as it is held, and no other slot ever had that number. */
  #compareNumbers(heldSlots: readonly SlotRecord[], numbers: readonly number[]): Difference | null {
    const before = Math.max(0, ...this.#numbers.values());
    for (const [index, slot] of heldSlots.entries()) {
      const number = numbers[index] ?? NaN;
      const expected = this.#numbers.get(slot);
      const isRight = expected === undefined ? number > before : number === expected;
      if (!isRight) return this.#differ("slot number", number, expected ?? `above ${before}`);
      this.#numbers.set(slot, number);
    }
    return null;
  }
}

const sortRows = (rows: readonly object[]): string[] =>
  rows.map((row) => JSON.stringify(row)).toSorted();

/** Only the fields that the model names. */
const pick = (facts: object, expected: object): object =>
  Object.fromEntries(Object.keys(expected).map((key) => [key, Reflect.get(facts, key)]));

interface TimedCommand {
  readonly command: Command;
  readonly at: Instant;
}

/** The commands of a step, at the time the clock shows; none if there is nothing to set back. */
function listCommands(step: GeneratedStep, { ahead }: WrongClock): TimedCommand[] {
  const at = instant(step.at + ahead);
  if ("jumpBy" in step) {
    const to = instant(at + step.jumpBy);
    return [{ command: { type: "JumpClock", from: at, to, reason: step.reason }, at: to }];
  }
  if ("setBackTo" in step) {
    const to = instant(step.at + (WRONG_CLOCK_OPTIONS.canSetBackInParts ? step.setBackTo : 0));
    const question = { nonce: `nonce at ${at}`, peer: "10.0.0.1" };
    if (to >= at) return [];
    return [
      { command: { type: "AskClock", ...question }, at },
      { command: { type: "SetClockBack", to, ...question }, at },
    ];
  }
  const { command, borrowFor } = step;
  return command.type === "Borrow" && borrowFor !== undefined
    ? [{ command: { ...command, until: instant(at + borrowFor) }, at }]
    : [{ command, at }];
}

/** Commands for which the rules do not promise the answer of the model while the clock is wrong. */
function isExcluded(site: ModelSite, command: Command, now: Instant, clock: WrongClock): boolean {
  if (clock.ahead === 0) return false;
  const borrowedSlots = site.slots.filter(
    (slot) => !slot.isReleased && findBorrowEnd(slot, now) !== null,
  );
  const hasBorrowed = (user: string | null) => borrowedSlots.some((slot) => slot.user === user);
  const hasUnreturnable = borrowedSlots.some((slot) => !slot.license.terms.earlyReturn);
  switch (command.type) {
    case "JumpClock":
      return !WRONG_CLOCK_OPTIONS.canJumpAgain && site.jumps.some(({ to }) => to <= now);
    case "Borrow":
      return !WRONG_CLOCK_OPTIONS.canBorrowAgain && hasBorrowed(command.user);
    case "Unregister":
    case "UnregisterAll":
      return !WRONG_CLOCK_OPTIONS.canReturnSlots && hasUnreturnable;
    case "LicenseUpload":
      return !WRONG_CLOCK_OPTIONS.canRenewLicenses;
    case "AddConsumption":
      return (
        !WRONG_CLOCK_OPTIONS.canCountFirstTime && isCountedFirstTime(site, command.product, null)
      );
    case "AddFeatureConsumption":
      return (
        !WRONG_CLOCK_OPTIONS.canCountFirstTime &&
        isCountedFirstTime(site, command.product, command.feature)
      );
    default:
      return false;
  }
}

/** Whether a counter of these had not counted yet when the clock went wrong. */
const isCountedFirstTime = (
  site: ModelSite,
  product: string | null,
  feature: string | null,
): boolean =>
  site.counters
    .filter(
      (counter) =>
        counter.feature === feature &&
        (product ?? counter.license.terms.product) === counter.license.terms.product,
    )
    .some(
      ({ entries }) =>
        !entries.some(
          ({ what, at }) =>
            what === "count" && site.jumps.every((jump) => at.commandCount < jump.position),
        ),
    );

export interface ModelRun {
  readonly steps: readonly GeneratedStep[];
  readonly difference: Difference | null;
}

/** Runs a new sequence from a seed, up to the first difference. */
export function runSeed(
  seed: number,
  length: number,
  outcomeCounts: OutcomeCounts = new Map(),
): ModelRun {
  const comparison = new Comparison(outcomeCounts);
  const generator = new CommandGenerator(seed, comparison.site, comparison.clock);
  const steps: GeneratedStep[] = [];
  while (steps.length < length) {
    const step = generator.next();
    steps.push(step);
    const difference = comparison.runStep(step);
    if (difference !== null) return { steps, difference };
  }
  return { steps, difference: comparison.compareReplay() };
}

/** Runs the same steps again, or some of them. */
function replay(steps: readonly GeneratedStep[]): Difference | null {
  const comparison = new Comparison(new Map());
  for (const step of steps) {
    const difference = comparison.runStep(step);
    if (difference !== null) return difference;
  }
  return comparison.compareReplay();
}

/** Leaves out steps as long as the rules and the model still differ. */
function shrink(steps: readonly GeneratedStep[]): readonly GeneratedStep[] {
  let shortest = steps;
  for (let size = Math.ceil(shortest.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let from = shortest.length - size; from >= 0; from -= size) {
      const shorter = shortest.toSpliced(from, size);
      if (replay(shorter) !== null) shortest = shorter;
    }
  }
  return shortest;
}

/** All that a reader needs to reproduce the difference. */
export function describeDifference(seed: number, { steps }: ModelRun): string {
  const shortened = shrink(steps);
  const difference = replay(shortened);
  return [
    `seed ${seed}: the rules and the model differ after ${shortened.length} steps`,
    ...shortened.map((step) => `  ${new Date(step.at).toISOString()} ${formatStep(step)}`),
    `${difference?.subject}`,
    `  rules: ${JSON.stringify(difference?.rules)}`,
    `  model: ${JSON.stringify(difference?.model)}`,
  ].join("\n");
}

function formatStep(step: GeneratedStep): string {
  if ("jumpBy" in step) return `the clock jumps ahead by ${formatDuration(step.jumpBy)}`;
  if ("setBackTo" in step)
    return `the clock is set back to ${formatDuration(step.setBackTo)} ahead`;
  const { command, borrowFor } = step;
  const period = borrowFor === undefined ? "" : ` for ${formatDuration(borrowFor)}`;
  return `${formatCommand(command)}${period}`;
}

const formatDuration = (milliseconds: number): string =>
  `${milliseconds} ms (${(milliseconds / HOUR).toFixed(2)} h)`;

function formatCommand(command: Command): string {
  const { type, ...rest } = command;
  const defaultTerms = Object.entries(terms());
  const isDefault = (key: string, value: unknown) =>
    defaultTerms.some(
      ([name, defaultValue]) => name === key && isDeepStrictEqual(defaultValue, value),
    );
  const omitted = new Set([
    "grant",
    "head",
    "hardware",
    "hardwareId",
    "peer",
    "contact",
    "metadata",
    "name",
  ]);
  const show = (key: string, value: unknown) =>
    value === null || omitted.has(key) || isDefault(key, value) ? undefined : value;
  return `${type} ${JSON.stringify(rest, show)}`;
}
