import { describe, expect, test } from "bun:test";
import type { Event } from "../../../src/domain/model/event.ts";
import { evolve } from "../../../src/domain/evolve/evolve.ts";
import { limits } from "../../../src/domain/model/limits.ts";
import type { State } from "../../../src/domain/model/state.ts";
import { instant, later, type Instant } from "../../../src/domain/time.ts";
import { genesisHead } from "../../../src/store/journal/journal.ts";
import { emptyAuditLogEnd } from "../../../src/store/state/snapshot.ts";
import { decodeSnapshot, encodeSnapshot } from "../../../src/store/state/state-rows.ts";
import {
  justBefore,
  borrow,
  CONTACT,
  consume,
  consumeFeature,
  consumptionTerms,
  featureTerms,
  given,
  hoursLater,
  licenseInstalled,
  minutesLater,
  MONDAY,
  remove,
  replayEvents,
  unregister,
} from "../../support/scenario.ts";

const once = { key: "k", fingerprint: "f" };
const license = licenseInstalled(1, {
  consumption: consumptionTerms({ max: 10 }),
  features: [featureTerms("prints", { consumption: consumptionTerms({ max: 10 }) })],
});
const consumed = given(license).at(MONDAY).execute(consume(3, { once }));

describe("a command with an idempotency key", () => {
  test("is recorded together with its key and outcome in one line", () => {
    given(license)
      .at(MONDAY)
      .when(consume(3, { once }))
      .records(
        { type: "ConsumptionAdded", total: 3 },
        { type: "KeyRemembered", at: MONDAY, fingerprint: "f", outcome: { license: 1, total: 3 } },
      );
  });

  test("counts nothing when repeated and answers as the first time", () => {
    const consumedMore = consumed.at(hoursLater(1)).execute(consume(2));
    consumedMore
      .at(hoursLater(2))
      .when(consume(3, { once }))
      .records()
      .answers({ license: 1, total: 3 });
  });

  test("is answered when repeated although the license is used up or expired", () => {
    const expiring = licenseInstalled(1, {
      consumption: consumptionTerms({ max: 3 }),
      validUntil: hoursLater(1),
    });
    const consumedOnce = given(expiring).at(MONDAY).execute(consume(3, { once }));
    consumedOnce.at(minutesLater(1)).when(consume(3, { once })).records().answers({ total: 3 });
    consumedOnce.at(hoursLater(2)).when(consume(3, { once })).records().answers({ total: 3 });
  });

  test("is refused when another command used the same key", () => {
    consumed
      .at(hoursLater(1))
      .when(consume(4, { once: { key: "k", fingerprint: "other" } }))
      .refuses({ code: "idempotency_key_reused" });
  });

  test("is executed again under another key", () => {
    consumed
      .at(hoursLater(1))
      .when(consume(3, { once: { key: "K", fingerprint: "f" } }))
      .records({ type: "ConsumptionAdded", total: 6 }, { type: "KeyRemembered" });
  });

  test("is not remembered when it counts zero, on either consumption call", () => {
    const unused = given(license);
    unused.at(MONDAY).when(consume(0, { once })).records().answers({ license: 1, total: 0 });
    unused
      .at(MONDAY)
      .when(consumeFeature("prints", 0, { once }))
      .records()
      .answers({ license: 1, feature: "prints", total: 0 });
  });

  test("is refused under the key of another command even when it counts zero", () => {
    consumed
      .at(hoursLater(1))
      .when(consume(0, { once: { key: "k", fingerprint: "other" } }))
      .refuses({ code: "idempotency_key_reused" });
  });

  test("is not remembered when it was refused", () => {
    const notEnough = { code: "license_not_enough_consumptions", left: 10 } as const;
    const unused = given(license);
    unused.at(MONDAY).when(consume(11, { once })).refuses(notEnough);
    unused.at(MONDAY).when(consume(5, { once })).records(
      { type: "ConsumptionAdded" },
      {
        type: "KeyRemembered",
      },
    );
  });

  test("is executed as often as it is sent when it has no key", () => {
    const consumedTwice = given(license).at(MONDAY).execute(consume(3), consume(3));
    consumedTwice.at(MONDAY).when(consume(3)).records({ type: "ConsumptionAdded", total: 9 });
  });
});

