// What a host that follows does with damage, a full disk, lines that it cannot read, and a stop.
import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Event } from "../../../src/domain/model/event.ts";
import { CannotFollow } from "../../../src/store/log/log-refusals.ts";
import type { LogEnd } from "../../../src/store/log/shared-log.ts";
import { encodeLine, type JournalLine } from "../../../src/store/journal/journal.ts";
import { FaultyDisk, isPending } from "../../support/faulty-disk.ts";
import {
  catchFolderRefusal,
  dumpStateSorted,
  listSegmentNames,
  openSite,
  readJournal,
  transactCommand,
  transactOrThrow,
  unwrap,
  type OpenSite,
} from "../../support/licensed-store.ts";
import { MONDAY, register } from "../../support/scenario.ts";
import { leadPair, openPair, type PairOfSites } from "../../support/pair-of-sites.ts";
import type { SimulatedLog } from "../../support/simulated-log.ts";
import { copyFolder } from "../../support/temp-folder.ts";
import { waitUntil } from "../../support/wait-until.ts";

interface LedPair extends PairOfSites {
  readonly disk: FaultyDisk;
}

/** A pair in which alpha leads and has granted slots to three users; `disk` is beta's. */
async function openLedPair(): Promise<LedPair> {
  const disk = new FaultyDisk();
  const pair = await openPair({ beta: { disk } });
  unwrap(await leadPair(pair.log, pair.alpha, "alpha"));
  for (const user of ["ada", "bob", "cyd"]) await transactOrThrow(pair.alpha.store, register(user));
  return { ...pair, disk };
}

function expectSame(alpha: OpenSite, beta: OpenSite): void {
  expect(beta.store.peek(dumpStateSorted)).toEqual(alpha.store.peek(dumpStateSorted));
  expect(readJournal(beta.folder)).toEqual(readJournal(alpha.folder));
}

const reopen = (log: SimulatedLog, { folder }: OpenSite, host: string): Promise<OpenSite> =>
  openSite({ folder, openLog: async () => log.connect(host) });

const catchProblem = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

/** Appends a line as a leader with other rules would. */
async function appendForeignLine(log: SimulatedLog, { store }: OpenSite, events: Event[]) {
  const { seq, sum, epoch } = log.leader;
  const { auditSeq } = store.status();
  const auditSum = readLastAuditSum(log);
  const { text, head } = encodeLine({ seq, sum, auditSeq, auditSum }, null, MONDAY, events);
  const batch = { firstSeq: seq + 1, lastSeq: seq + 1, prev: sum, sum: head.sum, texts: [text] };
  expect(await log.connect("alpha").append(epoch, batch)).toBe(true);
}

/** Removes the last line of the log. */
function takeLastLine(log: SimulatedLog): { readonly events: Event[]; readonly end: LogEnd } {
  const { seq, events, prev } = JSON.parse(log.lines.pop()?.text ?? "") as JournalLine;
  const end = { seq: seq - 1, sum: prev };
  log.leader = { ...log.leader, ...end };
  return { events: [...events], end };
}

/** An event as a newer version may write it. */
const NEWER_EVENT = JSON.parse(
  `{"type":"SlotLent","at":${MONDAY},"license":1,"user":"ada"}`,
) as Event;

function readLastAuditSum(log: SimulatedLog): string {
  const lines = log.lines.map(({ text }) => JSON.parse(text) as Record<string, unknown>);
  return String(lines.findLast((line) => line["audit_seq"] !== undefined)?.["sum"]);
}

