import { describe, expect, test } from "bun:test";
import { instant } from "../../../src/domain/time.ts";
import { parseTimeFlag } from "../../../src/cli/frame/times.ts";

const NOW = instant(Date.parse("2026-03-02T09:00:00.000Z"));

describe("parseTimeFlag", () => {
  test.each([
    ["2026-02-28", "2026-02-28T00:00:00.000Z", "2026-02-28T23:59:59.999Z"],
    ["2024-02-29", "2024-02-29T00:00:00.000Z", "2024-02-29T23:59:59.999Z"],
    ["7d", "2026-02-23T09:00:00.000Z", "2026-02-23T09:00:00.000Z"],
    ["2w", "2026-02-16T09:00:00.000Z", "2026-02-16T09:00:00.000Z"],
    ["36h", "2026-02-28T21:00:00.000Z", "2026-02-28T21:00:00.000Z"],
    ["90m", "2026-03-02T07:30:00.000Z", "2026-03-02T07:30:00.000Z"],
    ["2026-02-28T10:00:00+02:00", "2026-02-28T08:00:00.000Z", "2026-02-28T08:00:00.000Z"],
  ])("reads %s as its beginning for --since and as its end for --until", (text, since, until) => {
    expect(parseTimeFlag("since", text, NOW)).toEqual({ ok: true, value: since });
    expect(parseTimeFlag("until", text, NOW)).toEqual({ ok: true, value: until });
  });

  test.each([
    "monday",
    "2026-02-30",
    "2025-02-29",
    "2026-2-3",
    "7",
    "d",
    "-7d",
    "7y",
    "999999d",
    "2026-02-28T10:00:00",
    "",
  ])("refuses %p and names the value", (text) => {
    expect(parseTimeFlag("since", text, NOW)).toMatchObject({
      ok: false,
      fault: { problem: `must be a day, a time or a duration: ${text}` },
    });
  });
});
