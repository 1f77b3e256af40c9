import { expect, test } from "bun:test";
import { join } from "node:path";
import { DAY, HOUR, instant, later, MINUTE, type Instant } from "../../src/domain/time.ts";
import {
  DEFAULT_USAGE_MONTHS,
  findOldestMonth,
  UsageWriter,
} from "../../src/operations/usage/usage-files.ts";
import { readPosition, spanFields } from "../../src/operations/usage/usage-position.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { computeUsage } from "../../src/usage/compute-usage.ts";
import type { Session, SiteRecord } from "../../src/usage/site-record.ts";
import { UsageTable } from "../../src/usage/usage-table.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { terms, utc } from "../support/scenario.ts";
import { tempFolder } from "../support/temp-folder.ts";

const START = utc("2026-01-01T00:00:00Z");
const DAYS = 365;
const PEOPLE = 200;
const PRODUCTS = Array.from({ length: 20 }, (_, n) => `PRODUCT-${n + 1}`);
const MIB = 1024 * 1024;

/** Everybody uses one to four products on a working day, one after the other or at once. */
function makeSessions(day: Instant, random: SeededRandom): Session[] {
  const weekday = new Date(day).getUTCDay();
  const present = weekday === 0 || weekday === 6 ? 0.05 : 0.85;
  const sessions: Session[] = [];
  for (let person = 0; person < PEOPLE; person += 1) {
    if (!random.chance(present)) continue;
    for (let n = random.intBetween(1, 4); n > 0; n -= 1) {
      const start = later(day, 7 * HOUR + random.intBelow(10 * HOUR));
      sessions.push({
        product: random.pick(PRODUCTS),
        feature: null,
        license: 1,
        user: `user-${person}`,
        slot: sessions.length,
        start,
        end: later(start, 10 * MINUTE + random.intBelow(5 * HOUR)),
        startPeriod: 0,
        endPeriod: 0,
        startSeq: null,
        endSeq: null,
        endedBy: "user",
        host: "",
        peer: "",
        borrows: [],
      });
    }
  }
  return sessions;
}

test("a year of 20 products and 200 people takes at most 20 MB of usage files", async () => {
  const folder = tempFolder();
  realDisk.makeFolder(join(folder, "usage"));
  const random = new SeededRandom(7);
  const spans = new UsageTable();
  let auditSeq = 0;
  for (let day = 0; day < DAYS; day += 1) {
    const midnight = later(START, day * DAY);
    const sessions = makeSessions(midnight, random);
    // A checkpoint is made every hour.
    for (let hour = 0; hour < 24; hour += 1) {
      const from = later(midnight, hour * HOUR + 17 * MINUTE);
      const to = later(from, HOUR);
      const record: SiteRecord = {
        from,
        to,
        clockPeriods: [{ from, to }],
        sessions: sessions.filter((s) => (s.start ?? 0) < to && (s.end ?? 0) > from),
        episodes: [],
        waits: [],
        rulesBefore: null,
        sharing: [],
        missing: [],
        terms: PRODUCTS.map((product, license) => ({
          license,
          vendor: "VENDOR0000000001",
          terms: terms({ product, slots: 20 }),
          from: START,
          to: null,
          startPeriod: 0,
          endPeriod: 0,
          startSeq: null,
          endSeq: null,
        })),
        consumptions: [],
      };
      const table = computeUsage(record);
      spans.addTable(table);
      for (const { hours } of spans.pools) hours.clear();
      const before = readPosition(realDisk, folder);
      const writer = new UsageWriter(realDisk, folder, before, before?.newest_file ?? 0);
      await writer.append(table);
      await writer.compact(to, findOldestMonth(to, DEFAULT_USAGE_MONTHS));
      auditSeq += 1;
      const known = { terms: [], borrows: [], places: [] };
      const oldest = instant(0);
      const covered = { audit_seq: auditSeq, audit_sum: "", until: to, lines: [] };
      await writer.commit({ ...covered, ...spanFields(spans, oldest), ...known });
    }
  }
  const sizes = realDisk
    .list(join(folder, "usage"))
    .map((name) => [name, realDisk.stat(join(folder, "usage", name))?.size ?? 0] as const);
  const total = sizes.reduce((sum, [, size]) => sum + size, 0);
  process.stderr.write(`a year of usage: ${(total / MIB).toFixed(1)} MiB\n`);
  expect(total).toBeLessThanOrEqual(20_000_000);
}, 300_000);
