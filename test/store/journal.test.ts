import { describe, expect, test } from "bun:test";
import type { Event } from "../../src/domain/event.ts";
import { GENESIS } from "../../src/platform/hash.ts";
import {
  decodeLine,
  encodeLine,
  genesisHead,
  advanceChain,
  scanSegment,
  type ChainHead,
  type JournalLine,
} from "../../src/store/journal.ts";
import { licenseInstalled, minutesLater, MONDAY, slotTaken } from "../support/scenario.ts";

const renewed: Event = {
  type: "SlotRenewed",
  at: MONDAY,
  license: 1,
  user: "ada",
  end: minutesLater(60),
};

/** Segments are made of batches, batches of lines, lines of events. */
function written(...batches: readonly (readonly (readonly Event[])[])[]) {
  const lines: { readonly text: string; readonly head: ChainHead }[] = [];
  for (const batch of batches) {
    const first = (lines.at(-1)?.head.seq ?? 0) + 1;
    for (const [place, events] of batch.entries()) {
      const head = lines.at(-1)?.head ?? genesisHead;
      lines.push(encodeLine(head, place === 0 ? null : first, MONDAY, events));
    }
  }
  const texts = lines.map(({ text }) => text);
  return { texts, heads: lines.map(({ head }) => head), bytes: bytesOf(...texts) };
}

const bytesOf = (...texts: readonly string[]): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.from(texts.join("")));

function scanned(bytes: Uint8Array<ArrayBuffer>, start: ChainHead = genesisHead) {
  const lines: JournalLine[] = [];
  const raws: string[] = [];
  const found = scanSegment(bytes, start, (line, raw) => {
    lines.push(line);
    raws.push(Buffer.from(raw).toString());
  });
  return { ...found, lines, raws };
}

const decoded = (text: string): JournalLine => {
  const line = decodeLine(bytesOf(text.slice(0, -1)));
  if (line === null) throw new Error("a good line was refused");
  return line;
};

describe("a line", () => {
  const { texts, heads } = written([
    [licenseInstalled(1), slotTaken("ä 本 🙂 \n \u2028 constructor")],
  ]);
  const [text = ""] = texts;

  test("reads back as what was written, on one line", () => {
    const events = [licenseInstalled(1), slotTaken("ä 本 🙂 \n \u2028 constructor")];
    expect(text.indexOf("\n")).toBe(text.length - 1);
    expect(decoded(text)).toEqual({
      seq: 1,
      from: 1,
      at: MONDAY,
      audit_seq: 1,
      audit_prev: GENESIS,
      events,
      prev: GENESIS,
      sum: heads[0]?.sum ?? "",
    });
  });

  test("is refused with any one of its bytes changed", () => {
    const bytes = bytesOf(text.slice(0, -1));
    for (let place = 0; place < bytes.length; place += 1) {
      for (const change of [1, 0x20, 0x80]) {
        const other = bytes.slice();
        other[place] = (bytes[place] ?? 0) ^ change;
        expect(decodeLine(other)).toBeNull();
      }
    }
  });

  test("is refused with a byte missing or one too many", () => {
    for (let place = 0; place < text.length - 1; place += 1) {
      expect(decodeLine(bytesOf(text.slice(0, place), text.slice(place + 1, -1)))).toBeNull();
    }
    expect(decodeLine(bytesOf(text.slice(0, -1), " "))).toBeNull();
    expect(decodeLine(bytesOf(" ", text.slice(0, -1)))).toBeNull();
    expect(decodeLine(bytesOf(""))).toBeNull();
  });
});

