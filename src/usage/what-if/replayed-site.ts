import { makeClockSkewAt } from "../../domain/clock/clock-jumps.ts";
import { emptyState, evolve } from "../../domain/evolve/evolve.ts";
import type { SlotCaps } from "../../domain/model/rule-context.ts";
import type { Grant, State } from "../../domain/model/state.ts";
import { transact } from "../../domain/transact.ts";
import { instant, later, type Instant } from "../../domain/time.ts";
import type { Terms } from "../../domain/model/licenses/terms.ts";
import type { Identity } from "../../domain/model/rules/caller-facts.ts";
import type { RuleSet } from "../../domain/model/rules/rule-set.ts";
import { completeContact } from "../../domain/model/slots/contact.ts";
import type { PoolName } from "../../domain/model/slots/pool-name.ts";
import type { SharingEvent, TermsPeriod } from "../site-record.ts";

/** Who asks for a slot of which pool. */
export interface SlotWish extends PoolName {
  readonly user: string;
  readonly peer: string;
  readonly host: string;
  /** Null: any license of the product. */
  readonly license: number | null;
  readonly identity?: Identity;
}

/** A slot that was granted: enough to give it another end. */
export interface GrantedSlot extends PoolName {
  readonly license: number;
  readonly user: string;
}

const NO_CAPS: SlotCaps = { perUser: null, perPeer: null };

/** Later than every end: held until something ends it. */
export const HELD: Instant = instant(8.64e15);

/**
 * A site that exists in memory only. Its grants and refusals are decided by the rules that decide
 * those of a real one.
 */
export class ReplayedSite {
  readonly #state: State = emptyState("site");

