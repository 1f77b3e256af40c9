import { beforeEach, describe, expect, test } from "bun:test";
import type { QueuedPlace } from "../../../../src/domain/model/queue/place.ts";
import {
  WaitingLists,
  type BlockingLimit,
} from "../../../../src/domain/model/queue/waiting-lists.ts";
import { instant, type Instant } from "../../../../src/domain/time.ts";
import { placeFacts } from "../../../support/queue-commands.ts";

const makePlace = (order: number, differing: Partial<QueuedPlace> = {}): QueuedPlace => ({
  number: order,
  user: `user-${order}`,
  licenseId: null,
  facts: placeFacts(),
  peer: "10.0.0.7",
  since: instant(0),
  order,
  hold: null,
  home: null,
  rank: 0,
  departure: null,
  ...differing,
});

const limit = (key: string, wakeAt: Instant | null = null): BlockingLimit => ({
  key,
  isRule: false,
  fault: { code: "slots_capped", scope: "peer", slots: 1 },
  wakeAt,
});

let lists: WaitingLists;
let places: QueuedPlace[];

beforeEach(() => {
  lists = new WaitingLists();
  places = [1, 2, 3].map((order) => makePlace(order));
  for (const place of places) lists.add(place);
});

const first = (): number | null => [...lists.lanes][0]?.first?.order ?? null;
const [A, B, C] = [0, 1, 2];
const at = (index: number): QueuedPlace => {
  const place = places[index];
  if (place === undefined) throw new Error("no such place");
  return place;
};

describe("places that wait", () => {
  test("are in lanes by license and home", () => {
    lists.add(makePlace(4, { licenseId: 1 }));
    lists.add(makePlace(5, { home: "sim" }));
    lists.add(makePlace(6, { home: "" }));
    expect([...lists.lanes].map(({ licenseId, home }) => [licenseId, home])).toEqual([
      [null, null],
      [1, null],
      [null, "sim"],
      [null, ""],
    ]);
  });

  test("are served by rank, then by order", () => {
    lists.add(makePlace(9, { rank: -1 }));
    expect(first()).toBe(9);
  });

  test("leave no lane behind", () => {
    for (const place of places) lists.remove(place);
    expect([...lists.lanes]).toEqual([]);
  });
});

describe("places under a limit", () => {
  beforeEach(() => {
    for (const place of places) lists.park(place, limit("a"));
  });

  test("are not served", () => {
    expect(first()).toBeNull();
  });

  test("come back one at a time, the first one first", () => {
    lists.open("a");
    expect(first()).toBe(1);
    lists.remove(at(A));
    expect(first()).toBe(2);
  });

  test("stay when the one that came back is blocked again", () => {
    lists.open("a");
    lists.park(at(A), limit("a"));
    expect(first()).toBeNull();
  });

  test("follow the one that came back when another limit blocks that one", () => {
    lists.open("a");
    lists.park(at(A), limit("b"));
    expect(first()).toBe(2);
    lists.open("b");
    expect(first()).toBe(1);
  });

  test("do not follow the one that came back once the limit blocks again", () => {
    lists.open("a");
    const late = makePlace(4);
    lists.add(late);
    lists.park(late, limit("a"));
    lists.remove(at(A));
    expect(first()).toBeNull();
  });

  test("stay when the counter of another limit falls", () => {
    lists.open("b");
    expect(first()).toBeNull();
  });

  test("can leave while they are parked", () => {
    lists.remove(at(A));
    lists.open("a");
    expect(first()).toBe(2);
    lists.remove(at(B));
    lists.remove(at(C));
    expect(lists.hasParked).toBe(false);
    expect([...lists.lanes]).toEqual([]);
  });

  test("come back in each lane", () => {
    const other = makePlace(4, { home: "sim" });
    lists.add(other);
    lists.park(other, limit("a"));
    lists.open("a");
    expect([...lists.lanes].map((lane) => lane.first?.order)).toEqual([1, 4]);
  });

  test("come back when all limits of their kind are opened", () => {
    lists.openAll("b");
    expect(first()).toBeNull();
    lists.openAll("a");
    expect(first()).toBe(1);
  });
});

describe("places under a limit that may end with time", () => {
  beforeEach(() => {
    for (const place of places) lists.park(place, limit("a", instant(100)));
  });

  test("stay before that time", () => {
    lists.wake(instant(99));
    expect(first()).toBeNull();
    expect<number | null>(lists.nextWakeAt).toBe(100);
  });

  test("come back at that time, once", () => {
    lists.wake(instant(100));
    expect(first()).toBe(1);
    expect(lists.nextWakeAt).toBeNull();
  });
});
