import { describe, expect, test } from "bun:test";
import type { AuditEntryReply } from "../../../src/http/routes/audit/audit-entry.ts";
import type { AuditPageReply } from "../../../src/http/routes/audit/audit-log.ts";
import { AuditReader } from "../../../src/web/audit/audit-reader.ts";

const entry = (seq: number): AuditEntryReply => ({
  seq,
  event_index: 0,
  at: "2026-01-01T00:00:00.000Z",
  type: "SlotTaken",
  product: "cad",
  license_id: 1,
  user: "ada",
  peer: null,
  summary: "slot taken",
  detail: {},
});

/** An audit log of `last` entries; a page searches `maxScanned` entries for those that match. */
class FakeAuditLog {
  lastSeq: number;
  requestCount = 0;
  readonly #maxScanned: number;
  readonly #matches: (seq: number) => boolean;

  constructor(last: number, matches: (seq: number) => boolean = () => true, maxScanned = Infinity) {
    this.lastSeq = last;
    this.#matches = matches;
    this.#maxScanned = maxScanned;
  }

  readonly fetchPage = async ({
    before,
    limit,
  }: {
    [name: string]: string;
  }): Promise<AuditPageReply> => {
    this.requestCount += 1;
    const events: AuditEntryReply[] = [];
    let seq = before === undefined ? this.lastSeq : Number(before) - 1;
    for (let scanned = 0; seq > 0 && scanned < this.#maxScanned; scanned += 1, seq -= 1) {
      if (events.length === Number(limit)) break;
      if (this.#matches(seq)) events.push(entry(seq));
    }
    return { events, next: seq > 0 ? String(seq + 1) : null, scanned_until: null };
  };
}

const seqs = ({ events }: AuditReader): number[] => (events.value ?? []).map(({ seq }) => seq);
const downFrom = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => first - index);

describe("AuditReader", () => {
  test("loads page after page without a gap, to the start of the log", async () => {
    const log = new FakeAuditLog(120);
    const reader = new AuditReader(log.fetchPage, {});
    await reader.loadOlder();
    expect(seqs(reader)).toEqual(downFrom(120, 50));
    await Promise.all([reader.loadOlder(), reader.loadOlder()]);
    expect(seqs(reader)).toEqual(downFrom(120, 100));
    await reader.loadOlder();
    expect(seqs(reader)).toEqual(downFrom(120, 120));
    expect(reader.nextCursor.value).toBeNull();
  });

  test("holds new events back until they are shown, and keeps the rest in place", async () => {
    const log = new FakeAuditLog(60);
    const reader = new AuditReader(log.fetchPage, {});
    await reader.loadOlder();
    log.lastSeq = 63;
    await reader.loadNewer();
    expect(seqs(reader)).toEqual(downFrom(60, 50));
    expect(reader.pendingEvents.value.map(({ seq }) => seq)).toEqual([63, 62, 61]);
    log.lastSeq = 64;
    await reader.loadNewer();
    reader.showPending();
    expect(seqs(reader)).toEqual(downFrom(64, 54));
    await reader.loadOlder();
    expect(seqs(reader)).toEqual(downFrom(64, 64));
  });

  test("replaces the list when more new events arrived than fit into one page", async () => {
    const log = new FakeAuditLog(60);
    const reader = new AuditReader(log.fetchPage, {});
    await reader.loadOlder();
    log.lastSeq = 200;
    await reader.loadNewer();
    reader.showPending();
    expect(seqs(reader)).toEqual(downFrom(200, 50));
    await reader.loadOlder();
    expect(seqs(reader)).toEqual(downFrom(200, 100));
  });

  test("shows the first event of an empty log", async () => {
    const log = new FakeAuditLog(0);
    const reader = new AuditReader(log.fetchPage, {});
    await reader.loadOlder();
    expect(seqs(reader)).toEqual([]);
    log.lastSeq = 1;
    await reader.loadNewer();
    reader.showPending();
    expect(seqs(reader)).toEqual([1]);
  });

  test("searches beyond a page that reaches lines before the period, but not without end", async () => {
    const log = new FakeAuditLog(1_000, (seq) => seq > 950 || seq === 700, 100);
    const fetchPage = async (query: Record<string, string>): Promise<AuditPageReply> => ({
      ...(await log.fetchPage({ ...query, limit: "100" })),
      scanned_until: "2026-01-31T00:00:00Z",
    });
    const reader = new AuditReader(fetchPage, { since: "2026-03-01T00:00:00Z" });
    await reader.loadOlder();
    expect([seqs(reader), log.requestCount]).toEqual([[...downFrom(1_000, 50), 700], 5]);
  });

  test("skips at most five empty pages per call", async () => {
    const log = new FakeAuditLog(1_000, (seq) => seq === 350, 100);
    const reader = new AuditReader(log.fetchPage, {});
    await reader.loadOlder();
    expect([seqs(reader), log.requestCount]).toEqual([[], 5]);
    await reader.loadOlder();
    expect([seqs(reader), log.requestCount]).toEqual([[350], 7]);
  });
});
