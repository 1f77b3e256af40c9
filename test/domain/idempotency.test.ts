import { describe, expect, test } from "bun:test";
import type { Event } from "../../src/domain/event.ts";
import { evolve } from "../../src/domain/evolve.ts";
import { limits } from "../../src/domain/limits.ts";
import type { State } from "../../src/domain/state.ts";
import { instant, later, type Instant } from "../../src/domain/time.ts";
import { genesisHead } from "../../src/store/journal.ts";
import { emptyAuditLogEnd } from "../../src/store/snapshot.ts";
import { decodeSnapshot, encodeSnapshot } from "../../src/store/state-rows.ts";
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
} from "../support/scenario.ts";

const once = { key: "k", fingerprint: "f" };
const license = licenseInstalled(1, {
  consumption: consumptionTerms({ max: 10 }),
  features: [featureTerms("prints", { consumption: consumptionTerms({ max: 10 }) })],
});
const counted = given(license).at(MONDAY).execute(consume(3, { once }));

describe("a command with a key", () => {
  test("is written together with its key and outcome, in one line", () => {
    given(license)
      .at(MONDAY)
      .when(consume(3, { once }))
      .records(
        { type: "ConsumptionAdded", total: 3 },
        { type: "KeyRemembered", at: MONDAY, fingerprint: "f", outcome: { license: 1, total: 3 } },
      );
  });

  test("done again counts nothing twice and answers as the first time", () => {
    const since = counted.at(hoursLater(1)).execute(consume(2));
    since.at(hoursLater(2)).when(consume(3, { once })).records().answers({ license: 1, total: 3 });
  });

  test("done again is answered although the license is used up or has ended", () => {
    const ending = licenseInstalled(1, {
      consumption: consumptionTerms({ max: 3 }),
      validUntil: hoursLater(1),
    });
    const used = given(ending).at(MONDAY).execute(consume(3, { once }));
    used.at(minutesLater(1)).when(consume(3, { once })).records().answers({ total: 3 });
    used.at(hoursLater(2)).when(consume(3, { once })).records().answers({ total: 3 });
  });

  test("is refused for another command under the same key", () => {
    counted
      .at(hoursLater(1))
      .when(consume(4, { once: { key: "k", fingerprint: "other" } }))
      .refuses({ code: "idempotency_key_reused" });
  });

  test("is another one under another key", () => {
    counted
      .at(hoursLater(1))
      .when(consume(3, { once: { key: "K", fingerprint: "f" } }))
      .records({ type: "ConsumptionAdded", total: 6 }, { type: "KeyRemembered" });
  });

  test("leaves nothing behind when it counts zero, on either consumption call", () => {
    const free = given(license);
    free.at(MONDAY).when(consume(0, { once })).records().answers({ license: 1, total: 0 });
    free
      .at(MONDAY)
      .when(consumeFeature("prints", 0, { once }))
      .records()
      .answers({ license: 1, feature: "prints", total: 0 });
  });

  test("that counts zero is refused under a key of another command", () => {
    counted
      .at(hoursLater(1))
      .when(consume(0, { once: { key: "k", fingerprint: "other" } }))
      .refuses({ code: "idempotency_key_reused" });
  });

  test("is forgotten when it was refused", () => {
    const short = { code: "license_not_enough_consumptions", left: 10 } as const;
    const free = given(license);
    free.at(MONDAY).when(consume(11, { once })).refuses(short);
    free.at(MONDAY).when(consume(5, { once })).records(
      { type: "ConsumptionAdded" },
      {
        type: "KeyRemembered",
      },
    );
  });

  test("without one is done as often as it is sent", () => {
    const twice = given(license).at(MONDAY).execute(consume(3), consume(3));
    twice.at(MONDAY).when(consume(3)).records({ type: "ConsumptionAdded", total: 9 });
  });
});