describe("an idempotency key", () => {
  test("is remembered for 24 hours, and not a millisecond longer", () => {
    consumed
      .at(justBefore(hoursLater(24)))
      .when(consume(3, { once }))
      .records();
    const afterExpiry = consumed.at(hoursLater(24));
    afterExpiry
      .when(consume(4, { once: { key: "k", fingerprint: "other" } }))
      .records(
        { type: "ConsumptionAdded", total: 7 },
        { type: "KeyRemembered", at: hoursLater(24) },
      );
  });

  test("is remembered for another 24 hours when it is used again after that", () => {
    const afterExpiry = consumed.at(hoursLater(24)).execute(consume(3, { once }));
    afterExpiry
      .at(justBefore(hoursLater(48)))
      .when(consume(3, { once }))
      .records()
      .answers({ total: 6 });
  });

  test("belongs to one user; a call without a user has its own keys", () => {
    for (const user of ["ada", "null"]) {
      consumed
        .at(hoursLater(1))
        .when(consume(3, { once, user }))
        .records({ type: "ConsumptionAdded" }, { type: "KeyRemembered" });
    }
  });

  test("is distinct although its user and text join to the same characters", () => {
    const consumedOnce = given(license)
      .at(MONDAY)
      .execute(consume(1, { user: "ada", once: { key: "b,c", fingerprint: "f" } }));
    consumedOnce
      .at(MONDAY)
      .when(consume(1, { user: "ada,b", once: { key: "c", fingerprint: "f" } }))
      .records({ type: "ConsumptionAdded", total: 2 }, { type: "KeyRemembered" });
  });

  test("belongs to one route", () => {
    consumed
      .at(hoursLater(1))
      .when(consumeFeature("prints", 1, { once: { key: "k", fingerprint: "other" } }))
      .records({ type: "FeatureConsumptionAdded" }, { type: "KeyRemembered" });
  });

  test("belongs to one product, whether it is named or left out", () => {
    const withProduct = consume(3, { once, product: "cad" });
    const withoutProduct = consume(3, { once, product: null });
    const unused = given(license);
    unused
      .at(MONDAY)
      .execute(withProduct)
      .at(hoursLater(1))
      .when(withoutProduct)
      .records()
      .answers({ total: 3 });
    unused
      .at(MONDAY)
      .execute(withoutProduct)
      .at(hoursLater(1))
      .when(withProduct)
      .records()
      .answers({ total: 3 });
    const cam = licenseInstalled(2, { product: "cam", consumption: consumptionTerms() });
    given(...consumed.events, cam)
      .at(hoursLater(1))
      .when(consume(3, { once, product: "cam" }))
      .records({ type: "ConsumptionAdded", license: 2 }, { type: "KeyRemembered" });
  });
});

describe("idempotency keys of other calls", () => {
  test("a feature consumption counts once; another feature under its key is refused", () => {
    const consumedOnce = given(license)
      .at(MONDAY)
      .execute(consumeFeature("prints", 2, { once }));
    consumedOnce
      .at(hoursLater(1))
      .when(consumeFeature("prints", 2, { once }))
      .records()
      .answers({ license: 1, feature: "prints", total: 2 });
    consumedOnce
      .at(hoursLater(1))
      .when(consumeFeature("mesh", 2, { once: { key: "k", fingerprint: "other" } }))
      .refuses({ code: "idempotency_key_reused" });
  });

  test("a borrow is executed once, and stays released when it is repeated", () => {
    const borrowed = given(license)
      .at(MONDAY)
      .execute(borrow("ada", hoursLater(8), { once }));
    borrowed
      .at(minutesLater(1))
      .execute(unregister("ada"))
      .at(minutesLater(2))
      .when(borrow("ada", hoursLater(8), { once }))
      .records()
      .answers({ slot: 1, user: "ada", end: hoursLater(8), borrowedUntil: hoursLater(8) });
    borrowed
      .at(minutesLater(1))
      .when(borrow("ada", hoursLater(9), { once: { key: "k", fingerprint: "other" } }))
      .refuses({ code: "idempotency_key_reused" });
  });
});

const keyRemembered = (name: string, at: Instant, peer = "10.0.0.1"): Event => ({
  type: "KeyRemembered",
  at,
  key: name,
  fingerprint: "f",
  outcome: null,
  peer,
});

const keysIn = ({ idempotencyRecords }: State): string[] =>
  [...idempotencyRecords].map(([name]) => name);

const makeKeys = (count: number) =>
  Array.from({ length: count }, (_, i) => keyRemembered(`${i}`, instant(i)));

