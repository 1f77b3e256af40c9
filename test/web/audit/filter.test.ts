import { describe, expect, test } from "bun:test";
import {
  filterLink,
  isBeforePeriod,
  isFilterEmpty,
  isOpenEnded,
  auditQueryOf,
  readFilter,
} from "../../../src/web/audit/filter.ts";
import { eventKindOf, eventTypesOf } from "../../../src/domain/event-catalogue.ts";
import { EVENT_KINDS } from "../../../src/domain/model/event-row.ts";

/** Splits an address as the router does. */
const partsOf = (address: string): string[] =>
  address.slice(2).split("/").slice(1).map(decodeURIComponent);

const read = (...parts: string[]) => readFilter(parts);

describe("audit log filter in the address", () => {
  test.each([
    ["an empty filter", []],
    ["a kind", ["kind=refusals"]],
    ["a search text with special characters", ["text=a/b=c & d?#%20 <img src=x onerror=alert(1)>"]],
    ["a product, a user and a license", ["product=cad/2", "user=ada=", "license=7"]],
    ["days", ["from=2026-02-28", "to=2026-03-01"]],
  ])("restores %s from its link", (_title, parts) => {
    const filter = read(...parts);
    expect(readFilter(partsOf(filterLink(filter)))).toEqual(filter);
    expect(isFilterEmpty(filter)).toBe(parts.length === 0);
  });

  test("ignores parts that are invalid", () => {
    expect(
      isFilterEmpty(
        read("kind=everything", "from=2026-02-30", "to=soon", "license=x", "__proto__=1", "text"),
      ),
    ).toBe(true);
  });
});

describe("audit log query", () => {
  test("is empty for an empty filter", () => {
    expect(auditQueryOf(read())).toEqual({});
  });

  test("lists the event types of a kind, and each type has one kind", () => {
    expect(auditQueryOf(read("kind=refusals"))).toEqual({
      type: "EpisodesObserved,EpisodeEnded,RefusalsCounted",
    });
    for (const kind of EVENT_KINDS) {
      expect(eventTypesOf(kind).length).toBeGreaterThan(0);
      expect(eventTypesOf(kind).every((type) => eventKindOf(type) === kind)).toBe(true);
    }
    expect(eventKindOf("SomethingNewer")).toBe("appliance");
    expect(eventKindOf("constructor")).toBe("appliance");
  });

  test("starts and ends days in the reader's time zone", () => {
    const { since, until } = auditQueryOf(read("from=2026-03-01", "to=2026-03-01"));
    expect(since).toBe(new Date(2026, 2, 1).toISOString());
    expect(until).toBe(new Date(new Date(2026, 2, 2).getTime() - 1).toISOString());
  });

  test("matches future events until the end of its last day", () => {
    const filter = read("to=2026-03-01");
    expect(isOpenEnded(filter, new Date(2026, 2, 1, 23, 59).getTime())).toBe(true);
    expect(isOpenEnded(filter, new Date(2026, 2, 2).getTime())).toBe(false);
    expect(isOpenEnded(read(), 0)).toBe(true);
  });
});

test("isBeforePeriod compares with the beginning of the first day, in the reader's zone", () => {
  const filter = readFilter(["from=2026-03-02"]);
  const beginning = new Date(2026, 2, 2).getTime();
  expect(isBeforePeriod(filter, new Date(beginning).toISOString())).toBe(false);
  expect(isBeforePeriod(filter, new Date(beginning - 1).toISOString())).toBe(true);
  expect(isBeforePeriod(filter, null)).toBe(false);
  expect(isBeforePeriod(readFilter([]), new Date(0).toISOString())).toBe(false);
});
