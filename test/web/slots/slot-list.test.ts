import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { RegistrationChangesReply } from "../../../src/http/routes/slots/registrations-changes.ts";
import { COLUMNS } from "../../../src/web/slots/columns.ts";
import {
  chooseLayout,
  filledColumns,
  gridColumnsOf,
} from "../../../src/web/slots/column-layout.ts";
import { countText } from "../../../src/web/slots/count-text.ts";
import { rowOf, sortRows, type SortOrder } from "../../../src/web/slots/rows.ts";
import {
  NO_SELECTION,
  pruneSelection,
  toggleAll,
  toggleRow,
} from "../../../src/web/slots/selection.ts";
import {
  applyChanges,
  newList,
  sortList,
  type SortedList,
} from "../../../src/web/slots/slot-list.ts";
import { makeRegistration } from "../make-registration.ts";

const NOON = "2026-03-02T12:00:00.000Z";

const changes = (some: Partial<RegistrationChangesReply>): RegistrationChangesReply => ({
  reload: false,
  changed: [],
  removed: [],
  renewed: [],
  now: NOON,
  next: "next",
  ...some,
});

const listOf = (...users: readonly string[]) =>
  newList(
    users.map((user) => makeRegistration(user)),
    changes({}),
    1,
    Date.parse(NOON),
  );

describe("applyChanges", () => {
  test("returns the same list if nothing changed, with the new cursor", () => {
    const list = listOf("ada");
    expect(applyChanges(list, changes({ next: "later" }), 0)).toBe(list);
    expect(list.cursor).toBe("later");
  });

  test("adds, replaces, renews and removes rows", () => {
    const list = listOf("ada", "bob", "cid");
    const times = { last_seen_at: NOON, expires_at: "2026-03-02T12:30:00.000Z" };
    const next = applyChanges(
      list,
      changes({
        removed: [{ license_id: 1, user: "ada" }],
        changed: [makeRegistration("dan"), makeRegistration("bob", { os_hostname: "ws" })],
        renewed: [
          { license_id: 1, user: "cid", ...times },
          { license_id: 1, user: "nobody", ...times },
        ],
      }),
      Date.parse(NOON),
    );
    expect([...next.rows.keys()].toSorted()).toEqual(["1 bob", "1 cid", "1 dan"]);
    expect(next.rows.get("1 bob")?.registration.os_hostname).toBe("ws");
    expect(next.rows.get("1 cid")?.registration).toMatchObject(times);
    expect(next.rows.get("1 cid")).toEqual(rowOf(makeRegistration("cid", times)));
    expect(next.version).toBe(list.version + 1);
  });

  test("ends a borrow by the server's time, not by the browser's", () => {
    const borrowed = makeRegistration("ada", { borrowed_until: NOON });
    const list = newList([borrowed], changes({}), 1, 0);
    const before = applyChanges(list, changes({ now: "2026-03-02T11:59:59.000Z" }), 1e15);
    expect(before.rows.get("1 ada")?.isBorrowed).toBe(true);
    const after = applyChanges(list, changes({ now: NOON }), 0);
    expect(after.rows.get("1 ada")?.isBorrowed).toBe(false);
    expect(after.clockOffset).toBe(Date.parse(NOON));
  });
});

test("sortList gives the same order whether it sorts all rows or only moves the changed ones", () => {
  const user = fc.constantFrom("ada", "bob", "cid", "dan", "eve", "fay");
  const row = fc
    .record({ user, os_hostname: fc.constantFrom("", "ws-1", "ws-10") })
    .map((fields) => makeRegistration(fields.user, fields));
  const order: fc.Arbitrary<SortOrder> = fc.record({
    column: fc.constantFrom(...COLUMNS),
    descending: fc.boolean(),
  });
  const step = fc.record({ changed: fc.array(row, { maxLength: 3 }), removed: fc.array(user) });
  fc.assert(
    fc.property(fc.array(row), fc.array(step), order, (first, steps, by) => {
      let list = newList(first, changes({}), 1, 0);
      let sorted: SortedList | null = sortList(list, by, null);
      for (const { changed, removed } of steps) {
        const gone = removed.map((name) => ({ license_id: 1, user: name }));
        list = applyChanges(list, changes({ changed, removed: gone }), 0);
        sorted = sortList(list, by, sorted);
        expect(sorted.rows).toEqual(sortRows([...list.rows.values()], by));
      }
    }),
  );
});

