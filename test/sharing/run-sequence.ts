// Runs a sequence against the rules of Berth and against the model, and compares every decision.
import type { Fault } from "../../src/domain/model/fault.ts";
import type { Result } from "../../src/domain/result.ts";
import type { CallerFacts } from "../../src/domain/model/rules/caller-facts.ts";
import type { RuleSet } from "../../src/domain/model/rules/rule-set.ts";
import { HOUR, later, type Instant } from "../../src/domain/time.ts";
import { parseRules } from "../../src/rules/parse-rules.ts";
import { makeNextInstall, makeRequestCommand } from "../support/new-site.ts";
import { featureTerms, install, MONDAY, remove } from "../support/scenario.ts";
import { explainCall } from "./compare-explanation.ts";
import { listDifferences } from "./compare-state.ts";
import { assertOrder, assertPromises, BrokenPromise, type Grant } from "./promises.ts";
import {
  FEATURE,
  PRODUCTS,
  type CallStep,
  type LicensePlan,
  type RulesStep,
  type Sequence,
  type Step,
} from "./generate.ts";
import { SharingModel, type Claim, type ModelAnswer } from "./model.ts";
import { nameReason, RealSite, toCommandFields } from "./real-site.ts";
import { writeRuleFile, type RuleFile } from "./rule-file.ts";

/** What happened in a sequence, for a comparison with another one and for statistics. */
export type Decisions = string[];

interface PendingRules {
  readonly file: RuleFile | null;
  readonly fields: { readonly text: string; readonly digest: string; readonly rules: RuleSet };
  /** Counts some holders for them; null: nothing is prepared. */
  count: ((limit: number) => boolean) | null;
  delay: number;
}

export class SequenceRun {
  readonly real = new RealSite();
  readonly model = new SharingModel();
  readonly decisions: Decisions = [];
  /** What the rules knew when a slot was granted, by its number. */
  readonly #factsOfSlots = new Map<number, CallerFacts>();
  readonly #rewrite: (file: RuleFile) => RuleFile;
  #at: Instant = MONDAY;
  #jump = 0;
  #pending: PendingRules | null = null;
  #licenseCount = 0;
  #nonceCount = 0;

  /** `rewrite` puts the rules into another order before they are applied. */
  constructor(rewrite: (file: RuleFile) => RuleFile = (file) => file) {
    this.#rewrite = rewrite;
  }

  run({ licenses, rules, steps, slotCaps }: Sequence): Decisions {
    this.#perform({ type: "caps", slotCaps });
    for (const license of licenses) this.#perform({ type: "install", license });
    this.#perform({ type: "rules", file: rules, delay: 0 });
    for (const step of steps) this.#perform(step);
    return this.decisions;
  }

  #perform(step: Step): void {
    const before = this.model.holders.filter(({ end }) => end > this.#at);
    this.#continuePending();
    const grant = this.#take(step);
    this.#dispatchAll();
    this.#compareState();
    const isEvicting = step.type === "unregister" || step.type === "releaseFeature";
    const at = this.#at;
    assertPromises(this.model, {
      at,
      grant,
      before: isEvicting || step.type === "setBack" ? [] : before,
    });
  }

  #take(step: Step): Grant | null {
    switch (step.type) {
      case "tick":
        this.#at = later(this.#at, step.milliseconds);
        return null;
      case "lapse":
        this.#dispatch(step.product, step.users);
        return null;
      case "move":
      case "drop":
        return this.#changePlace(step.type, step.product, step.user);
      case "rules":
        return this.#prepareRules(step);
      case "caps":
        this.real.slotCaps = step.slotCaps;
        this.model.slotCaps = step.slotCaps;
        return null;
      case "install":
        this.#licenseCount += 1;
        return this.#install(this.#licenseCount, step.license);
      case "renew":
        return this.#renew(step.index, step.license);
      case "remove":
        return this.#remove(step.index);
      case "restart":
        this.real.restart(step.by);
        if (this.#pending !== null) this.#pending.count = null;
        return null;
      case "jump":
        return this.#jumpAhead(step.milliseconds);
      case "setBack":
        return this.#setBack();
      default:
        return this.#call(step);
    }
  }

  // Calls of applications.

