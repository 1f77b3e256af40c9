// A second, naive implementation of sharing: lists and scans only. It was written from the design
// of the rules and the queue, and imports nothing of their code but types.
import type { SlotCaps } from "../../src/domain/model/rule-context.ts";
import type { CallerFacts } from "../../src/domain/model/rules/caller-facts.ts";
import type { Instant } from "../../src/domain/time.ts";
import { personOf } from "./membership.ts";
import { NaiveRules } from "./naive-rules.ts";
import type { RuleFile } from "./rule-file.ts";

export interface ModelLicense {
  readonly id: number;
  readonly product: string;
  slots: number;
  borrowHours: number | null;
  /** Null: it has no end. */
  endsAt: Instant | null;
  /** Slots of its floating features. */
  features: Readonly<Record<string, number>>;
}

export interface ModelHolder {
  readonly license: number;
  readonly feature: string | null;
  readonly user: string;
  /** What the rules knew when the slot was granted. */
  readonly facts: CallerFacts;
  /** The address of its last call: the settings cap slots by it. */
  peer: string;
  end: Instant;
  /** Of a feature slot: its own time-out, which the license's slot may end earlier. */
  timeoutAt: Instant;
  borrowedUntil: Instant | null;
}

export interface ModelPlace {
  readonly product: string;
  readonly user: string;
  readonly number: number;
  order: number;
  licenseId: number | null;
  facts: CallerFacts;
  /** The license of the hold; null: the user waits. */
  hold: number | null;
  /** When the hold was given. */
  heldAt: Instant;
}

export interface ModelRecall {
  readonly product: string;
  readonly feature: string | null;
  readonly group: string;
  until: Instant;
}

/** Who has what, and what the rules say of it. */
export class ModelUse {
  /** Of one product, the most recently installed comes first. */
  licenses: ModelLicense[] = [];
  holders: ModelHolder[] = [];
  places: ModelPlace[] = [];
  rules: RuleFile | null = null;
  slotCaps: SlotCaps = { perUser: null, perPeer: null };
  recalls: ModelRecall[] = [];

  rulesFor(product: string, feature: string | null): NaiveRules {
    return new NaiveRules(this.rules, product, feature);
  }

  // Who has what.

  isValid = ({ endsAt }: ModelLicense, at: Instant): boolean => endsAt === null || at < endsAt;

  liveHolders(license: number, feature: string | null, at: Instant): readonly ModelHolder[] {
    return this.holders.filter(
      (holder) => holder.license === license && holder.feature === feature && holder.end > at,
    );
  }

  findHolder(license: number, feature: string | null, user: string, at: Instant) {
    return this.liveHolders(license, feature, at).find((holder) => holder.user === user);
  }

  /** The facts of all who hold a slot of the product or feature, holds included. */
  listUse(product: string, feature: string | null, at: Instant): readonly CallerFacts[] {
    const ofProduct = this.licenses.filter((license) => license.product === product);
    const held = ofProduct.flatMap(({ id }) => this.liveHolders(id, feature, at));
    const holds = this.places.filter(
      (place) => place.product === product && feature === null && place.hold !== null,
    );
    return [...held, ...holds].map(({ facts }) => facts);
  }

  countFree(license: ModelLicense, feature: string | null, at: Instant): number {
    const slots = feature === null ? license.slots : (license.features[feature] ?? 0);
    const holds = this.places.filter(({ hold }) => feature === null && hold === license.id);
    const used = this.liveHolders(license.id, feature, at).length + holds.length;
    return Math.max(0, slots - used);
  }

  countFreeOfProduct(product: string, feature: string | null, at: Instant): number {
    return this.licenses
      .filter((license) => license.product === product && this.isValid(license, at))
      .reduce((sum, license) => sum + this.countFree(license, feature, at), 0);
  }

  // What the rules say.

