import { describe, expect, onTestFinished, test } from "bun:test";
import { LogTrimmer } from "../../../src/operations/pair/log-trimmer.ts";
import type { State } from "../../../src/domain/model/state.ts";
import { LogUnavailable, type HostLog } from "../../../src/store/log/shared-log.ts";
import { DAY } from "../../../src/domain/time.ts";
import { SimulatedLog } from "../../support/simulated-log.ts";
import { waitUntil } from "../../support/wait-until.ts";

const WEEK = 7 * DAY;
const LINES = 10;

/** A log with ten lines, of a pair of these hosts. */
async function makeLog(members: readonly string[] = ["alpha", "beta"]) {
  const shared = new SimulatedLog({ seq: 0, sum: "" });
  const log = shared.connect("alpha");
  const { epoch = NaN } = (await log.claimTerm(1)) ?? {};
  for (let seq = 1; seq <= LINES; seq += 1) await appendLine(log, epoch, seq);
  const pair = { hosts: new Map(members.map((name) => [name, {}])) };
  const state = { pair: members.length === 0 ? null : pair } as unknown as State;
  const store = { peek: <Value>(read: (state: State) => Value): Value => read(state) };
  const report = (host: string, covered: number): Promise<void> =>
    log.reportHost({
      host,
      hardwareId: "",
      url: null,
      version: "",
      head: { seq: LINES, sum: "" },
      covered,
      systemTime: 0,
    });
  return { shared, log, store, report };
}

const appendLine = (log: HostLog, epoch: number, seq: number): Promise<boolean> =>
  log.append(epoch, {
    firstSeq: seq,
    lastSeq: seq,
    prev: seq === 1 ? "" : `sum ${seq - 1}`,
    sum: `sum ${seq}`,
    texts: [`${seq}\n`],
  });

const firstLine = ({ lines }: SimulatedLog): number | undefined => lines[0]?.seq;

describe("the trimmer of a log", () => {
  test("removes lines after a week that the checkpoints of both hosts cover", async () => {
    const { shared, report, ...options } = await makeLog();
    await report("alpha", 8);
    await report("beta", 5);
    shared.now = WEEK;
    await new LogTrimmer(options).trim();
    expect(firstLine(shared)).toBe(6);
  });

  test("keeps all lines for a week", async () => {
    const { shared, report, ...options } = await makeLog();
    await report("alpha", 8);
    await report("beta", 8);
    shared.now = WEEK - 1;
    await new LogTrimmer(options).trim();
    expect(firstLine(shared)).toBe(1);
  });

  test("keeps all lines while a host of the pair has not reported", async () => {
    const { shared, report, ...options } = await makeLog();
    await report("alpha", 8);
    await report("gamma", 8);
    shared.now = WEEK;
    await new LogTrimmer(options).trim();
    expect(firstLine(shared)).toBe(1);
  });

  test("does not wait for a host that left the pair", async () => {
    const { shared, report, ...options } = await makeLog(["alpha"]);
    await report("alpha", 8);
    await report("beta", 2);
    shared.now = WEEK;
    await new LogTrimmer(options).trim();
    expect(firstLine(shared)).toBe(9);
  });

  test("keeps all lines of a log without a pair", async () => {
    const { shared, report, ...options } = await makeLog([]);
    await report("alpha", 8);
    shared.now = WEEK;
    await new LogTrimmer(options).trim();
    expect(firstLine(shared)).toBe(1);
  });

  test("works again and again while this host leads, also after the log was away", async () => {
    const { shared, report, log, store } = await makeLog();
    let failures = 0;
    const readHosts = async () => {
      if (failures++ === 0) throw new LogUnavailable("no answer");
      return log.readHosts();
    };
    const trim = log.trim.bind(log);
    const trimmer = new LogTrimmer({ store, log: { readHosts, trim }, intervalMs: 1 });
    onTestFinished(() => trimmer.end());
    shared.now = WEEK;
    await report("alpha", 3);
    await report("beta", 3);
    await trimmer.begin();
    await waitUntil(() => firstLine(shared) === 4);
    await report("alpha", 8);
    await report("beta", 8);
    await waitUntil(() => firstLine(shared) === 9);
  });

  test("does nothing after this host has stopped leading", async () => {
    const { shared, report, log, store } = await makeLog();
    let reads = 0;
    const readHosts = async () => {
      reads += 1;
      return log.readHosts();
    };
    const trim = log.trim.bind(log);
    const trimmer = new LogTrimmer({ store, log: { readHosts, trim }, intervalMs: 1 });
    await trimmer.begin();
    await waitUntil(() => reads > 0);
    trimmer.end();
    const before = reads;
    shared.now = WEEK;
    await report("alpha", 8);
    await report("beta", 8);
    await Bun.sleep(20);
    expect(reads).toBe(before);
    expect(firstLine(shared)).toBe(1);
  });
});
