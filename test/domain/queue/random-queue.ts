// Compares the dispatch, which uses indexes and parks blocked users, with a plain walk over all
// places that counts everything anew.
import type { Command } from "../../../src/domain/decide.ts";
import type { State } from "../../../src/domain/state.ts";
import type { SlotCaps } from "../../../src/domain/rule-context.ts";
import type { QueuedPlace } from "../../../src/domain/queue/place.ts";
import { viewPlace, viewQueue } from "../../../src/domain/queue/queue-view.ts";
import type { PoolRules, RuleSet } from "../../../src/domain/rules/rule-set.ts";
import type { Instant } from "../../../src/domain/time.ts";
import {
  dispatch,
  dropPlace,
  movePlace,
  placeFacts,
  takePlace,
} from "../../support/queue-commands.ts";
import {
  borrow,
  dumpState,
  install,
  register,
  replayEvents,
  unregister,
  renew,
} from "../../support/scenario.ts";
import {
  applyRules,
  group,
  named,
  NO_RULES,
  poolRules,
  reserve,
  ruleSet,
} from "../../support/rule-sets.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { QueueSite } from "./queue-site.ts";

const STEPS = 120;
const USERS = ["ada", "bob", "cid", "dan", "eve", "fay", "gus", "__proto__"];
const HOSTS = ["", "desk", "lab-1", "lab-2"];
const ADDRESSES = ["10.0.0.1", "10.0.0.2", "10.0.0.3"];
const PRODUCTS = ["cad", "cam"];
/** License 1 and 2 are of cad, 3 is of cam. */
const LICENSES = [1, 2, 3];
const ANY_LICENSE = -1;

/** Runs a random sequence of calls; throws if the dispatch serves other users than the walk. */
export function runRandomSequence(seed: number): void {
  const random = new SeededRandom(seed);
  const site = new QueueSite();
  for (const id of LICENSES)
    site.run(install(id, { product: productOf(id), slots: random.intBetween(0, 3) }));
  let serial = 10;
  for (let step = 0; step < STEPS; step += 1) {
    if (random.chance(0.3)) site.wait(random.pick([0, 1, 10, 31]));
    if (random.chance(0.08)) site.settings = { slotCaps: randomCaps(random) };
    if (random.chance(0.05)) site.attempt(applyRules(randomRules(random)));
    if (random.chance(0.06)) {
      const id = random.pick(LICENSES);
      const enabled = random.chance(0.9);
      const slots = random.intBetween(0, 4);
      site.run(renew(id, (serial += 1), { product: productOf(id), slots, enabled }));
    }
    site.attempt(randomCommand(random));
    if (random.chance(0.05)) {
      const before = dumpState(site.state).queues;
      site.restart();
      requireSame(`seed ${seed}, step ${step}: saved`, dumpState(site.state).queues, before);
    }
    const context = `seed ${seed}, step ${step}`;
    for (const product of PRODUCTS) {
      const { slotCaps } = site.context;
      const expected = new PlainQueue(site.state, product, site.at, slotCaps).serve();
      const served = site
        .dispatch(product)
        .map(({ kind, user, license }) => `${kind} ${user} ${license}`);
      requireSame(`${context}: served`, sortDenied(served), sortDenied(expected));
      const order = new PlainQueue(site.state, product, site.at, slotCaps).listByService();
      requireSame(`${context}: order of service`, listShownUsers(site, product), order);
      const positions = order.map(
        (user) => viewPlace(site.state, product, user, site.context)?.place.position,
      );
      const numbers = order.map((_user, index) => index + 1);
      requireSame(`${context}: positions`, positions, numbers);
    }
  }
  const replayed = dumpState(replayEvents(site.events)).queues;
  requireSame(`seed ${seed}: replayed`, replayed, dumpState(site.state).queues);
}

/** The users without a held slot, as operators see them. */
const listShownUsers = (site: QueueSite, product: string): string[] =>
  (viewQueue(site.state, product, site.context)?.places ?? [])
    .filter(({ hold }) => hold === null)
    .map(({ user }) => user);

/** Not `expect`: the search for injected bugs runs without the test runner. */
function requireSame(what: string, received: unknown, expected: unknown): void {
  if (Bun.deepEquals(received, expected)) return;
  throw new Error(`${what}: ${Bun.inspect(received)}, expected ${Bun.inspect(expected)}`);
}

/** Users whom the rules deny leave first, in any order. */
const sortDenied = (changes: readonly string[]): string[] => {
  const isDenied = (change: string): boolean => change.startsWith("denied ");
  return [...changes.filter(isDenied).toSorted(), ...changes.filter((change) => !isDenied(change))];
};

const productOf = (license: number): string => (license === 3 ? "cam" : "cad");

const randomCaps = (random: SeededRandom): SlotCaps => ({
  perUser: random.pick([null, null, 1, 2]),
  perPeer: random.pick([null, 1, 2, 4]),
});