describe("the chain", () => {
  const { texts, heads, bytes } = written(
    [[licenseInstalled(1)]],
    [[slotTaken("ada")], [renewed]],
    [[renewed]],
  );

  test("runs from the first line on, each pointing back to the one before", () => {
    const lines = texts.map(decoded);
    expect(lines.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    expect(lines.map(({ from }) => from)).toEqual([1, 2, 2, 4]);
    expect(lines.map(({ prev }) => prev)).toEqual(
      [GENESIS, ...lines.map(({ sum }) => sum)].slice(0, 4),
    );
  });

  test("of the audit record leaves out renewals", () => {
    const lines = texts.map(decoded);
    expect(lines.map(({ audit_seq }) => audit_seq)).toEqual([1, 2, undefined, undefined]);
    expect(lines[1]?.audit_prev).toBe(lines[0]?.sum ?? "");
    expect(heads.at(-1)).toEqual({
      seq: 4,
      sum: lines[3]?.sum ?? "",
      auditSeq: 2,
      auditSum: lines[1]?.sum ?? "",
    });
    const after = encodeLine(heads.at(-1) ?? genesisHead, null, MONDAY, [
      slotTaken("bob", { slot: 2 }),
    ]);
    expect(decoded(after.text)).toMatchObject({ audit_seq: 3, audit_prev: lines[1]?.sum ?? "" });
  });

  test("is followed line by line, and handed over byte for byte", () => {
    const found = scanned(bytes);
    expect(found).toMatchObject({ head: heads.at(-1), end: bytes.length, damage: null });
    expect(found.raws).toEqual(texts);
    expect(found.lines).toEqual(texts.map(decoded));
  });

  test("can be taken up in the middle", () => {
    const start = heads[1] ?? genesisHead;
    expect(scanned(bytesOf(...texts.slice(2)), start).head).toEqual(heads[3] ?? genesisHead);
  });

  test("goes on only with the next seq, the right hash and a batch that has begun", () => {
    const line = decoded(texts[1] ?? "");
    const head = heads[0] ?? genesisHead;
    expect(advanceChain(head, line)).toEqual(heads[1] ?? genesisHead);
    expect(advanceChain(head, { ...line, seq: 3, from: 3 })).toBeNull();
    expect(advanceChain(head, { ...line, prev: GENESIS })).toBeNull();
    expect(advanceChain(head, { ...line, from: 3 })).toBeNull();
    expect(advanceChain(head, { ...line, audit_seq: 3 })).toBeNull();
    expect(advanceChain(head, { ...line, audit_prev: GENESIS })).toBeNull();
  });
});

describe("damage", () => {
  const batches = [[[licenseInstalled(1)]], [[slotTaken("ada")], [renewed]]] as const;

  test.each([
    ["a gap", [0, 2, 3]],
    ["a repeat", [0, 1, 1, 2]],
    ["a swapped pair", [0, 2, 1, 3]],
  ])("%s is inside, for whole lines that do not chain are no torn tail", (_name, order) => {
    const { texts, heads } = written(...batches, [[slotTaken("bob", { slot: 2 })]]);
    const damage = scanned(bytesOf(...order.map((place) => texts[place] ?? ""))).damage;
    expect(damage).toMatchObject({ inside: true });
    const good = order.findIndex((place, at) => place !== at);
    expect(damage?.seq).toBe((heads[good - 1]?.seq ?? 0) + 1);
    expect(damage?.offset).toBe(texts.slice(0, good).join("").length);
  });

  test("is inside even when the line that does not chain is the last", () => {
    const { texts } = written(...batches);
    expect(scanned(bytesOf(texts[0] ?? "", texts[2] ?? "")).damage).toMatchObject({ inside: true });
  });

  for (const [last, tail] of [
    ["one line", [[slotTaken("bob", { slot: 2 })]]],
    ["two lines", [[slotTaken("bob", { slot: 2 })], [renewed]]],
  ] as const) {
    test(`to any byte of a batch before the last, which has ${last}, is inside`, () => {
      const { texts, bytes } = written(...batches, tail);
      const lost: string[] = [];
      let offset = 0;
      for (const [place, text] of texts.slice(0, 3).entries()) {
        for (let at = offset; at < offset + text.length; at += 1) {
          for (const value of [(bytes[at] ?? 0) ^ 1, 0, 10]) {
            if (value === bytes[at]) continue;
            const other = bytes.slice();
            other[at] = value;
            const { damage } = scanned(other);
            const expected = { offset, seq: place + 1, inside: true };
            if (!Bun.deepEquals(damage, expected)) lost.push(`byte ${at} of line ${place + 1}`);
          }
        }
        offset += text.length;
      }
      expect(lost).toEqual([]);
    });

    test(`that zeroes a line of a batch before the last, which has ${last}, is inside`, () => {
      const { texts, bytes } = written(...batches, tail);
      let offset = 0;
      for (const [place, text] of texts.slice(0, 3).entries()) {
        const other = bytes.slice().fill(0, offset, offset + text.length);
        expect(scanned(other).damage).toEqual({ offset, seq: place + 1, isCorruption: true });
        offset += text.length;
      }
    });
  }

  test("to any byte of the last batch is a torn tail from its line on", () => {
    const { texts, bytes } = written(...batches);
    const first = texts[0]?.length ?? 0;
    const second = first + (texts[1]?.length ?? 0);
    for (let at = first; at < bytes.length; at += 1) {
      const other = bytes.slice();
      other[at] = (bytes[at] ?? 0) ^ 1;
      const offset = at < second ? first : second;
      const seq = at < second ? 2 : 3;
      expect(scanned(other)).toMatchObject({
        end: offset,
        damage: { offset, seq, inside: false },
        head: { seq: seq - 1 },
      });
    }
  });

  test("of a last batch whose later lines reached the disk first is a torn tail", () => {
    const { texts, bytes } = written(...batches);
    const offset = texts[0]?.length ?? 0;
    const end = offset + (texts[1]?.length ?? 0);
    for (const zeroed of [
      bytes.slice().fill(0, offset, end),
      bytes.slice().fill(0, offset, end - 1),
    ]) {
      expect(scanned(zeroed).damage).toEqual({ offset, seq: 2, isCorruption: false });
    }
  });
});
