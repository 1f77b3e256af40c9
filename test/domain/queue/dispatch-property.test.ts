// Compares the dispatch, which uses indexes and parks blocked users, with a plain walk over all
// places that counts everything anew.
import { expect, test } from "bun:test";
import type { Command } from "../../../src/domain/decide.ts";
import type { State } from "../../../src/domain/state.ts";
import type { SlotCaps } from "../../../src/domain/rule-context.ts";
import type { Instant } from "../../../src/domain/time.ts";
import { decodeSnapshot, encodeSnapshot } from "../../../src/store/state/state-rows.ts";
import { emptyAuditLogEnd } from "../../../src/store/state/snapshot.ts";
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
import { SeededRandom } from "../../support/seeded-random.ts";
import { QueueSite } from "./queue-site.ts";

const SEQUENCES = Number(process.env["QUEUE_SEQUENCES"] ?? 50);
const STEPS = 120;
const USERS = ["ada", "bob", "cid", "dan", "eve", "fay", "gus", "__proto__"];
const ADDRESSES = ["10.0.0.1", "10.0.0.2", "10.0.0.3"];
const PRODUCTS = ["cad", "cam"];
/** License 1 and 2 are of cad, 3 is of cam. */
const LICENSES = [1, 2, 3];

for (const seed of [1, 2, 3]) {
  test(`dispatch › serves the same users as a plain walk over the queue, seed ${seed}`, () => {
    for (let n = 0; n < SEQUENCES; n += 1) runRandomSequence(seed * 1_000_000 + n);
  });
}

function runRandomSequence(seed: number): void {
  const random = new SeededRandom(seed);
  const site = new QueueSite();
  for (const id of LICENSES)
    site.run(install(id, { product: productOf(id), slots: random.intBetween(0, 3) }));
  let serial = 10;
  for (let step = 0; step < STEPS; step += 1) {
    if (random.chance(0.3)) site.wait(random.pick([0, 1, 10, 31]));
    if (random.chance(0.08)) site.settings = { slotCaps: randomCaps(random) };
    if (random.chance(0.06)) {
      const id = random.pick(LICENSES);
      const enabled = random.chance(0.9);
      const slots = random.intBetween(0, 4);
      site.run(renew(id, (serial += 1), { product: productOf(id), slots, enabled }));
    }
    site.attempt(randomCommand(random));
    const context = `seed ${seed}, step ${step}`;
    for (const product of PRODUCTS) {
      const { slotCaps } = site.context;
      const expected = servePlainly(site.state, product, site.at, slotCaps);
      const served = site
        .dispatch(product)
        .map(({ kind, user, license }) => `${kind} ${user} ${license}`);
      expect({ context, served }).toEqual({ context, served: expected });
    }
  }
  const replayed = replayEvents(site.events);
  expect(dumpState(replayed)).toEqual(dumpState(site.state));
  const saved = encodeSnapshot(site.state, NO_HEAD, emptyAuditLogEnd);
  expect(dumpState(decodeSnapshot(structuredClone(saved))).queues).toEqual(
    dumpState(site.state).queues,
  );
}

const NO_HEAD = { seq: 0, sum: "", auditSeq: 0, auditSum: "" };

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
  const contact = { hostname: "", ip: "", info: "", peer };
  const facts = placeFacts({ address: peer });
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

/** What a dispatch must do, computed with scans only. It changes nothing. */
function servePlainly(
  state: State,
  product: string,
  at: Instant,
  { perUser, perPeer }: SlotCaps,
): string[] {
  const slots = [...state.licenses.values()].flatMap(({ id, pool }) =>
    [...pool.inSlotOrder()]
      .filter(({ end }) => end > at)
      .map(({ user, contact }) => ({ license: id, user, peer: contact.peer })),
  );
  const otherHolds = [...state.queues].flatMap((queue) =>
    queue.product === product ? [] : [...queue.places].filter(({ hold }) => hold !== null),
  );
  const places = [...(state.queues.get(product)?.places ?? [])].map((place) => ({
    ...place,
    license: place.hold?.license ?? null,
  }));
  const licenses = (state.products.get(product) ?? []).map(({ id, terms }) => ({
    id,
    slots: terms.enabled ? terms.slots : 0,
    enabled: terms.enabled,
  }));
  const freeOf = ({ id, slots: all }: { id: number; slots: number }): number =>
    all -
    slots.filter(({ license }) => license === id).length -
    places.filter(({ license }) => license === id).length;
  const changes: string[] = [];
  // At most one license was replaced since the last dispatch.
  for (const license of licenses) {
    const newestFirst = places
      .filter(({ hold }) => hold?.license === license.id)
      .toSorted((a, b) => (b.hold?.at ?? 0) - (a.hold?.at ?? 0) || b.number - a.number);
    for (const place of newestFirst) {
      if (license.enabled && freeOf(license) >= 0) break;
      place.license = null;
      changes.push(`withdrawn ${place.user} ${license.id}`);
    }
  }
  const line = places.toSorted(
    (a, b) => Number(a.order > 0) - Number(b.order > 0) || a.order - b.order,
  );
  const isBlocked = ({ user, peer }: { user: string; peer: string }): boolean => {
    const all = [...slots, ...otherHolds, ...places.filter(({ license }) => license !== null)];
    return (
      (perUser !== null && all.filter((other) => other.user === user).length >= perUser) ||
      (perPeer !== null && all.filter((other) => other.peer === peer).length >= perPeer)
    );
  };
  for (;;) {
    const next = line
      .filter(({ license }) => license === null)
      .map((place) => ({
        place,
        license: licenses.find(
          (license) =>
            freeOf(license) > 0 && (place.licenseId === null || place.licenseId === license.id),
        ),
      }))
      .find(({ place, license }) => license !== undefined && !isBlocked(place));
    if (next?.license === undefined) return changes;
    next.place.license = next.license.id;
    changes.push(`held ${next.place.user} ${next.license.id}`);
  }
}