  #call(step: CallStep): Grant | null {
    const { type, product, facts } = step;
    const licenseId = this.#licenseAt(step.licenseIndex)?.id ?? null;
    const claim: Claim = {
      product,
      licenseId: step.licenseIndex === null ? null : licenseId,
      facts,
    };
    const fields = { product, licenseId: claim.licenseId, ...toCommandFields(facts) };
    const at = this.#at;
    if (type === "unregister") {
      const command = { product, licenseId: null, user: facts.user, by: "user" } as const;
      const real = this.real.run({ type: "Unregister", ...command, peer: facts.address }, at);
      this.#compare(step, real, this.model.unregister(product, facts.user, at));
      return null;
    }
    if (type === "releaseFeature") {
      const command = { product, licenseId: null, user: facts.user, feature: FEATURE };
      const real = this.real.run({ type: "FeatureRelease", ...command, peer: facts.address }, at);
      this.#compare(step, real, this.model.releaseFeature(claim, FEATURE, at));
      return null;
    }
    this.#dispatch(product, []);
    const wasHeld = this.#isHeldBy(claim, type === "feature" ? FEATURE : null);
    const isCollected = (this.model.findPlace(product, facts.user)?.hold ?? null) !== null;
    const explained = this.#explain(step);
    const [real, answer] = this.#claim(step, claim, fields);
    this.#compare(step, real, answer);
    const [said, expected] = explained?.(real) ?? [];
    if (!Bun.deepEquals(said, expected)) this.#fail({ explain: step }, said, expected);
    this.#noteFacts(facts);
    if (!answer.granted) this.#afterRefusal(step, claim, real, answer);
    if (wasHeld && !real.ok && type !== "borrow")
      throw new BrokenPromise("a heartbeat was refused");
    if (!answer.granted || wasHeld) return null;
    const feature = type === "feature" ? FEATURE : null;
    const { license } = answer;
    return { license, product, feature, facts: this.#factsNow(step), isCollected };
  }