describe("a key", () => {
  test("is kept for 24 hours, and not a millisecond longer", () => {
    counted
      .at(justBefore(hoursLater(24)))
      .when(consume(3, { once }))
      .records();
    const again = counted.at(hoursLater(24));
    again
      .when(consume(4, { once: { key: "k", fingerprint: "other" } }))
      .records(
        { type: "ConsumptionAdded", total: 7 },
        { type: "KeyRemembered", at: hoursLater(24) },
      );
  });

  test("used again after that counts from then on", () => {
    const again = counted.at(hoursLater(24)).execute(consume(3, { once }));
    again
      .at(justBefore(hoursLater(48)))
      .when(consume(3, { once }))
      .records()
      .answers({ total: 6 });
  });

  test("belongs to one user, and to nobody is a user of its own", () => {
    for (const user of ["ada", "null"]) {
      counted
        .at(hoursLater(1))
        .when(consume(3, { once, user }))
        .records({ type: "ConsumptionAdded" }, { type: "KeyRemembered" });
    }
  });

  test("is not mixed up with another by what stands between its parts", () => {
    const used = given(license)
      .at(MONDAY)
      .execute(consume(1, { user: "ada", once: { key: "b,c", fingerprint: "f" } }));
    used
      .at(MONDAY)
      .when(consume(1, { user: "ada,b", once: { key: "c", fingerprint: "f" } }))
      .records({ type: "ConsumptionAdded", total: 2 }, { type: "KeyRemembered" });
  });

  test("belongs to one route", () => {
    counted
      .at(hoursLater(1))
      .when(consumeFeature("prints", 1, { once: { key: "k", fingerprint: "other" } }))
      .records({ type: "FeatureConsumptionAdded" }, { type: "KeyRemembered" });
  });

  test("belongs to one product, left out or named", () => {
    const named = consume(3, { once, product: "cad" });
    const left = consume(3, { once, product: null });
    const free = given(license);
    free.at(MONDAY).execute(named).at(hoursLater(1)).when(left).records().answers({ total: 3 });
    free.at(MONDAY).execute(left).at(hoursLater(1)).when(named).records().answers({ total: 3 });
    const cam = licenseInstalled(2, { product: "cam", consumption: consumptionTerms() });
    given(...counted.events, cam)
      .at(hoursLater(1))
      .when(consume(3, { once, product: "cam" }))
      .records({ type: "ConsumptionAdded", license: 2 }, { type: "KeyRemembered" });
  });
});

describe("on the other calls", () => {
  test("a feature is counted once, and another one under its key is another command", () => {
    const used = given(license)
      .at(MONDAY)
      .execute(consumeFeature("prints", 2, { once }));
    used
      .at(hoursLater(1))
      .when(consumeFeature("prints", 2, { once }))
      .records()
      .answers({ license: 1, feature: "prints", total: 2 });
    used
      .at(hoursLater(1))
      .when(consumeFeature("mesh", 2, { once: { key: "k", fingerprint: "other" } }))
      .refuses({ code: "idempotency_key_reused" });
  });

  test("a borrow is done once, and stays given back", () => {
    const lent = given(license)
      .at(MONDAY)
      .execute(borrow("ada", hoursLater(8), { once }));
    lent
      .at(minutesLater(1))
      .execute(unregister("ada"))
      .at(minutesLater(2))
      .when(borrow("ada", hoursLater(8), { once }))
      .records()
      .answers({ slot: 1, user: "ada", end: hoursLater(8), borrowedUntil: hoursLater(8) });
    lent
      .at(minutesLater(1))
      .when(borrow("ada", hoursLater(9), { once: { key: "k", fingerprint: "other" } }))
      .refuses({ code: "idempotency_key_reused" });
  });
});

const key = (name: string, at: Instant, peer?: string): Event => {
  const named = { at, key: name, fingerprint: "f", outcome: null };
  return { type: "KeyRemembered", ...named, ...(peer !== undefined && { peer }) };
};

const keysIn = ({ idempotencyRecords }: State): string[] =>
  [...idempotencyRecords].map(([name]) => name);

const many = (count: number) => Array.from({ length: count }, (_, i) => key(`${i}`, instant(i)));

