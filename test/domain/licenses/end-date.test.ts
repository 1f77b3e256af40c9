import { describe, expect, test } from "bun:test";
import { describeEnd, isEndingSoon } from "../../../src/domain/licenses/end-date.ts";
import { DAY, instant } from "../../../src/domain/time.ts";

const at = (text: string) => instant(Date.parse(text));
const NOW = at("2026-11-15T21:29:00.000Z");

describe("describeEnd", () => {
  test.each([
    ["2026-11-15T21:40:00.000Z", "expires today at 21:40 UTC"],
    ["2026-11-15T23:59:59.999Z", "expires today at 23:59 UTC"],
    ["2026-11-15T21:29:00.001Z", "expires today at 21:29 UTC"],
    ["2026-11-16T00:00:00.000Z", "expires tomorrow at 00:00 UTC"],
    ["2026-11-16T23:59:59.999Z", "expires tomorrow at 23:59 UTC"],
    ["2026-11-17T00:00:00.000Z", "expires in 2 days"],
    ["2026-12-15T09:05:00.000Z", "expires in 30 days"],
    ["2026-11-15T21:29:00.000Z", "has expired"],
    ["2026-11-14T00:00:00.000Z", "has expired"],
  ])("says that an end at %s %s", (end, text) => {
    expect(describeEnd(at(end), NOW)).toBe(text);
  });
});

test.each([1, 30, 365])(
  "isEndingSoon with %i days is true just before that, and false exactly then",
  (days) => {
    const end = instant(NOW + days * DAY);
    expect(isEndingSoon(end, NOW, days)).toBe(false);
    expect(isEndingSoon(instant(end - 1), NOW, days)).toBe(true);
    expect(isEndingSoon(NOW, NOW, days)).toBe(true);
  },
);