describe("the set of remembered keys", () => {
  test("holds the newest 100,000 keys", () => {
    const state = replayEvents(makeKeys(limits.idempotencyKeys));
    expect(state.idempotencyRecords.get("0") !== undefined).toBe(true);
    evolve(state, keyRemembered("new", instant(limits.idempotencyKeys)));
    expect(state.idempotencyRecords.size).toBe(100_000);
    expect(keysIn(state).slice(0, 2)).toEqual(["1", "2"]);
    expect(state.idempotencyRecords.get("new") !== undefined).toBe(true);
  });

  test("records the address that a key came from", () => {
    const calls = [
      consume(3, { once, peer: "10.0.0.5" }),
      consumeFeature("prints", 1, { once, peer: "10.0.0.5" }),
      borrow("ada", null, { once, contact: { ...CONTACT, peer: "10.0.0.5" } }),
    ];
    for (const command of calls) {
      const { events } = given(license).at(MONDAY).execute(command);
      expect(events.at(-1)).toMatchObject({ type: "KeyRemembered", peer: "10.0.0.5" });
    }
  });

  test("keeps the keys of one address when another sends very many", () => {
    const state = replayEvents([]);
    for (let n = 0; n < 5; n += 1)
      evolve(state, keyRemembered(`first-${n}`, instant(n), "10.0.0.1"));
    const floodSize = 2 * limits.idempotencyKeys;
    for (let n = 0; n < floodSize; n += 1)
      evolve(state, keyRemembered(`${n}`, instant(n + 5), "10.0.0.2"));
    expect(state.idempotencyRecords.size).toBe(100_000);
    for (let n = 0; n < 5; n += 1)
      expect(state.idempotencyRecords.get(`first-${n}`) !== undefined).toBe(true);
    expect(state.idempotencyRecords.get(`${floodSize - 99_995}`) !== undefined).toBe(true);
    expect(state.idempotencyRecords.get(`${floodSize - 99_996}`) !== undefined).toBe(false);
  });

  test("drops the oldest key when several addresses have equally many", () => {
    const state = replayEvents([]);
    const perAddress = limits.idempotencyKeys / 2;
    for (let n = 0; n < perAddress; n += 1) {
      evolve(state, keyRemembered(`a-${n}`, instant(2 * n), "10.0.0.1"));
      evolve(state, keyRemembered(`b-${n}`, instant(2 * n + 1), "10.0.0.2"));
    }
    evolve(state, keyRemembered("c-0", instant(2 * perAddress), "10.0.0.3"));
    evolve(state, keyRemembered("c-1", instant(2 * perAddress), "10.0.0.3"));
    expect(keysIn(state).slice(0, 2)).toEqual(["a-1", "b-1"]);
  });

  test("drops the same keys after a restart as without one", () => {
    const state = replayEvents([]);
    let at = 0;
    const add = (of: State, count: number): void => {
      for (let n = 0; n < count; n += 1) {
        at += 1;
        evolve(of, keyRemembered(`${at % 110_000}`, instant(at), `10.0.0.${(at * at) % 7}`));
      }
    };
    add(state, 150_000);
    const restored = decodeSnapshot(encodeSnapshot(state, genesisHead, emptyAuditLogEnd));
    expect([...restored.idempotencyRecords]).toEqual([...state.idempotencyRecords]);
    const restartedAt = at;
    add(state, 20_000);
    at = restartedAt;
    add(restored, 20_000);
    expect(keysIn(restored)).toEqual(keysIn(state));
  });

  test("drops keys older than a day, oldest first, a few with each new key", () => {
    const state = replayEvents(makeKeys(20));
    evolve(state, keyRemembered("soon", instant(limits.idempotencyAge - 1)));
    expect(state.idempotencyRecords.size).toBe(21);
    evolve(state, keyRemembered("a", later(instant(100), limits.idempotencyAge)));
    expect(keysIn(state)).toEqual(["16", "17", "18", "19", "soon", "a"]);
    evolve(state, keyRemembered("b", later(instant(100), limits.idempotencyAge)));
    expect(keysIn(state)).toEqual(["soon", "a", "b"]);
  });

  test("drops a key that is exactly one day old", () => {
    const state = replayEvents([
      keyRemembered("old", instant(5)),
      keyRemembered("older", instant(6)),
    ]);
    evolve(state, keyRemembered("new", later(instant(5), limits.idempotencyAge)));
    expect(keysIn(state)).toEqual(["older", "new"]);
  });

  test("moves a repeated key to the end of the order", () => {
    const repeated = keyRemembered("0", instant(9));
    const state = replayEvents([...makeKeys(3), repeated]);
    expect(keysIn(state)).toEqual(["1", "2", "0"]);
  });
});

test("an idempotency key is forgotten when its license is removed, even if that is reinstalled", () => {
  const once = { key: "k", fingerprint: "f" };
  const consumedOnce = given(licenseInstalled(1, { consumption: consumptionTerms() }))
    .at(MONDAY)
    .execute(consume(2, { once }), remove(1));
  const state = replayEvents(consumedOnce.events);
  expect([...state.idempotencyRecords]).toEqual([]);
  const reinstalled = licenseInstalled(1, { consumption: consumptionTerms() }, minutesLater(1));
  given(...consumedOnce.events, reinstalled)
    .at(minutesLater(2))
    .when(consume(2, { once }))
    .answers({ total: 2 });
});
