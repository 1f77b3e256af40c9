import { describe, expect, test } from "bun:test";
import { generateKey, keyIdOf, publicPart } from "../../../src/license/documents/keys.ts";
import {
  encodeFigures,
  signUsageStatement,
  verifyUsageStatement,
  type UsageFigures,
  type UsageStatement,
} from "../../../src/license/documents/usage-statement.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const key = await generateKey();
const DAYS = 31;

/** Every license with a feature, each used on every day in another way. */
function makeBusyMonth(licenses: number): UsageFigures {
  const random = new SeededRandom(3);
  const column = (max: number): number[] =>
    Array.from({ length: DAYS }, () => random.intBetween(0, max));
  const pool = (feature: string | null) => ({
    feature,
    peak: column(200),
    slot_minutes: column(200 * 1_440),
    people: column(300),
    consumption: column(100_000),
    overage: column(5_000),
  });
  return {
    licenses: Array.from({ length: licenses }, (_, index) => ({
      license_id: 100_000_000_000_000 + random.intBelow(1_000_000_000),
      serial: index + 1,
      product: `PRODUCT-${index}`,
      pools: [pool(null), pool("MESH")],
    })),
    denied: Array.from({ length: licenses }, (_, index) => ({
      product: `PRODUCT-${index}`,
      feature: null,
      episodes: column(50),
    })),
  };
}

const makeStatement = (usage: string, change: Partial<UsageStatement> = {}): UsageStatement => ({
  iss: keyIdOf(key),
  aud: "00AGREN9A667XRVZ",
  iat: 1_796_083_200,
  jwk: publicPart(key),
  n: 1,
  previous: null,
  from: "2026-10-01",
  to: "2026-11-01",
  audit: { from: 1, to: 9_876, sum: "a".repeat(64) },
  usage,
  ...change,
});

describe("a usage statement", () => {
  test("of 20 licenses that are used on 31 days, each in another way, has at most 48 KiB", async () => {
    const figures = makeBusyMonth(20);
    const document = await signUsageStatement(makeStatement(encodeFigures(figures)), key);
    expect(document).not.toBeNull();
    expect(document?.length).toBeLessThanOrEqual(48 * 1_024);
    const verified = await verifyUsageStatement(document ?? "");
    expect(verified).toMatchObject({ ok: true, value: { figures, days: DAYS } });
  });

  test("that is larger than readers accept is not signed", async () => {
    const usage = encodeFigures(makeBusyMonth(80));
    expect(await signUsageStatement(makeStatement(usage), key)).toBeNull();
  });

  test("whose figures inflate to more than 8 MiB is refused", async () => {
    const figures = { licenses: [], denied: [], more: " ".repeat(9 * 1_024 * 1_024) };
    const usage = encodeFigures(figures);
    const document = await signUsageStatement(makeStatement(usage), key);
    const { ok } = await verifyUsageStatement(document ?? "");
    expect(ok).toBe(false);
  });

  test.each([
    ["no base64url", "a+b"],
    ["another spelling of its last character", "q1bKyUxOzStOLVayiq6tBQB"],
    ["no compressed bytes", "AAAA"],
    ["no JSON", Buffer.from([0x4b, 0x04, 0x00]).toString("base64url")],
  ])("whose figures are %s is refused", async (_, usage) => {
    const document = await signUsageStatement(makeStatement(usage), key);
    expect(await verifyUsageStatement(document ?? "")).toMatchObject({
      ok: false,
      fault: { wrong: "content", expected: "usage" },
    });
  });
});
