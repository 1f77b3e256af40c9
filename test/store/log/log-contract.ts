// What every shared log promises to a store. The tests of each log run these.
import { describe, expect, test } from "bun:test";
import type { LineBatch } from "../../../src/store/journal/batch-writer.ts";
import type { HostLog, LogEnd, SharedLog } from "../../../src/store/log/shared-log.ts";

/** A new log that ends at `end`, for two hosts. */
export type MakeLog = (end: LogEnd) => Promise<{ readonly alpha: HostLog; readonly beta: HostLog }>;

const BASE: LogEnd = { seq: 7, sum: "base" };
const LONG = 3_600_000;

const batchAfter = ({ seq, sum }: LogEnd, ...texts: readonly string[]): LineBatch => ({
  firstSeq: seq + 1,
  lastSeq: seq + texts.length,
  prev: sum,
  sum: `sum of ${texts.at(-1)}`,
  texts: texts.map((text) => `${text}\n`),
});

const endOf = ({ lastSeq: seq, sum }: LineBatch): LogEnd => ({ seq, sum });

const epochOf = async (log: HostLog, termMs = LONG): Promise<number> =>
  (await log.claim(termMs))?.epoch ?? NaN;

const textsOf = async (log: SharedLog, after: number): Promise<string[]> =>
  (await log.readLines(after, 100)).map(({ seq, text }) => `${seq} ${text}`);

export function testLogContract(name: string, makeLog: MakeLog): void {
  describe(`${name}: appending`, () => {
    test("appends the batches of the leader in order, and both hosts read them", async () => {
      const { alpha, beta } = await makeLog(BASE);
      const epoch = await epochOf(alpha);
      const first = batchAfter(BASE, "a", "ä\\u0000 \u{1F642}");
      expect(await alpha.append(epoch, first)).toBe(true);
      expect(await alpha.append(epoch, batchAfter(endOf(first), "c"))).toBe(true);
      const expected = ["8 a\n", "9 ä\\u0000 \u{1F642}\n", "10 c\n"];
      expect(await textsOf(alpha, 7)).toEqual(expected);
      expect(await textsOf(beta, 8)).toEqual(expected.slice(1));
      expect(await beta.readLeader()).toMatchObject({ seq: 10, sum: "sum of c", epoch });
      expect(await beta.readLines(7, 2)).toHaveLength(2);
    });

    test("appends nothing that does not continue the log", async () => {
      const { alpha } = await makeLog(BASE);
      const epoch = await epochOf(alpha);
      const first = batchAfter(BASE, "a");
      await alpha.append(epoch, first);
      for (const wrong of [
        first,
        batchAfter({ seq: 9, sum: first.sum }, "b"),
        batchAfter({ seq: 8, sum: "another line" }, "b"),
      ]) {
        expect(await alpha.append(epoch, wrong)).toBe(false);
      }
      expect(await textsOf(alpha, 0)).toEqual(["8 a\n"]);
    });

    test("appends nothing of a host that does not lead, or with an epoch that is over", async () => {
      const { alpha, beta } = await makeLog(BASE);
      const old = await epochOf(alpha, 0);
      const epoch = await epochOf(beta);
      expect(epoch).toBe(old + 1);
      expect(await alpha.append(old, batchAfter(BASE, "a"))).toBe(false);
      expect(await alpha.append(epoch, batchAfter(BASE, "a"))).toBe(false);
      expect(await beta.append(old, batchAfter(BASE, "a"))).toBe(false);
      expect(await beta.append(epoch, batchAfter(BASE, "b"))).toBe(true);
      expect(await textsOf(alpha, 0)).toEqual(["8 b\n"]);
    });
  });

  describe(`${name}: leading`, () => {
    test("lets no other host lead while the term of the leader lasts", async () => {
      const { alpha, beta } = await makeLog(BASE);
      expect(await alpha.claim(LONG)).toMatchObject({ ...BASE, epoch: 1, holder: "alpha" });
      expect(await beta.claim(LONG)).toBeNull();
      expect((await beta.readLeader()).remainingMs).toBeGreaterThan(LONG / 2);
    });

    test("lets the leader raise its own epoch at any time", async () => {
      const { alpha } = await makeLog(BASE);
      expect([await epochOf(alpha), await epochOf(alpha)]).toEqual([1, 2]);
    });

    test("renews the term of the leader only", async () => {
      const { alpha, beta } = await makeLog(BASE);
      const epoch = await epochOf(alpha, 0);
      expect(await alpha.renew(epoch, LONG)).toBe(true);
      expect(await beta.claim(LONG)).toBeNull();
      expect(await beta.renew(epoch, LONG)).toBe(false);
      expect(await alpha.renew(epoch + 1, LONG)).toBe(false);
    });

    test("gives the leadership to the heir alone, for a while", async () => {
      const { alpha, beta } = await makeLog(BASE);
      const epoch = await epochOf(alpha);
      await alpha.release(epoch, "beta", LONG);
      expect(await alpha.append(epoch, batchAfter(BASE, "a"))).toBe(false);
      expect(await alpha.claim(LONG)).toBeNull();
      expect(await beta.claim(LONG)).toMatchObject({
        epoch: epoch + 1,
        holder: "beta",
        heir: null,
      });
    });

    test("lets every host lead after the time of an heir that did not come", async () => {
      const { alpha } = await makeLog(BASE);
      const epoch = await epochOf(alpha);
      await alpha.release(epoch, "beta", 0);
      expect(await alpha.claim(LONG)).toMatchObject({ epoch: epoch + 1, holder: "alpha" });
    });

    test("has one leader if both hosts claim at the same time", async () => {
      const { alpha, beta } = await makeLog(BASE);
      const claims = await Promise.all([alpha.claim(LONG), beta.claim(LONG)]);
      expect(claims.filter((claim) => claim !== null)).toHaveLength(1);
    });
  });
}