  /** Slots of a reservation that its group does not use. */
  countIdle(product: string, feature: string | null, group: string, at: Instant): number {
    const rules = this.rulesFor(product, feature);
    const reserved = rules.reservations().find((entry) => entry.group === group)?.slots ?? 0;
    const use = this.listUse(product, feature, at);
    return Math.max(0, reserved - use.filter((facts) => rules.findHome(facts) === group).length);
  }

  isRecalled(product: string, feature: string | null, group: string, at: Instant): boolean {
    return this.recalls.some(
      (recall) =>
        recall.product === product &&
        recall.feature === feature &&
        recall.group === group &&
        at < recall.until,
    );
  }

  /** Idle slots that only their groups may have. */
  countKept(product: string, feature: string | null, at: Instant): number {
    return this.rulesFor(product, feature)
      .reservations()
      .filter(({ group, idle }) => idle === "keep" || this.isRecalled(product, feature, group, at))
      .reduce((sum, { group }) => sum + this.countIdle(product, feature, group, at), 0);
  }

  /** The limits that one more slot of the caller would exceed. */
  listReachedLimits(
    product: string,
    feature: string | null,
    facts: CallerFacts,
    at: Instant,
  ): readonly string[] {
    const rules = this.rulesFor(product, feature);
    // The caller's own hold does not count against it.
    const ownHold = feature === null ? this.#findHold(product, facts.user) : null;
    const use = this.listUse(product, feature, at).filter((other) => other !== ownHold);
    const count = (matches: (other: CallerFacts) => boolean): number => use.filter(matches).length;
    const person = personOf(facts.user);
    const reached: string[] = [];
    if (count(({ user }) => personOf(user) === person) >= rules.eachUser()) {
      reached.push("each_user");
    }
    if (facts.host !== "" && count(({ host }) => host === facts.host) >= rules.eachHost()) {
      reached.push("each_host");
    }
    for (const { group, slots } of rules.groupLimits()) {
      if (!rules.belongs(facts, group)) continue;
      if (count((other) => rules.belongs(other, group)) >= slots) reached.push(`group ${group}`);
    }
    return reached;
  }

  /** Whether a cap of the settings allows no further slot: whole names, over all products. */
  isCapped(product: string, { user, address }: CallerFacts, at: Instant): boolean {
    const held = this.holders.filter(({ feature, end }) => feature === null && end > at);
    const holds = this.places.filter(
      (place) => place.hold !== null && (place.product !== product || place.user !== user),
    );
    const ofUser = [...held, ...holds].filter((slot) => slot.user === user).length;
    const ofPeer =
      held.filter(({ peer }) => peer === address).length +
      holds.filter(({ facts }) => facts.address === address).length;
    const { perUser, perPeer } = this.slotCaps;
    return ofUser >= (perUser ?? Infinity) || ofPeer >= (perPeer ?? Infinity);
  }

  #findHold(product: string, user: string): CallerFacts | null {
    const place = this.places.find((other) => other.product === product && other.user === user);
    return place === undefined || place.hold === null ? null : place.facts;
  }

  hasRoom(product: string, feature: string | null, facts: CallerFacts, at: Instant): boolean {
    const free = this.countFreeOfProduct(product, feature, at);
    const home = this.rulesFor(product, feature).findHome(facts);
    if (home !== null && this.countIdle(product, feature, home, at) > 0) {
      return free > this.countKeptFromMembers(product, feature, home, at);
    }
    return free > this.countKept(product, feature, at);
  }

  /** A group that lends takes no slot that another group keeps; one that keeps takes any. */
  countKeptFromMembers(product: string, feature: string | null, home: string, at: Instant): number {
    const reservations = this.rulesFor(product, feature).reservations();
    if (reservations.some(({ group, idle }) => group === home && idle === "keep")) return 0;
    return reservations
      .filter(({ idle }) => idle === "keep")
      .reduce((sum, { group }) => sum + this.countIdle(product, feature, group, at), 0);
  }
}