function randomCommand(random: SeededRandom): Command {
  const user = random.pick(USERS);
  const product = random.pick(PRODUCTS);
  const peer = random.pick(ADDRESSES);
  const licenseId = random.chance(0.7) ? null : random.pick(LICENSES);
  const host = random.pick(HOSTS);
  const contact = { hostname: host, ip: "", info: "", peer };
  const facts = placeFacts({ address: peer, host });
  return random.pick<() => Command>([
    () => takePlace(user, { product, licenseId, facts, peer }),
    () => takePlace(user, { product, licenseId: null, facts, peer }),
    () => takePlace(user, { product, licenseId: null, facts, peer }),
    () => register(user, { product, licenseId, contact }),
    () => register(user, { product, licenseId: null, contact }),
    () => borrow(user, null, { product, licenseId, contact }),
    () => unregister(user, { product, licenseId: null }),
    () => dispatch(product, [user]),
    () => movePlace(user, product),
    () => dropPlace(user, product),
  ])();
}

/** Groups by the first letter of the user, and one by host. */
const GROUPS = [
  group("ab", { users: ["a*", "b*"] }),
  group("cde", { users: ["c*", "d*", "e*"] }),
  group("lab", { hosts: ["lab-*"] }),
];

const isMember = (name: string, user: string, host: string): boolean =>
  name === "lab" ? host.startsWith("lab-") : name.includes(user.charAt(0));

function randomRules(random: SeededRandom): RuleSet {
  if (random.chance(0.2)) return NO_RULES;
  const names = GROUPS.map(({ name }) => name);
  const some = (probability: number) => names.filter(() => random.chance(probability));
  const limit = (slots: number) => ({ slots, line: 1 });
  const pools = PRODUCTS.map((product) =>
    poolRules(product, {
      deny: named(...some(0.05)),
      allowOnly: random.chance(0.1) ? named(...some(0.8)) : null,
      reservations: some(0.3).map((name) =>
        reserve(name, random.intBetween(1, 2), random.pick(["keep", "lend"])),
      ),
      eachUser: random.chance(0.3) ? limit(1) : null,
      eachHost: random.chance(0.3) ? limit(random.intBetween(1, 2)) : null,
      groupLimits: some(0.3).map((name) => ({ group: name, ...limit(random.intBetween(0, 2)) })),
      queue: random.chance(0.5)
        ? { line: 1, priority: some(0.5).toReversed(), holdSeconds: 30, maxWaiting: 20 }
        : null,
    }),
  );
  return ruleSet(GROUPS, ...pools);
}

interface PlainSlot {
  readonly user: string;
  readonly peer: string;
  readonly host: string;
  readonly product: string;
  license: number | null;
}

/** What a dispatch must do, computed with scans only. It changes nothing in the state. */
class PlainQueue {
  readonly #product: string;
  readonly #caps: SlotCaps;
  readonly #rules: PoolRules | null;
  readonly #licenses: readonly { id: number; slots: number; isEnabled: boolean }[];
  /** The slots and holds of all products. */
  readonly #slots: readonly PlainSlot[];
  readonly #places: (PlainSlot & QueuedPlace)[];