describe("a host that follows", () => {
  test("applies each line once if it is called twice at the same time", async () => {
    const { alpha, beta } = await openLedPair();
    await Promise.all([beta.store.follow(), beta.store.follow()]);
    expectSame(alpha, beta);
  });

  test("writes nothing after it was closed", async () => {
    const { log, beta, disk } = await openLedPair();
    const gate = Promise.withResolvers<void>();
    log.readDelay = gate.promise;
    const following = beta.store.follow();
    await Bun.sleep(1);
    const stopping = beta.stop();
    expect(await isPending(stopping)).toBe(true);
    gate.resolve();
    await Promise.all([following, stopping]);
    expect([disk.misuses, beta.fatalErrors]).toEqual([[], []]);
  });

  test("makes checkpoints while it follows, and has all lines after a start", async () => {
    const { log, alpha, beta } = await openLedPair();
    const following = beta.store.follow();
    await beta.store.checkpoint();
    await following;
    await transactOrThrow(alpha.store, register("dee"));
    await Promise.all([beta.store.checkpoint(), beta.store.follow()]);
    expect(beta.store.status().checkpointError).toBeNull();
    await beta.stop();
    const restarted = await reopen(log, beta, "beta");
    await restarted.store.follow();
    expect(restarted.store.peek(dumpStateSorted)).toEqual(alpha.store.peek(dumpStateSorted));
  });

  test("lets other work run while it applies many lines", async () => {
    const applied = { count: 0, inThisTurn: 0, most: 0 };
    const followed = (): void => {
      applied.count += 1;
      applied.inThisTurn += 1;
      applied.most = Math.max(applied.most, applied.inThisTurn);
    };
    const observer = { applied: () => {}, durable: () => {}, followed };
    const { log, alpha, beta } = await openPair({ beta: { observer } });
    unwrap(await leadPair(log, alpha, "alpha"));
    for (let count = 0; count < 1_200; count += 1) {
      await transactOrThrow(alpha.store, register(count % 2 === 0 ? "ada" : "bob"));
    }
    let isDone = false;
    const beginTurn = (): void => {
      applied.inThisTurn = 0;
      if (!isDone) setImmediate(beginTurn);
    };
    beginTurn();
    await beta.store.follow();
    isDone = true;
    expect(applied.count).toBe(log.lines.length);
    expect(applied.most).toBeLessThan(250);
    expectSame(alpha, beta);
  });
});

describe("a host that follows with a full disk", () => {
  test("says so, reads nothing again and again, and continues when there is space", async () => {
    const { alpha, beta, disk } = await openLedPair();
    disk.bytesLeft = 20;
    expect(await catchProblem(beta.store.follow())).toMatchObject({
      fault: { code: "storage_full" },
    });
    await catchProblem(beta.store.follow());
    const opensBefore = disk.listCalls("open").filter((call) => call.includes("journal")).length;
    for (let count = 0; count < 5; count += 1) await catchProblem(beta.store.follow());
    const opens = disk.listCalls("open").filter((call) => call.includes("journal")).length;
    expect(opens).toBe(opensBefore);
    expect(beta.store.status().fault).toEqual({ code: "storage_full" });
    disk.bytesLeft = Infinity;
    await waitUntil(() => beta.store.status().fault?.code === "standby");
    await beta.store.follow();
    expectSame(alpha, beta);
  });
});

describe("a host that reads a line that it cannot apply", () => {
  const refuse = async (pair: LedPair, message: string): Promise<void> => {
    const { log, beta } = pair;
    expect(await catchProblem(beta.store.follow())).toBeInstanceOf(CannotFollow);
    expect(beta.store.status().followProblem?.message).toContain(message);
    expect(beta.fatalErrors).toEqual([]);
    expect(leadPair(log, beta, "beta")).rejects.toBeInstanceOf(CannotFollow);
    expect((await transactCommand(beta.store, register("eve"))).ok).toBe(false);
  };

  test("stops following before an event of a newer version, and applies no part of its line", async () => {
    const pair = await openLedPair();
    const { log, alpha, beta } = pair;
    await beta.store.follow();
    const before = beta.store.peek(dumpStateSorted);
    await transactOrThrow(alpha.store, register("zoe"));
    const { events } = takeLastLine(log);
    await appendForeignLine(log, beta, [...events, NEWER_EVENT]);
    await refuse(pair, "SlotLent");
    expect(beta.store.status().followProblem?.hint).toContain("newer version");
    expect(beta.store.peek(dumpStateSorted)).toEqual(before);
  });

  test("stops following a log that does not continue its journal", async () => {
    const pair = await openLedPair();
    const { log, alpha, beta } = pair;
    await beta.store.follow();
    await transactOrThrow(alpha.store, register("dee"));
    await transactOrThrow(alpha.store, register("eve"));
    log.lines.splice(-2, 1);
    await refuse(pair, "begins with line");
  });

  test("stops following a log that lost the last line of its journal", async () => {
    const { log, beta } = await openLedPair();
    await beta.store.follow();
    const { end } = takeLastLine(log);
    expect(await catchProblem(beta.store.follow())).toBeInstanceOf(CannotFollow);
    const { seq } = readJournal(beta.folder).at(-1)?.line ?? {};
    const message = beta.store.status().followProblem?.message;
    expect(message).toContain(`the log ends at line ${end.seq}`);
    expect(message).toContain(`continues to line ${seq}`);
  });

  test("continues by itself when the log has all lines of its journal again", async () => {
    const { log, alpha, beta } = await openLedPair();
    await beta.store.follow();
    const [lines, leader] = [[...log.lines], log.leader];
    takeLastLine(log);
    for (let count = 0; count < 2; count += 1)
      expect(await catchProblem(beta.store.follow())).toBeInstanceOf(CannotFollow);
    log.lines.splice(0, Infinity, ...lines);
    log.leader = leader;
    await beta.store.follow();
    expect(beta.store.status().followProblem).toBeNull();
    await transactOrThrow(alpha.store, register("dee"));
    await beta.store.follow();
    expectSame(alpha, beta);
  });

  test("stops at a log, and refuses a start, if its last line has other content there", async () => {
    const { log, alpha, beta } = await openLedPair();
    await beta.store.follow();
    const { events } = takeLastLine(log);
    await appendForeignLine(log, alpha, [...events, ...events]);
    expect(log.leader.seq).toBe(beta.store.status().seq);
    const problem = await catchProblem(beta.store.follow());
    expect(problem).toHaveProperty("message", expect.stringContaining(log.leader.sum));
    await beta.stop();
    expect(reopen(log, beta, "beta")).rejects.toThrow(`of the log is ${log.leader.sum}, but`);
  });

  test("has no part of a line in memory that cannot be applied", async () => {
    const pair = await openLedPair();
    const { log, alpha, beta } = pair;
    await beta.store.follow();
    const before = beta.store.peek(dumpStateSorted);
    await transactOrThrow(alpha.store, register("zoe"));
    const { events } = takeLastLine(log);
    // Its license does not exist.
    const unfit = events.map((event) => ({ ...event, license: 99 })) as Event[];
    await appendForeignLine(log, beta, [...events, ...unfit]);
    await refuse(pair, "cannot be applied");
    await beta.store.stopLeading({ code: "standby" });
    expect(beta.store.peek(dumpStateSorted)).toEqual(before);
  });

  test("does not lead if the log no longer has the lines that it needs", async () => {
    const pair = await openLedPair();
    const { log, beta } = pair;
    log.lines.length = 0;
    expect(leadPair(log, beta, "beta")).rejects.toThrow("the log begins with line");
  });
});

