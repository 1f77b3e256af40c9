import { describe, expect, test } from "bun:test";
import type { AuditEntryReply } from "../../src/http/audit-entry.ts";
import type { AuditPageReply } from "../../src/http/routes/audit-log.ts";
import { AuditReader } from "../../src/web/audit-log/audit-reader.ts";

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

/** A record of so many lines of which those are found that fit, looking at `reach` at a time. */
class FakeAuditLog {
  lastSeq: number;
  requestCount = 0;
  readonly #reach: number;
  readonly #fits: (seq: number) => boolean;

  constructor(last: number, fits: (seq: number) => boolean = () => true, reach = Infinity) {
    this.lastSeq = last;
    this.#fits = fits;
    this.#reach = reach;
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
    for (let looked = 0; seq > 0 && looked < this.#reach; looked += 1, seq -= 1) {
      if (events.length === Number(limit)) break;
      if (this.#fits(seq)) events.push(entry(seq));
    }
    return { events, next: seq > 0 ? String(seq + 1) : null, scanned_until: null };
  };
}

const seqs = ({ events }: AuditReader): number[] => (events.value ?? []).map(({ seq }) => seq);
const downFrom = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => first - index);

describe("the record as it is read", () => {
  test("pages follow each other without a gap, to the beginning", async () => {
    const record = new FakeAuditLog(120);
    const reading = new AuditReader(record.fetchPage, {});
    await reading.loadOlder();
    expect(seqs(reading)).toEqual(downFrom(120, 50));
    await Promise.all([reading.loadOlder(), reading.loadOlder()]);
    expect(seqs(reading)).toEqual(downFrom(120, 100));
    await reading.loadOlder();
    expect(seqs(reading)).toEqual(downFrom(120, 120));
    expect(reading.nextCursor.value).toBeNull();
  });

  test("what is new waits until it may be shown, and nothing else moves", async () => {
    const record = new FakeAuditLog(60);
    const reading = new AuditReader(record.fetchPage, {});
    await reading.loadOlder();
    record.lastSeq = 63;
    await reading.loadNewer();
    expect(seqs(reading)).toEqual(downFrom(60, 50));
    expect(reading.pendingEvents.value.map(({ seq }) => seq)).toEqual([63, 62, 61]);
    record.lastSeq = 64;
    await reading.loadNewer();
    reading.showPending();
    expect(seqs(reading)).toEqual(downFrom(64, 54));
    await reading.loadOlder();
    expect(seqs(reading)).toEqual(downFrom(64, 64));
  });

  test("more news than one page holds begins anew, without a gap", async () => {
    const record = new FakeAuditLog(60);
    const reading = new AuditReader(record.fetchPage, {});
    await reading.loadOlder();
    record.lastSeq = 200;
    await reading.loadNewer();
    reading.showPending();
    expect(seqs(reading)).toEqual(downFrom(200, 50));
    await reading.loadOlder();
    expect(seqs(reading)).toEqual(downFrom(200, 100));
  });

  test("the first event of an empty record shows up", async () => {
    const record = new FakeAuditLog(0);
    const reading = new AuditReader(record.fetchPage, {});
    await reading.loadOlder();
    expect(seqs(reading)).toEqual([]);
    record.lastSeq = 1;
    await reading.loadNewer();
    reading.showPending();
    expect(seqs(reading)).toEqual([1]);
  });

  test("pages with nothing in them are passed over, but not for ever", async () => {
    const record = new FakeAuditLog(1_000, (seq) => seq === 350, 100);
    const reading = new AuditReader(record.fetchPage, {});
    await reading.loadOlder();
    expect([seqs(reading), record.requestCount]).toEqual([[], 5]);
    await reading.loadOlder();
    expect([seqs(reading), record.requestCount]).toEqual([[350], 7]);
  });
});
