import { describe, expect, test } from "bun:test";
import {
  filterLink,
  isFilterEmpty,
  isOpenEnded,
  auditQueryOf,
  readFilter,
} from "../../src/web/audit-log/filter.ts";
import { eventKindOf, EVENT_KINDS, eventTypesOf } from "../../src/web/audit-log/event-kinds.ts";

/** As the router takes an address apart. */
const partsOf = (address: string): string[] =>
  address.slice(2).split("/").slice(1).map(decodeURIComponent);

const read = (...parts: string[]) => readFilter(parts);

describe("the address of a part of the record", () => {
  test.each([
    ["nothing", []],
    ["a kind", ["kind=refusals"]],
    ["a search with everything in it", ["text=a/b=c & d?#%20 <img src=x onerror=alert(1)>"]],
    ["a product, a user and a license", ["product=cad/2", "user=ada=", "license=7"]],
    ["days", ["from=2026-02-28", "to=2026-03-01"]],
  ])("%s comes back as it was", (_what, parts) => {
    const filter = read(...parts);
    expect(readFilter(partsOf(filterLink(filter)))).toEqual(filter);
    expect(isFilterEmpty(filter)).toBe(parts.length === 0);
  });

  test("what makes no sense in it is left out", () => {
    expect(
      isFilterEmpty(
        read("kind=everything", "from=2026-02-30", "to=soon", "license=x", "__proto__=1", "text"),
      ),
    ).toBe(true);
  });
});

describe("what the server is asked for", () => {
  test("everything is asked for by asking for nothing", () => {
    expect(auditQueryOf(read())).toEqual({});
  });

  test("a kind is a list of types, and each type is of one kind", () => {
    expect(auditQueryOf(read("kind=refusals"))).toEqual({ type: "RefusalsCounted" });
    for (const kind of EVENT_KINDS) {
      expect(eventTypesOf(kind).length).toBeGreaterThan(0);
      expect(eventTypesOf(kind).every((type) => eventKindOf(type) === kind)).toBe(true);
    }
    expect(eventKindOf("SomethingNewer")).toBe("appliance");
    expect(eventKindOf("constructor")).toBe("appliance");
  });

  test("days begin and end where the reader is", () => {
    const { since, until } = auditQueryOf(read("from=2026-03-01", "to=2026-03-01"));
    expect(since).toBe(new Date(2026, 2, 1).toISOString());
    expect(until).toBe(new Date(new Date(2026, 2, 2).getTime() - 1).toISOString());
  });

  test("what happens from now on is in it until its last day is over", () => {
    const filter = read("to=2026-03-01");
    expect(isOpenEnded(filter, new Date(2026, 2, 1, 23, 59).getTime())).toBe(true);
    expect(isOpenEnded(filter, new Date(2026, 2, 2).getTime())).toBe(false);
    expect(isOpenEnded(read(), 0)).toBe(true);
  });
});