/** A copy of beta's folder as a power cut leaves it: a later sector was on disk before this one. */
function damageCopy(alpha: OpenSite, beta: OpenSite): string {
  const folder = copyFolder(beta.folder);
  const path = join(folder, listSegmentNames(folder).at(-1) ?? "");
  const bytes = readFileSync(path);
  const offset = bytes.indexOf(readJournal(alpha.folder).at(-3)?.raw ?? "");
  expect(offset).toBeGreaterThan(0);
  writeFileSync(path, bytes.fill(0, offset, offset + 20));
  return folder;
}

describe("a start of a host whose journal is damaged before later batches", () => {
  test("cuts the damage off, and reads the lines from the log again", async () => {
    const { log, alpha, beta } = await openLedPair();
    await beta.store.follow();
    const folder = damageCopy(alpha, beta);
    const restarted = await openSite({ folder, openLog: async () => log.connect("beta") });
    expect(restarted.store.status().notes.join()).toContain("read from the log of the pair again");
    await restarted.store.follow();
    expectSame(alpha, restarted);
  });

  test("is refused without the log, and the refusal names the setting", async () => {
    const { alpha, beta } = await openLedPair();
    await beta.store.follow();
    const refusal = await catchFolderRefusal(damageCopy(alpha, beta));
    expect(refusal.hint).toContain("pair_log");
  });

  test("is refused if the log does not have the lines", async () => {
    const { log, alpha, beta } = await openLedPair();
    await beta.store.follow();
    const folder = damageCopy(alpha, beta);
    log.lines.splice(0, log.lines.length - 1);
    expect(openSite({ folder, openLog: async () => log.connect("beta") })).rejects.toThrow(
      "the log begins with line",
    );
  });

  test("writes all lines of the last segment again, as their syncs may have failed", async () => {
    const { log, beta } = await openLedPair();
    await beta.store.follow();
    const disk = new FaultyDisk();
    const folder = copyFolder(beta.folder);
    const rewritten: number[] = [];
    const rewrite = disk.rewrite.bind(disk);
    disk.rewrite = (path, offset, bytes) => {
      rewritten.push(offset, bytes.length);
      return rewrite(path, offset, bytes);
    };
    const { store } = await openSite({ disk, folder, openLog: async () => log.connect("beta") });
    expect(rewritten).toEqual([0, store.status().journalBytes]);
  });
});