  /** Installs or renews a license; `change` may give it other slots. */
  install({ license, vendor, from }: TermsPeriod, terms: Terms): void {
    evolve(this.#state, {
      type: "LicenseInstalled",
      at: from,
      license,
      terms,
      grant: { ...NO_GRANT, vendor },
      request: null,
      activation: null,
      peer: "",
    });
  }

  remove({ license, vendor, terms: { product }, from, to }: TermsPeriod): void {
    if (!this.#state.licenses.has(license)) return;
    const at = to ?? from;
    const facts = { serial: 0, key: "", total: 0, borrows: [] };
    const tombstone = { license, vendor, product, at, ...facts };
    evolve(this.#state, { type: "LicenseRemoved", at, license, tombstone, peer: "" });
  }

  /** Rules that were in force, with any text. */
  applyRules(rules: RuleSet | null, at: Instant): void {
    if (rules === null && this.#state.rules === null) return;
    const text = rules === null ? "" : "rules";
    const change = { text, digest: "", rules: rules ?? { groups: [], pools: [] }, peer: "" };
    evolve(this.#state, { type: "RulesApplied", at, ...change });
  }

  /** A change of rules or queues on record. A place that does not exist here is left out. */
  share(event: SharingEvent): void {
    const isOfPlace = "place" in event && event.type !== "PlaceTaken";
    const place = isOfPlace ? this.#state.queues.get(event.product)?.get(event.user) : undefined;
    if (isOfPlace && place === undefined) return;
    evolve(this.#state, event);
  }

  /** Recalled reservations follow a clock that was set back; slots get their ends by `setEnd`. */
  setClockBack(from: Instant, to: Instant): void {
    const skew = makeClockSkewAt(this.#state.clockJumps, from, to);
    const recalls = [...this.#state.recalls.values()];
    for (const { at, until, ...reservation } of recalls) {
      const moved = { at: later(at, -skew(at)), until: later(until, -skew(at)) };
      evolve(this.#state, { type: "ReservationRecalled", ...reservation, ...moved });
    }
  }

  hasLicense(license: number): boolean {
    return this.#state.licenses.has(license);
  }

  /** The licenses of a product, in the order in which the rules try them. */
  listLicenses(product: string): readonly number[] {
    return (this.#state.products.get(product) ?? []).map(({ id }) => id);
  }

  /** Decides a request for a slot; returns the slot, or the code of the refusal. */
  request(wish: SlotWish, at: Instant, slotCaps = NO_CAPS): GrantedSlot | string {
    const { product, feature, user, peer, host, license: licenseId, identity = null } = wish;
    const context = { at, clockBehind: 0, isSignedForThisMachine: () => true, slotCaps };
    const target = { product, licenseId, user };
    const contact = completeContact({ hostname: host, peer });
    const result =
      feature === null
        ? transact(
            this.#state,
            { type: "Register", ...target, contact, nonceDigest: null, identity },
            context,
          )
        : transact(
            this.#state,
            { type: "FeatureRegister", ...target, feature, peer, identity },
            context,
          );
    if (!result.ok) return result.fault.code;
    return { product, feature, user, license: result.value.outcome.license };
  }

  /** Takes a slot although the rules might refuse it: it was held on record. */
  force(wish: SlotWish & { readonly license: number }, at: Instant): void {
    const { license, feature, user, host, peer, identity } = wish;
    if (!this.#state.licenses.has(license)) return;
    // A slot that has ended stays until its expiry is written.
    this.release(wish, at);
    const [slot, end] = [this.#state.nextSlot, HELD];
    if (feature === null) {
      const contact = completeContact({ hostname: host, peer });
      evolve(this.#state, {
        type: "SlotTaken",
        at,
        license,
        user,
        slot,
        end,
        contact,
        ...(identity && { identity }),
      });
    } else if (this.#state.licenses.get(license)?.features.has(feature) === true)
      evolve(this.#state, {
        type: "FeatureTaken",
        at,
        license,
        feature,
        user,
        slot,
        end,
        timeoutAt: end,
        peer,
        ...(identity && { identity }),
      });
  }

  /** Lets a slot end at this instant, as its heartbeats did. */
  setEnd(granted: GrantedSlot, end: Instant, at: Instant): void {
    const { license, feature, user } = granted;
    if (this.#findSlot(granted) === null) return;
    if (feature === null) evolve(this.#state, { type: "SlotRenewed", at, license, user, end });
    else
      evolve(this.#state, {
        type: "FeatureRenewed",
        at,
        license,
        feature,
        user,
        end,
        timeoutAt: end,
      });
  }

  /** Ends a slot now. */
  release(granted: GrantedSlot, at: Instant): void {
    const { license, feature, user } = granted;
    const slot = this.#findSlot(granted);
    if (slot === null) return;
    if (feature !== null) {
      evolve(this.#state, { type: "FeatureExpired", at, license, feature, user, slot });
      return;
    }
    // With the slot of a license, the slots of its features end.
    for (const [code, { pool }] of this.#state.licenses.get(license)?.features ?? []) {
      const registration = pool.get(user);
      if (registration !== undefined)
        evolve(this.#state, {
          type: "FeatureExpired",
          at,
          license,
          feature: code,
          user,
          slot: registration.slot,
        });
    }
    evolve(this.#state, { type: "SlotExpired", at, license, user, slot });
  }

  #findSlot({ license, feature, user }: GrantedSlot): number | null {
    const found = this.#state.licenses.get(license);
    const pool = feature === null ? found?.pool : found?.features.get(feature)?.pool;
    return pool?.get(user)?.slot ?? null;
  }
}

const NO_GRANT: Grant = {
  vendor: "",
  key: "",
  keyUntil: 0,
  serial: 0,
  document: "",
  lic: "",
  policyId: null,
  hardwareId: "",
  hardware: [],
};

/** The limits of the server that refused, from the text of an episode. */
export function readCaps(rule: string | null): SlotCaps {
  const [, scope, limit = ""] =
    /^max_slots_per_(user|peer|address) = (\d+)$/.exec(rule ?? "") ?? [];
  if (scope === undefined) return NO_CAPS;
  return scope === "user"
    ? { perUser: Number(limit), perPeer: null }
    : { perUser: null, perPeer: Number(limit) };
}