  /** Whether the call is a heartbeat: for a slot of a license that is chosen and valid. */
  #isHeldBy({ product, licenseId, facts }: Claim, feature: string | null): boolean {
    return this.model.licenses.some(
      (license) =>
        license.product === product &&
        (licenseId === null || license.id === licenseId) &&
        this.model.isValid(license, this.#at) &&
        this.model.findHolder(license.id, feature, facts.user, this.#at) !== undefined,
    );
  }

  #claim(
    step: CallStep,
    claim: Claim,
    fields: ReturnType<typeof toCommandFields> & Pick<Claim, "product" | "licenseId">,
  ): readonly [Result<object, Fault>, ModelAnswer] {
    const at = this.#at;
    const nonceDigest = null;
    if (step.type === "register") {
      const real = this.real.run({ type: "Register", ...fields, nonceDigest }, at);
      return [real, this.model.claim(claim, at, null)];
    }
    if (step.type === "borrow") {
      const until = step.hours === null ? null : later(at, step.hours * HOUR);
      const command = { ...fields, nonceDigest, until, once: null };
      const real = this.real.run({ type: "Borrow", ...command }, at);
      return [real, this.model.claim(claim, at, { until })];
    }
    const { contact, ...others } = fields;
    const command = { ...others, feature: FEATURE, peer: contact.peer };
    const answer = this.model.claimFeature({ ...claim, facts: this.#factsNow(step) }, FEATURE, at);
    return [this.real.run({ type: "FeatureRegister", ...command }, at), answer];
  }

  /** Null: what is explained has no license and no end of a borrow. */
  #explain(step: CallStep) {
    const { type, product, licenseIndex, hours } = step;
    if (licenseIndex !== null || (type === "borrow" && hours !== null)) return null;
    if (type !== "register" && type !== "borrow" && type !== "feature") return null;
    const feature = type === "feature" ? FEATURE : null;
    const call = { type, product, feature, facts: this.#factsNow(step) };
    return explainCall(this.real, this.model, call, this.#at);
  }

  /** The host of a feature's caller is that of the slot that it holds. */
  #factsNow({ type, product, facts }: CallStep): CallerFacts {
    if (type !== "feature") return facts;
    for (const license of this.real.state.products.get(product) ?? []) {
      const registration = license.pool.get(facts.user);
      if (registration === undefined || registration.end <= this.#at) continue;
      return { ...facts, host: registration.contact.hostname };
    }
    return facts;
  }

  #afterRefusal(
    step: CallStep,
    claim: Claim,
    real: Result<object, Fault>,
    answer: ModelAnswer & { granted: false },
  ): void {
    if (real.ok) return;
    const { product, licenseId, facts } = claim;
    const feature = step.type === "feature" ? FEATURE : null;
    const at = this.#at;
    const { fault } = real;
    const recall = fault.code === "floating_not_available" ? (fault.recall ?? null) : null;
    if (recall !== answer.recall && fault.code === "floating_not_available")
      this.#fail(step, `recall ${recall}`, `recall ${answer.recall}`);
    if (recall !== null) {
      this.real.run({ type: "RecallReservation", product, feature, group: recall }, at);
      this.model.recall(product, feature, recall, at);
    }
    const canWait = fault.code === "floating_not_available" || fault.code === "slots_capped";
    if (!step.wait || !canWait || step.type !== "register") return;
    const { user, ...others } = facts;
    const command = { product, licenseId, user, facts: others, peer: facts.address };
    const place = this.real.run({ type: "TakePlace", ...command }, at);
    const isWaiting = this.model.takePlace(claim);
    const hasPlace = place.ok && place.value.place !== null;
    if (hasPlace !== isWaiting) this.#fail(step, place, isWaiting);
    this.decisions.push(hasPlace ? "waits" : "cannot wait");
  }

  #compare(step: CallStep, real: Result<object, Fault>, answer: ModelAnswer): void {
    const name = real.ok ? "granted" : nameReason(real.fault);
    const isAlike = real.ok ? answer.granted : !answer.granted && answer.reasons.includes(name);
    if (!isAlike) this.#fail(step, real, answer);
    if (real.ok && answer.granted && "license" in real.value && answer.license > 0) {
      if (real.value.license !== answer.license) this.#fail(step, real, answer);
    }
    const license = answer.granted ? ` ${answer.license}` : "";
    this.decisions.push(`${step.type} ${step.facts.user}: ${name}${license}`);
  }

  // Administration.

  #prepareRules({ file, delay }: RulesStep): null {
    const text = file === null ? "" : writeRuleFile(this.#rewrite(file));
    const { rules, findings } = parseRules(text);
    if (rules === null) throw new Error(`the rules have errors: ${JSON.stringify(findings)}`);
    const digest = new Bun.CryptoHasher("sha256").update(text).digest("hex");
    const { state } = this.real;
    const count = delay > 0 ? state.rulesIndex.prepare(state, digest, rules, this.#at) : null;
    this.#pending = { file, fields: { text, digest, rules }, count, delay };
    return delay === 0 ? this.#applyPending() : null;
  }

  /** Counts one holder for rules that are about to be applied, or applies them. */
  #continuePending(): void {
    if (this.#pending === null || this.#pending.delay === 0) return;
    this.#pending.count?.(1);
    this.#pending.delay -= 1;
    if (this.#pending.delay === 0) this.#applyPending();
  }

  #applyPending(): null {
    const pending = this.#pending;
    this.#pending = null;
    if (pending === null) return null;
    const { file, fields } = pending;
    const command = { ...fields, expected: "*", peer: "10.0.0.1" };
    const result = this.real.run({ type: "ApplyRules", ...command }, this.#at);
    const isOverReserved = file !== null && this.model.isOverReserved(file);
    if (result.ok === isOverReserved) this.#fail("rules", result, isOverReserved);
    if (result.ok) this.model.applyRules(file);
    this.decisions.push(result.ok ? "rules applied" : "rules refused");
    return null;
  }

  #changePlace(type: "move" | "drop", product: string, user: string): null {
    const command = { product, user, peer: "10.0.0.1" };
    const real = this.real.run(
      { type: type === "move" ? "MovePlace" : "DropPlace", ...command },
      this.#at,
    );
    const model =
      type === "move" ? this.model.moveToFront(product, user) : this.model.dropPlace(product, user);
    if (real.ok !== model) this.#fail(type, real, model);
    return null;
  }

  #licenseAt(index: number | null) {
    const ids = this.model.licenses.map(({ id }) => id).toSorted((a, b) => a - b);
    const id = index === null ? undefined : ids[index];
    return this.model.licenses.find((license) => license.id === id);
  }

  #install(id: number, plan: LicensePlan): null {
    const endsAt = plan.endsAfter === null ? null : later(this.#at, plan.endsAfter);
    const { product, slots, borrowHours, featureSlots } = plan;
    const floating = featureSlots === null ? null : { slots: featureSlots, timeoutMinutes: 20 };
    const terms = { product, slots, borrowHours, validUntil: endsAt };
    const featureList = floating === null ? [] : [featureTerms(FEATURE, { floating })];
    const command = install(id, { ...terms, features: featureList });
    // Removing a license closes the requests of its product.
    if (this.real.state.requests.size === 0) {
      this.#nonceCount += 1;
      this.real.run(makeRequestCommand(`another request ${this.#nonceCount}`), this.#at);
    }
    const result = this.real.run(makeNextInstall(this.real.state, command), this.#at);
    if (!result.ok) this.#fail("install", result, "granted");
    const features = featureSlots === null ? {} : { [FEATURE]: featureSlots };
    this.model.install({ id, product, slots, borrowHours, endsAt, features });
    return null;
  }

  #renew(index: number, plan: LicensePlan): null {
    const license = this.#licenseAt(index);
    if (license === undefined) return null;
    return this.#install(license.id, { ...plan, product: license.product });
  }

  #remove(index: number): null {
    const license = this.#licenseAt(index);
    if (license === undefined) return null;
    const result = this.real.run(remove(license.id, true), this.#at);
    if (!result.ok) this.#fail("remove", result, "granted");
    this.model.removeLicense(license.id);
    return null;
  }

  // Time.

  #jumpAhead(milliseconds: number): null {
    const from = this.#at;
    const to = later(from, milliseconds);
    this.#jump += milliseconds;
    this.#at = to;
    const result = this.real.run({ type: "JumpClock", from, to, reason: "step" }, to);
    if (!result.ok) this.#fail("jump", result, "granted");
    return null;
  }

  #setBack(): null {
    if (this.#jump === 0) return null;
    this.#nonceCount += 1;
    const nonce = `nonce ${this.#nonceCount}`;
    this.real.run({ type: "AskClock", nonce, peer: "10.0.0.1" }, this.#at);
    const to = later(this.#at, -this.#jump);
    const result = this.real.run({ type: "SetClockBack", to, nonce, peer: "10.0.0.1" }, this.#at);
    if (!result.ok) this.#fail("setBack", result, "granted");
    this.#at = to;
    this.#jump = 0;
    this.#readTimes();
    return null;
  }

  /** How a set-back moves times is not the model's subject: it takes them from the state. */
  #readTimes(): void {
    this.model.holders = this.real.listHolders().map(({ slot, ...holder }) => {
      const facts = this.#factsOfSlots.get(slot);
      if (facts === undefined) throw new Error(`slot ${slot} was never granted`);
      return { ...holder, facts };
    });
    for (const place of this.model.places) {
      const hold = this.real.state.queues.get(place.product)?.get(place.user)?.hold;
      if (hold != null) place.heldAt = hold.at;
    }
    this.model.recalls = this.real.listRecalls();
  }

  #noteFacts(facts: CallerFacts): void {
    for (const { slot, user } of this.real.listHolders()) {
      if (this.#factsOfSlots.has(slot)) continue;
      const holder = this.model.holders.findLast((other) => other.user === user);
      this.#factsOfSlots.set(slot, holder?.facts ?? facts);
    }
  }

  #dispatch(product: string, lapsed: readonly string[]): void {
    const held = new Set(this.model.places.filter(({ hold }) => hold !== null));
    this.real.dispatch(product, lapsed, this.#at);
    this.model.dispatch(product, lapsed, this.#at);
    const given = this.model.places.filter((place) => place.hold !== null && !held.has(place));
    assertOrder(this.model, product, given, this.#at);
  }

  #dispatchAll(): void {
    for (const product of PRODUCTS) this.#dispatch(product, []);
  }

  #compareState(): void {
    const { realList, modelList } = listDifferences(this.real, this.model, this.#at);
    if (realList.join() !== modelList.join()) this.#fail("state", realList, modelList);
    this.decisions.push(...modelList);
  }

  #fail(step: unknown, real: unknown, model: unknown): never {
    throw new Difference(
      `${JSON.stringify(step)}\nrules: ${JSON.stringify(real)}\nmodel: ${JSON.stringify(model)}`,
    );
  }
}

/** The rules and the model decided differently, or a promise is broken. */
class Difference extends Error {}