describe("chooseLayout", () => {
  const ALL = new Set(COLUMNS);

  test("shows all columns in a wide window and leaves out the least important ones first", () => {
    expect(chooseLayout(200, ALL).columns).toEqual(COLUMNS);
    expect(chooseLayout(60, ALL).columns).toEqual([
      "user",
      "product",
      "host",
      "lastSeen",
      "duration",
    ]);
  });

  test("never chooses columns that need more than the width", () => {
    for (let width = 54; width < 120; width += 1) {
      const layout = chooseLayout(width, ALL);
      const widths = gridColumnsOf(layout).match(/[\d.]+(?=rem)/g) ?? [];
      const sum = widths.reduce((total, text) => total + Number(text), 0);
      expect([layout.kind, sum <= width - 15]).toEqual(["table", true]);
    }
  });

  test("shows cards below 54 rem, and narrow ones below 38 rem", () => {
    expect([53, 38, 37, 20].map((width) => chooseLayout(width, ALL).kind)).toEqual([
      "wide-card",
      "wide-card",
      "narrow-card",
      "narrow-card",
    ]);
  });

  test("leaves out columns that are empty in all rows", () => {
    const filled = filledColumns([rowOf(makeRegistration("ada"))]);
    expect([...filled]).toEqual(["user", "product", "address", "lastSeen", "duration"]);
    const more = rowOf(makeRegistration("bob", { features: ["mesh"], borrowed_until: NOON }));
    expect([...filledColumns([rowOf(makeRegistration("ada")), more])]).toContain("features");
    expect(chooseLayout(200, filled).columns).toEqual([...filled]);
  });
});

describe("a selection", () => {
  const rows = ["ada", "bob", "cid", "dan"].map((user) => rowOf(makeRegistration(user)));
  const toggled = (selection: typeof NO_SELECTION, user: string, isRange = false) =>
    toggleRow(selection, `1 ${user}`, rows, isRange);
  const usersOf = ({ keys }: typeof NO_SELECTION) =>
    [...keys].map((key) => key.slice(2)).toSorted();

  test("gets and loses single rows", () => {
    const one = toggled(NO_SELECTION, "bob");
    expect(usersOf(toggled(one, "dan"))).toEqual(["bob", "dan"]);
    expect(usersOf(toggled(one, "bob"))).toEqual([]);
  });

  test("gets all rows of a range in both directions, and loses them again", () => {
    const range = toggled(toggled(NO_SELECTION, "cid"), "ada", true);
    expect(usersOf(range)).toEqual(["ada", "bob", "cid"]);
    expect(usersOf(toggled(range, "cid", true))).toEqual([]);
    expect(usersOf(toggled(NO_SELECTION, "cid", true))).toEqual(["cid"]);
  });

  test("gets only one row if the row where the range began is no longer shown", () => {
    const { keys } = toggleRow({ keys: new Set(), anchor: "1 gone" }, "1 bob", rows, true);
    expect([...keys]).toEqual(["1 bob"]);
  });

  test("gets all shown rows, and loses only these", () => {
    const other = toggleRow(NO_SELECTION, "9 eve", rows, false);
    const all = toggleAll(other, rows);
    expect(all.keys.size).toBe(5);
    expect([...toggleAll(all, rows).keys]).toEqual(["9 eve"]);
  });

  test("loses the slots that are no longer in use, and is otherwise the same", () => {
    const some = toggled(toggled(NO_SELECTION, "ada"), "bob");
    expect(usersOf(pruneSelection(some, (key) => key !== "1 ada"))).toEqual(["bob"]);
    expect(pruneSelection(some, () => true)).toBe(some);
  });
});

test.each([
  [{}, { shown: 42, inUse: 42, licensed: null }, "42 slots in use"],
  [{}, { shown: 1, inUse: 1, licensed: null }, "1 slot in use"],
  [{ product: "CAD" }, { shown: 9, inUse: 9, licensed: 10 }, "9 of 10 CAD slots in use"],
  [{ product: "OLD" }, { shown: 2, inUse: 2, licensed: null }, "2 slots in use"],
  [
    { search: "ann" },
    { shown: 12, inUse: 10_000, licensed: null },
    "12 of 10,000 shown: contains “ann”",
  ],
  [
    { search: "ann  ws", product: "CAD", borrowedOnly: true },
    { shown: 1, inUse: 9, licensed: 10 },
    "1 of 9 CAD shown: contains “ann” and “ws”, borrowed only",
  ],
])("the count of the filter %j and %j is %j", (filter, counts, text) => {
  const all = { search: "", product: "", borrowedOnly: false };
  expect(countText({ ...all, ...filter }, counts)).toBe(text);
});
