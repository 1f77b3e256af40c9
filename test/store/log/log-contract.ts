// What every shared log promises to a store. The tests of each log run these.
import { describe, expect, test } from "bun:test";
import type { LineBatch } from "../../../src/store/journal/batch-writer.ts";
import type { HostLog, HostReport, LogEnd, SharedLog } from "../../../src/store/log/shared-log.ts";

interface Hosts {
  readonly alpha: HostLog;
  readonly beta: HostLog;
  /** A process that starts on alpha while the first one may still run. */
  readonly restartedAlpha: HostLog;
}

/** A new log that ends at `end`, for two hosts. */
export type MakeLog = (end: LogEnd) => Promise<Hosts>;

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
  (await log.claimTerm(termMs))?.epoch ?? NaN;

const REPORT: HostReport = {
  host: "alpha",
  hardwareId: "hardware of alpha",
  url: null,
  version: "1.2.3",
  head: { seq: 7, sum: "base" },
  covered: 5,
  systemTime: 1_800_000_000_000,
};

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

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
      expect(await alpha.claimTerm(LONG)).toMatchObject({ ...BASE, epoch: 1, holder: "alpha" });
      expect(await beta.claimTerm(LONG)).toBeNull();
      expect((await beta.readLeader()).remainingMs).toBeGreaterThan(LONG / 2);
    });

    test("lets the leader raise its own epoch at any time", async () => {
      const { alpha } = await makeLog(BASE);
      expect([await epochOf(alpha), await epochOf(alpha)]).toEqual([1, 2]);
    });

    test("lets a restarted process lead only after the term of the one before it", async () => {
      const { alpha, restartedAlpha } = await makeLog(BASE);
      const epoch = await epochOf(alpha);
      expect(await restartedAlpha.claimTerm(LONG)).toBeNull();
      expect(await restartedAlpha.readLeader()).toMatchObject({ epoch, holder: "alpha" });
      await alpha.renew(epoch, 0);
      expect(await restartedAlpha.claimTerm(LONG)).toMatchObject({
        epoch: epoch + 1,
        holder: "alpha",
      });
      expect(await alpha.claimTerm(LONG)).toBeNull();
      expect(await alpha.append(epoch, batchAfter(BASE, "a"))).toBe(false);
    });

    test("lets another host end a term only if it was not renewed since it was read", async () => {
      const { alpha, beta } = await makeLog(BASE);
      const epoch = await epochOf(alpha);
      const { term } = await beta.readLeader();
      await alpha.renew(epoch, LONG);
      expect(await beta.claimTerm(LONG, term)).toBeNull();
      expect(await alpha.readLeader()).toMatchObject({ isOwn: true });
      const renewed = await beta.readLeader();
      expect(renewed.isOwn).toBe(false);
      expect(renewed.termMs).toBe(LONG);
      expect(renewed.term).not.toBe(term);
      expect(await beta.claimTerm(LONG, renewed.term)).toMatchObject({
        epoch: epoch + 1,
        holder: "beta",
      });
      // However late a claim arrives, and whatever the clock of the log says then.
      await beta.renew(epoch + 1, 0);
      expect(await alpha.claimTerm(LONG, renewed.term)).toBeNull();
    });

    test("lets a restarted process lead at once after its predecessor released", async () => {
      const { alpha, restartedAlpha } = await makeLog(BASE);
      await alpha.release(await epochOf(alpha), null, 0);
      expect(await restartedAlpha.claimTerm(LONG)).toMatchObject({ epoch: 2, holder: "alpha" });
    });

    test("renews the term of the leader only", async () => {
      const { alpha, beta } = await makeLog(BASE);
      const epoch = await epochOf(alpha, 0);
      expect(await alpha.renew(epoch, LONG)).toBe(true);
      expect(await beta.claimTerm(LONG)).toBeNull();
      expect(await beta.renew(epoch, LONG)).toBe(false);
      expect(await alpha.renew(epoch + 1, LONG)).toBe(false);
    });

    test("gives the leadership to the successor alone, for a while", async () => {
      const { alpha, beta } = await makeLog(BASE);
      const epoch = await epochOf(alpha);
      await alpha.release(epoch, "beta", LONG);
      expect(await alpha.append(epoch, batchAfter(BASE, "a"))).toBe(false);
      expect(await alpha.claimTerm(LONG)).toBeNull();
      expect(await beta.claimTerm(LONG)).toMatchObject({
        epoch: epoch + 1,
        holder: "beta",
        successor: null,
      });
    });

    test("lets every host lead after the time of an successor that did not come", async () => {
      const { alpha } = await makeLog(BASE);
      const epoch = await epochOf(alpha);
      await alpha.release(epoch, "beta", 0);
      expect(await alpha.claimTerm(LONG)).toMatchObject({ epoch: epoch + 1, holder: "alpha" });
    });

    test("has one leader if both hosts claim at the same time", async () => {
      const { alpha, beta } = await makeLog(BASE);
      const claims = await Promise.all([alpha.claimTerm(LONG), beta.claimTerm(LONG)]);
      expect(claims.filter((claim) => claim !== null)).toHaveLength(1);
    });
  });

  describe(`${name}: hosts`, () => {
    test("keeps what each host said last of itself, until the host is removed", async () => {
      const { alpha, beta } = await makeLog(BASE);
      await alpha.reportHost({ ...REPORT, url: "https://old.example" });
      await alpha.reportHost(REPORT);
      const other = { ...REPORT, host: "beta", url: "https://beta.example", covered: 7 };
      await beta.reportHost(other);
      // The clock of a host is that of the moment when its report is sent.
      const systemTime = expect.any(Number);
      const rows = await alpha.readHosts();
      expect(rows).toMatchObject([REPORT, other].map((row) => ({ ...row, systemTime })));
      expect(await beta.readHosts()).toEqual(
        rows.map((row) => ({ ...row, ageMs: expect.any(Number) })),
      );
      await beta.removeHost("alpha");
      await beta.removeHost("gamma");
      expect(await alpha.readHosts()).toMatchObject([{ ...other, systemTime }]);
    });

    test("says how old a report is and how far the clock of its host was ahead", async () => {
      const { alpha, beta } = await makeLog(BASE);
      await alpha.reportHost(REPORT);
      await beta.reportHost({ ...REPORT, host: "beta", systemTime: REPORT.systemTime + 5_000 });
      const [first, second] = await alpha.readHosts();
      expect(first?.ageMs).toBeWithin(0, 30_000);
      const difference = (second?.clockAheadMs ?? NaN) - (first?.clockAheadMs ?? NaN);
      // The second report came later, by the clock of the log.
      expect(difference).toBeWithin(-25_000, 5_001);
    });
  });

  describe(`${name}: trimming`, () => {
    const makeLogWithLines = async (): Promise<Hosts> => {
      const hosts = await makeLog(BASE);
      const texts = ["a", "b", "c", "d", "e"];
      await hosts.alpha.append(await epochOf(hosts.alpha), batchAfter(BASE, ...texts));
      return hosts;
    };

    test("removes lines from the beginning, up to a line and at most as many as allowed", async () => {
      const { alpha, beta } = await makeLogWithLines();
      expect(await alpha.trim(10, 0, 2)).toBe(2);
      expect(await textsOf(beta, 0)).toEqual(["10 c\n", "11 d\n", "12 e\n"]);
      expect(await beta.trim(10, 0, 2)).toBe(1);
      expect(await beta.trim(10, 0, 2)).toBe(0);
      expect(await textsOf(alpha, 0)).toEqual(["11 d\n", "12 e\n"]);
    });

    test("removes no line that is younger than the minimum age", async () => {
      const { alpha } = await makeLogWithLines();
      expect(await alpha.trim(12, LONG, 100)).toBe(0);
      expect(await textsOf(alpha, 0)).toHaveLength(5);
    });

    test("lets the leader continue a log without lines", async () => {
      const { alpha, beta } = await makeLogWithLines();
      expect(await alpha.trim(12, 0, 100)).toBe(5);
      const { epoch } = await beta.readLeader();
      const next = batchAfter({ seq: 12, sum: "sum of e" }, "f");
      expect(await alpha.append(epoch, next)).toBe(true);
      expect(await textsOf(beta, 0)).toEqual(["13 f\n"]);
    });
  });

  describe(`${name}: files`, () => {
    test("keeps the last content of each file, with a version that each write raises", async () => {
      const { alpha, beta } = await makeLog(BASE);
      const epoch = await epochOf(alpha);
      const all = Uint8Array.from({ length: 256 }, (_, index) => index);
      expect(await beta.readFile("one")).toBeNull();
      expect(await alpha.writeFile(epoch, "one", bytesOf("first"))).toBe(1);
      expect(await alpha.writeFile(epoch, "one", all)).toBe(2);
      expect(await alpha.writeFile(epoch, "two", new Uint8Array())).toBe(1);
      expect(await beta.readFile("one")).toEqual({ version: 2, content: all });
      expect(await beta.readFile("two")).toEqual({ version: 1, content: new Uint8Array() });
      expect(Object.fromEntries(await beta.readFileVersions())).toEqual({ one: 2, two: 1 });
    });

    test("writes no file of a host that does not lead, or with an epoch that is over", async () => {
      const { alpha, beta } = await makeLog(BASE);
      const old = await epochOf(alpha, 0);
      expect(await alpha.writeFile(old, "one", bytesOf("first"))).toBe(1);
      const epoch = await epochOf(beta);
      expect(await alpha.writeFile(old, "one", bytesOf("late"))).toBeNull();
      expect(await alpha.writeFile(epoch, "one", bytesOf("late"))).toBeNull();
      expect(await beta.writeFile(old, "one", bytesOf("late"))).toBeNull();
      expect(await beta.readFile("one")).toEqual({ version: 1, content: bytesOf("first") });
      expect(await beta.writeFile(epoch, "one", bytesOf("second"))).toBe(2);
    });
  });

  test(`${name}: says what is known of its database`, async () => {
    const { alpha } = await makeLog(BASE);
    const { version, server, replication, problems } = await alpha.readDatabase();
    expect(version).toMatch(/^\d+\.\d+/);
    expect(server).toMatch(/:\d+$/);
    expect(replication === "strict").toBe(problems.length === 0);
  });
}
