import { describe, expect, test } from "bun:test";
import type { Event } from "../../../src/domain/model/event.ts";
import { GENESIS } from "../../../src/platform/crypto/hash.ts";
import {
  decodeLine,
  encodeLine,
  genesisHead,
  advanceChain,
  scanSegment,
  type ChainHead,
  type JournalLine,
} from "../../../src/store/journal/journal.ts";
import { licenseInstalled, minutesLater, MONDAY, slotTaken } from "../../support/scenario.ts";

const slotRenewed: Event = {
  type: "SlotRenewed",
  at: MONDAY,
  license: 1,
  user: "ada",
  end: minutesLater(60),
};

/** Writes a segment: it consists of batches, a batch of lines, and a line of events. */
function writeSegment(...batches: readonly (readonly (readonly Event[])[])[]) {
  const lines: { readonly text: string; readonly head: ChainHead }[] = [];
  for (const batch of batches) {
    const first = (lines.at(-1)?.head.seq ?? 0) + 1;
    for (const [index, events] of batch.entries()) {
      const head = lines.at(-1)?.head ?? genesisHead;
      lines.push(encodeLine(head, index === 0 ? null : first, MONDAY, events));
    }
  }
  const texts = lines.map(({ text }) => text);
  return { texts, heads: lines.map(({ head }) => head), bytes: bytesOf(...texts) };
}

const bytesOf = (...texts: readonly string[]): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.from(texts.join("")));

function scan(bytes: Uint8Array<ArrayBuffer>, start: ChainHead = genesisHead) {
  const lines: JournalLine[] = [];
  const raws: string[] = [];
  const result = scanSegment(bytes, start, (line, raw) => {
    lines.push(line);
    raws.push(Buffer.from(raw).toString());
  });
  return { ...result, lines, raws };
}

const decode = (text: string): JournalLine => {
  const line = decodeLine(bytesOf(text.slice(0, -1)));
  if (line === null) throw new Error("a valid line was refused");
  return line;
};

