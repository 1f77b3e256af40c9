import { describe, expect, test } from "bun:test";
import type { AuditEntryReply } from "../../src/http/audit-entry.ts";
import type { AuditPageReply } from "../../src/http/routes/audit-log.ts";
import { Reading } from "../../src/web/record/reading.ts";

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
class Record {
  last: number;
  asked = 0;
  readonly #reach: number;
  readonly #fits: (seq: number) => boolean;

  constructor(last: number, fits: (seq: number) => boolean = () => true, reach = Infinity) {
    this.last = last;
    this.#fits = fits;
    this.#reach = reach;
  }

  readonly ask = async ({ before, limit }: { [name: string]: string }): Promise<AuditPageReply> => {
    this.asked += 1;
    const events: AuditEntryReply[] = [];
    let seq = before === undefined ? this.last : Number(before) - 1;
    for (let looked = 0; seq > 0 && looked < this.#reach; looked += 1, seq -= 1) {
      if (events.length === Number(limit)) break;
      if (this.#fits(seq)) events.push(entry(seq));
    }
    return { events, next: seq > 0 ? String(seq + 1) : null, scanned_until: null };
  };
}

const seqs = ({ events }: Reading): number[] => (events.value ?? []).map(({ seq }) => seq);
const downFrom = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => first - index);

describe("the record as it is read", () => {
  test("pages follow each other without a gap, to the beginning", async () => {
    const record = new Record(120);
    const reading = new Reading(record.ask, {});
    await reading.older();
    expect(seqs(reading)).toEqual(downFrom(120, 50));
    await Promise.all([reading.older(), reading.older()]);
    expect(seqs(reading)).toEqual(downFrom(120, 100));
    await reading.older();
    expect(seqs(reading)).toEqual(downFrom(120, 120));
    expect(reading.next.value).toBeNull();
  });

  test("what is new waits until it may be shown, and nothing else moves", async () => {
    const record = new Record(60);
    const reading = new Reading(record.ask, {});
    await reading.older();
    record.last = 63;
    await reading.newer();
    expect(seqs(reading)).toEqual(downFrom(60, 50));
    expect(reading.waiting.value.map(({ seq }) => seq)).toEqual([63, 62, 61]);
    record.last = 64;
    await reading.newer();
    reading.show();
    expect(seqs(reading)).toEqual(downFrom(64, 54));
    await reading.older();
    expect(seqs(reading)).toEqual(downFrom(64, 64));
  });

  test("more news than one page holds begins anew, without a gap", async () => {
    const record = new Record(60);
    const reading = new Reading(record.ask, {});
    await reading.older();
    record.last = 200;
    await reading.newer();
    reading.show();
    expect(seqs(reading)).toEqual(downFrom(200, 50));
    await reading.older();
    expect(seqs(reading)).toEqual(downFrom(200, 100));
  });

  test("the first event of an empty record shows up", async () => {
    const record = new Record(0);
    const reading = new Reading(record.ask, {});
    await reading.older();
    expect(seqs(reading)).toEqual([]);
    record.last = 1;
    await reading.newer();
    reading.show();
    expect(seqs(reading)).toEqual([1]);
  });

  test("pages with nothing in them are passed over, but not for ever", async () => {
    const record = new Record(1_000, (seq) => seq === 350, 100);
    const reading = new Reading(record.ask, {});
    await reading.older();
    expect([seqs(reading), record.asked]).toEqual([[], 5]);
    await reading.older();
    expect([seqs(reading), record.asked]).toEqual([[350], 7]);
  });
});