  constructor(state: State, product: string, at: Instant, caps: SlotCaps) {
    this.#product = product;
    this.#caps = caps;
    const pools = state.rules?.rules.pools ?? [];
    this.#rules = pools.find((pool) => pool.product === product) ?? null;
    this.#licenses = (state.products.get(product) ?? []).map(({ id, terms }) => ({
      id,
      slots: terms.slots,
      isEnabled: terms.enabled,
    }));
    const places = [...state.queues].flatMap((queue) =>
      [...queue.places].map((place) => ({
        ...place,
        product: queue.product,
        host: place.facts.host,
        license: place.hold?.license ?? null,
      })),
    );
    this.#places = places.filter((place) => place.product === product);
    const registrations = [...state.licenses.values()].flatMap(({ id, pool, terms }) =>
      [...pool.inSlotOrder()]
        .filter(({ end }) => end > at)
        .map(({ user, contact, takenFrom }) => ({
          user,
          peer: contact.peer,
          host: takenFrom.hostname,
          product: terms.product,
          license: id,
        })),
    );
    this.#slots = [...registrations, ...places.filter((place) => place.product !== product)];
  }

  serve(): string[] {
    const changes: string[] = [];
    const denied = this.#places.filter((place) => this.#isDenied(place));
    for (const place of denied) {
      this.#places.splice(this.#places.indexOf(place), 1);
      changes.push(`denied ${place.user} null`);
    }
    // At most one license was replaced since the last dispatch.
    for (const license of this.#licenses) {
      const newestFirst = this.#places
        .filter(({ hold }) => hold?.license === license.id)
        .toSorted((a, b) => (b.hold?.at ?? 0) - (a.hold?.at ?? 0) || b.number - a.number);
      for (const place of newestFirst) {
        if (license.isEnabled && this.#countFree(license) >= 0) break;
        place.license = null;
        changes.push(`withdrawn ${place.user} ${license.id}`);
      }
    }
    for (let next = this.#findNext(); next !== null; next = this.#findNext()) {
      next.place.license = next.license;
      changes.push(`held ${next.place.user} ${next.license}`);
    }
    return changes;
  }

  /** The users in the order in which they get slots, if enough come free and no limit blocks. */
  listByService(): string[] {
    const users: string[] = [];
    const isKeeping = (place: PlainSlot): boolean => this.#isAtHome(place) && !this.#isLent(place);
    for (;;) {
      const waiting = this.#sortWaiting();
      // A group that lends leaves the slots that others keep.
      const next = waiting.find(isKeeping) ?? waiting[0];
      if (next === undefined) return users;
      next.license = ANY_LICENSE;
      users.push(next.user);
    }
  }

  #sortWaiting() {
    const waiting = this.#places.filter(({ license }) => license === null);
    return waiting.toSorted(
      (a, b) =>
        Number(this.#isAtHome(b)) - Number(this.#isAtHome(a)) ||
        this.#rankOf(a) - this.#rankOf(b) ||
        a.order - b.order,
    );
  }

  #findNext() {
    for (const place of this.#sortWaiting()) {
      const license = this.#licenses.find(
        (other) =>
          other.isEnabled &&
          this.#countFree(other) > 0 &&
          (place.licenseId === null || place.licenseId === other.id),
      );
      if (license === undefined || !this.#hasRoom(place)) continue;
      if (!this.#isCapped(place) && !this.#isLimited(place)) return { place, license: license.id };
    }
    return null;
  }

  #countFree({ id, slots }: { id: number; slots: number }): number {
    return slots - this.#used().filter(({ license }) => license === id).length;
  }

  /** Slots and holds of all products. */
  #used(): readonly PlainSlot[] {
    return [...this.#slots, ...this.#places].filter(({ license }) => license !== null);
  }

  #usedOfProduct(): readonly PlainSlot[] {
    return this.#used().filter(({ product }) => product === this.#product);
  }

  #isDenied({ user, host }: PlainSlot): boolean {
    const isIn = ({ group: name }: { group: string }): boolean => isMember(name, user, host);
    const { deny = [], allowOnly = null } = this.#rules ?? {};
    return deny.some(isIn) || (allowOnly !== null && !allowOnly.some(isIn));
  }

  #homeOf({ user, host }: PlainSlot): string | null {
    const names = (this.#rules?.reservations ?? []).map(({ group: name }) => name).toSorted();
    return names.find((name) => isMember(name, user, host)) ?? null;
  }

  #countIdle(home: string | null): number {
    const reservation = this.#rules?.reservations.find(({ group: name }) => name === home);
    const used = this.#usedOfProduct().filter((slot) => this.#homeOf(slot) === home).length;
    return Math.max(0, (reservation?.slots ?? 0) - used);
  }

  #isAtHome(place: PlainSlot): boolean {
    return this.#countIdle(this.#homeOf(place)) > 0;
  }

  #hasRoom(place: PlainSlot): boolean {
    const free = this.#licenses
      .filter(({ isEnabled }) => isEnabled)
      .reduce((sum, license) => sum + Math.max(0, this.#countFree(license)), 0);
    const kept = (this.#rules?.reservations ?? [])
      .filter(({ idle }) => idle === "keep")
      .reduce((sum, { group: name }) => sum + this.#countIdle(name), 0);
    return this.#isAtHome(place) && !this.#isLent(place) ? free > 0 : free > kept;
  }

  #isLent(place: PlainSlot): boolean {
    const home = this.#homeOf(place);
    const { reservations = [] } = this.#rules ?? {};
    return reservations.some(({ group: name, idle }) => name === home && idle === "lend");
  }

  #rankOf({ user, host, order }: PlainSlot & QueuedPlace): number {
    const priority = this.#rules?.queue?.priority ?? [];
    const index = priority.findIndex((name) => isMember(name, user, host));
    return order <= 0 ? -1 : index < 0 ? priority.length : index;
  }

  #isCapped({ user, peer }: PlainSlot): boolean {
    const { perUser, perPeer } = this.#caps;
    const used = this.#used();
    return (
      (perUser !== null && used.filter((slot) => slot.user === user).length >= perUser) ||
      (perPeer !== null && used.filter((slot) => slot.peer === peer).length >= perPeer)
    );
  }

  #isLimited({ user, host }: PlainSlot): boolean {
    const { eachUser = null, eachHost = null, groupLimits = [] } = this.#rules ?? {};
    const used = this.#usedOfProduct();
    const count = (isCounted: (slot: PlainSlot) => boolean): number =>
      used.filter(isCounted).length;
    if (eachUser !== null && count((slot) => slot.user === user) >= eachUser.slots) return true;
    if (eachHost !== null && host !== "" && count((slot) => slot.host === host) >= eachHost.slots)
      return true;
    return groupLimits.some(
      ({ group: name, slots }) =>
        isMember(name, user, host) &&
        count((slot) => isMember(name, slot.user, slot.host)) >= slots,
    );
  }
}