describe("journal line", () => {
  const { texts, heads } = writeSegment([
    [licenseInstalled(1), slotTaken("ä 本 🙂 \n \u2028 constructor")],
  ]);
  const [text = ""] = texts;

  test("is decoded as it was written and contains no line feed", () => {
    const events = [licenseInstalled(1), slotTaken("ä 本 🙂 \n \u2028 constructor")];
    expect(text.indexOf("\n")).toBe(text.length - 1);
    expect(decode(text)).toEqual({
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

  test("is refused when any of its bytes is changed", () => {
    const bytes = bytesOf(text.slice(0, -1));
    for (let offset = 0; offset < bytes.length; offset += 1) {
      for (const change of [1, 0x20, 0x80]) {
        const other = bytes.slice();
        other[offset] = (bytes[offset] ?? 0) ^ change;
        expect(decodeLine(other)).toBeNull();
      }
    }
  });

  test("is refused when a byte is missing or added", () => {
    for (let index = 0; index < text.length - 1; index += 1) {
      expect(decodeLine(bytesOf(text.slice(0, index), text.slice(index + 1, -1)))).toBeNull();
    }
    expect(decodeLine(bytesOf(text.slice(0, -1), " "))).toBeNull();
    expect(decodeLine(bytesOf(" ", text.slice(0, -1)))).toBeNull();
    expect(decodeLine(bytesOf(""))).toBeNull();
  });
});

describe("journal chain", () => {
  const { texts, heads, bytes } = writeSegment(
    [[licenseInstalled(1)]],
    [[slotTaken("ada")], [slotRenewed]],
    [[slotRenewed]],
  );

  test("links each line to the one before, from the first line on", () => {
    const lines = texts.map(decode);
    expect(lines.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    expect(lines.map(({ from }) => from)).toEqual([1, 2, 2, 4]);
    expect(lines.map(({ prev }) => prev)).toEqual(
      [GENESIS, ...lines.map(({ sum }) => sum)].slice(0, 4),
    );
  });

  test("of the audit log leaves out renewals", () => {
    const lines = texts.map(decode);
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
    expect(decode(after.text)).toMatchObject({ audit_seq: 3, audit_prev: lines[1]?.sum ?? "" });
  });

  test("is scanned line by line, with the exact bytes of each line", () => {
    const result = scan(bytes);
    expect(result).toMatchObject({ head: heads.at(-1), end: bytes.length, damage: null });
    expect(result.raws).toEqual(texts);
    expect(result.lines).toEqual(texts.map(decode));
  });

  test("can be scanned from the middle", () => {
    const start = heads[1] ?? genesisHead;
    expect(scan(bytesOf(...texts.slice(2)), start).head).toEqual(heads[3] ?? genesisHead);
  });

  test("continues only with the next seq, the right hashes and a valid batch start", () => {
    const line = decode(texts[1] ?? "");
    const head = heads[0] ?? genesisHead;
    expect(advanceChain(head, line)).toEqual(heads[1] ?? genesisHead);
    expect(advanceChain(head, { ...line, seq: 3, from: 3 })).toBeNull();
    expect(advanceChain(head, { ...line, prev: GENESIS })).toBeNull();
    expect(advanceChain(head, { ...line, from: 3 })).toBeNull();
    expect(advanceChain(head, { ...line, audit_seq: 3 })).toBeNull();
    expect(advanceChain(head, { ...line, audit_prev: GENESIS })).toBeNull();
  });
});

describe("journal damage", () => {
  const batches = [[[licenseInstalled(1)]], [[slotTaken("ada")], [slotRenewed]]] as const;

  test.each([
    ["a missing line", [0, 2, 3]],
    ["a repeated line", [0, 1, 1, 2]],
    ["a swapped pair of lines", [0, 2, 1, 3]],
  ])(
    "of %s is corruption, because complete lines that do not chain are no torn tail",
    (_name, order) => {
      const { texts, heads } = writeSegment(...batches, [[slotTaken("bob", { slot: 2 })]]);
      const damage = scan(bytesOf(...order.map((index) => texts[index] ?? ""))).damage;
      expect(damage).toMatchObject({ isCorruption: true });
      const goodLines = order.findIndex((index, at) => index !== at);
      expect(damage?.seq).toBe((heads[goodLines - 1]?.seq ?? 0) + 1);
      expect(damage?.offset).toBe(texts.slice(0, goodLines).join("").length);
    },
  );

  test("is corruption even when the line that does not chain is the last", () => {
    const { texts } = writeSegment(...batches);
    expect(scan(bytesOf(texts[0] ?? "", texts[2] ?? "")).damage).toMatchObject({
      isCorruption: true,
    });
  });

  for (const [last, tail] of [
    ["one line", [[slotTaken("bob", { slot: 2 })]]],
    ["two lines", [[slotTaken("bob", { slot: 2 })], [slotRenewed]]],
  ] as const) {
    test(`to any byte of a batch before the last one, of ${last}, is corruption`, () => {
      const { texts, bytes } = writeSegment(...batches, tail);
      const undetected: string[] = [];
      let offset = 0;
      for (const [index, text] of texts.slice(0, 3).entries()) {
        for (let at = offset; at < offset + text.length; at += 1) {
          for (const value of [(bytes[at] ?? 0) ^ 1, 0, 10]) {
            if (value === bytes[at]) continue;
            const other = bytes.slice();
            other[at] = value;
            const { damage } = scan(other);
            const expected = { offset, seq: index + 1, isCorruption: true };
            if (!Bun.deepEquals(damage, expected))
              undetected.push(`byte ${at} of line ${index + 1}`);
          }
        }
        offset += text.length;
      }
      expect(undetected).toEqual([]);
    });

    test(`that zeroes a line of a batch before the last one, of ${last}, is corruption`, () => {
      const { texts, bytes } = writeSegment(...batches, tail);
      let offset = 0;
      for (const [index, text] of texts.slice(0, 3).entries()) {
        const other = bytes.slice().fill(0, offset, offset + text.length);
        expect(scan(other).damage).toEqual({ offset, seq: index + 1, isCorruption: true });
        offset += text.length;
      }
    });
  }

  test("to any byte of the last batch is a torn tail from that line on", () => {
    const { texts, bytes } = writeSegment(...batches);
    const first = texts[0]?.length ?? 0;
    const second = first + (texts[1]?.length ?? 0);
    for (let at = first; at < bytes.length; at += 1) {
      const other = bytes.slice();
      other[at] = (bytes[at] ?? 0) ^ 1;
      const offset = at < second ? first : second;
      const seq = at < second ? 2 : 3;
      expect(scan(other)).toMatchObject({
        end: offset,
        damage: { offset, seq, isCorruption: false },
        head: { seq: seq - 1 },
      });
    }
  });

  test("of a last batch is a torn tail when its later lines reached the disk first", () => {
    const { texts, bytes } = writeSegment(...batches);
    const offset = texts[0]?.length ?? 0;
    const end = offset + (texts[1]?.length ?? 0);
    for (const zeroed of [
      bytes.slice().fill(0, offset, end),
      bytes.slice().fill(0, offset, end - 1),
    ]) {
      expect(scan(zeroed).damage).toEqual({ offset, seq: 2, isCorruption: false });
    }
  });
});