describe("what is remembered", () => {
  test("is the newest 100,000 keys", () => {
    const state = replayEvents(many(limits.idempotencyKeys));
    expect(state.idempotencyRecords.get("0") !== undefined).toBe(true);
    evolve(state, key("new", instant(limits.idempotencyKeys)));
    expect(state.idempotencyRecords.size).toBe(100_000);
    expect(keysIn(state).slice(0, 2)).toEqual(["1", "2"]);
    expect(state.idempotencyRecords.get("new") !== undefined).toBe(true);
  });

  test("says which address a key came from", () => {
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

  test("does not lose one address's keys to a flood of another's", () => {
    const state = replayEvents([]);
    for (let n = 0; n < 5; n += 1) evolve(state, key(`mine-${n}`, instant(n), "10.0.0.1"));
    const flood = 2 * limits.idempotencyKeys;
    for (let n = 0; n < flood; n += 1) evolve(state, key(`${n}`, instant(n + 5), "10.0.0.2"));
    expect(state.idempotencyRecords.size).toBe(100_000);
    for (let n = 0; n < 5; n += 1)
      expect(state.idempotencyRecords.get(`mine-${n}`) !== undefined).toBe(true);
    expect(state.idempotencyRecords.get(`${flood - 99_995}`) !== undefined).toBe(true);
    expect(state.idempotencyRecords.get(`${flood - 99_996}`) !== undefined).toBe(false);
  });

  test("loses the oldest key of several addresses that have as many", () => {
    const state = replayEvents([]);
    const half = limits.idempotencyKeys / 2;
    for (let n = 0; n < half; n += 1) {
      evolve(state, key(`a-${n}`, instant(2 * n), "10.0.0.1"));
      evolve(state, key(`b-${n}`, instant(2 * n + 1), "10.0.0.2"));
    }
    evolve(state, key("c-0", instant(2 * half), "10.0.0.3"));
    evolve(state, key("c-1", instant(2 * half), "10.0.0.3"));
    expect(keysIn(state).slice(0, 2)).toEqual(["a-1", "b-1"]);
  });

  test("goes on after a restart as without one", () => {
    const state = replayEvents([]);
    let at = 0;
    const add = (of: State, count: number): void => {
      for (let n = 0; n < count; n += 1) {
        at += 1;
        evolve(of, key(`${at % 110_000}`, instant(at), `10.0.0.${(at * at) % 7}`));
      }
    };
    add(state, 150_000);
    const again = decodeSnapshot(encodeSnapshot(state, genesisHead, emptyAuditLogEnd));
    expect([...again.idempotencyRecords]).toEqual([...state.idempotencyRecords]);
    const since = at;
    add(state, 20_000);
    at = since;
    add(again, 20_000);
    expect(keysIn(again)).toEqual(keysIn(state));
  });

  test("loses what is older than a day, a few with each new one, the oldest first", () => {
    const state = replayEvents(many(20));
    evolve(state, key("soon", instant(limits.idempotencyAge - 1)));
    expect(state.idempotencyRecords.size).toBe(21);
    evolve(state, key("a", later(instant(100), limits.idempotencyAge)));
    expect(keysIn(state)).toEqual(["16", "17", "18", "19", "soon", "a"]);
    evolve(state, key("b", later(instant(100), limits.idempotencyAge)));
    expect(keysIn(state)).toEqual(["soon", "a", "b"]);
  });

  test("loses a key at exactly a day", () => {
    const state = replayEvents([key("old", instant(5)), key("older", instant(6))]);
    evolve(state, key("new", later(instant(5), limits.idempotencyAge)));
    expect(keysIn(state)).toEqual(["older", "new"]);
  });

  test("keeps the order of time when a key comes again", () => {
    const again = key("0", instant(9));
    const state = replayEvents([...many(3), again]);
    expect(keysIn(state)).toEqual(["1", "2", "0"]);
  });
});

test("a key is forgotten with the license it was used on, also when that comes back", () => {
  const once = { key: "k", fingerprint: "f" };
  const used = given(licenseInstalled(1, { consumption: consumptionTerms() }))
    .at(MONDAY)
    .execute(consume(2, { once }), remove(1));
  const state = replayEvents(used.events);
  expect([...state.idempotencyRecords]).toEqual([]);
  const again = licenseInstalled(1, { consumption: consumptionTerms() }, minutesLater(1));
  given(...used.events, again)
    .at(minutesLater(2))
    .when(consume(2, { once }))
    .answers({ total: 2 });
});
