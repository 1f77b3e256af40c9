import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { instant } from "../../src/domain/time.ts";
import { rfc3339 } from "../../src/platform/rfc3339.ts";

const MAX_TIME = 8.64e15;
const toIsoString = (milliseconds: number): string => new Date(milliseconds).toISOString();

test("an instant has the text of Date.prototype.toISOString", () => {
  const times = fc.oneof(
    fc.integer({ min: -MAX_TIME, max: MAX_TIME }),
    fc.double({ min: -1e6, max: 4e12, noNaN: true }),
  );
  fc.assert(
    fc.property(times, (at) => {
      expect(rfc3339(instant(at))).toBe(toIsoString(at));
    }),
    { numRuns: 2_000 },
  );
});

test.each([0, -1, 86_399_999, 86_400_000, -86_400_000, MAX_TIME, -MAX_TIME, 1_795_000_000_000.75])(
  "the text of %d is that of Date.prototype.toISOString",
  (at) => {
    expect(rfc3339(instant(at))).toBe(toIsoString(at));
  },
);

test("a number that is no time is refused", () => {
  expect(() => rfc3339(instant(NaN))).toThrow(RangeError);
  expect(() => rfc3339(instant(MAX_TIME + 86_400_000))).toThrow(RangeError);
});
