// What a host does with lines that were written to the log past the program of the other host.
import { describe, expect, test } from "bun:test";
import type { Event } from "../../../src/domain/model/event.ts";
import type { License } from "../../../src/domain/model/state.ts";
import { sha256 } from "../../../src/platform/crypto/hash.ts";
import {
  encodeLine,
  type ChainHead,
  type JournalLine,
} from "../../../src/store/journal/journal.ts";
import { CannotFollow } from "../../../src/store/log/log-refusals.ts";
import { issueTestLicense } from "../../support/desk-and-site.ts";
import { openHost, openPairOfTwo, register, requestFrom } from "../../support/licensed-pair.ts";
import {
  dumpStateSorted,
  readJournal,
  transactOrThrow,
  unwrap,
} from "../../support/licensed-store.ts";
import { leadPair, openPair } from "../../support/pair-of-sites.ts";
import { MONDAY, register as registerCommand } from "../../support/scenario.ts";
import type { SimulatedLog } from "../../support/simulated-log.ts";
import { copyFolder } from "../../support/temp-folder.ts";

/** Writes a row and the end of the log, as everyone can who may write to the database. */
function forge(log: SimulatedLog, text: string, sum: string): void {
  const seq = log.leader.seq + 1;
  log.lines.push({ seq, epoch: log.leader.epoch, text });
  log.leader = { ...log.leader, seq, sum };
}

function headOf(log: SimulatedLog): ChainHead {
  const lines = log.lines.map(({ text }) => JSON.parse(text) as JournalLine);
  const audited = lines.findLast((line) => line.audit_seq !== undefined);
  const { seq, sum } = log.leader;
  return { seq, sum, auditSeq: audited?.audit_seq ?? 0, auditSum: audited?.sum ?? "" };
}

function forgeEvents(log: SimulatedLog, events: readonly Event[]): void {
  const { text, head } = encodeLine(headOf(log), null, MONDAY, events);
  forge(log, text, head.sum);
}

/** Any content, with a checksum that is right. */
function forgeContent(log: SimulatedLog, content: string): void {
  const sum = sha256(content);
  forge(log, `${content},"sum":"${sum}"}\n`, sum);
}

describe("a license that was written to the log and that no vendor signed", () => {
  test("keeps the host from leading, and from starting again", async () => {
    const { desk, log, alpha } = await openPairOfTwo();
    const request = await requestFrom(alpha, 2);
    const issued = await issueTestLicense(desk, request, { hosts: 2, terms: { slots: 1 } });
    unwrap(await alpha.operations.licensing.installLicense(issued.document, "test"));
    const folder = copyFolder(alpha.folder);
    const beta = await openHost({ log, host: "beta", folder });
    await beta.operations.leadership?.step();
    const [license] = alpha.store.peek(({ licenses }) => [...licenses.values()]) as [License];
    await alpha.stop();
    const { events } = readJournal(folder)
      .map(({ line }) => line)
      .find((line) => line.events.some(({ type }) => type === "LicenseInstalled")) as JournalLine;
    const installed = events.find((event) => event.type === "LicenseInstalled");
    if (installed?.type !== "LicenseInstalled") throw new Error("no license was installed");
    forgeEvents(log, [
      { ...installed, license: license.id, terms: { ...installed.terms, slots: 1_000 } },
    ]);
    await beta.operations.leadership?.step();
    expect(beta.operations.leadership?.problem).toContain("differs from what its vendor signed");
    expect(beta.operations.leadership?.mayAnswer()).toBe(false);
    expect((await register(beta, "eve")).ok).toBe(false);
    await beta.stop();
    expect(openHost({ log, host: "beta", folder })).rejects.toThrow("its vendor signed");
  });
});

describe("a row of the log that no host can have written", () => {
  async function openForged(write: (log: SimulatedLog) => void) {
    const { log, alpha, beta } = await openPair();
    unwrap(await leadPair(log, alpha, "alpha"));
    await transactOrThrow(alpha.store, registerCommand("ada"));
    await beta.store.follow();
    const before = { state: beta.store.peek(dumpStateSorted), lines: readJournal(beta.folder) };
    write(log);
    const problem = await beta.store.follow().then(
      () => null,
      (error: unknown) => error,
    );
    expect(beta.store.peek(dumpStateSorted)).toEqual(before.state);
    expect(readJournal(beta.folder)).toEqual(before.lines);
    expect(beta.fatalErrors).toEqual([]);
    return problem;
  }

  const start = ({ seq, sum }: ChainHead, events: string): string =>
    `{"seq":${seq + 1},"from":${seq + 1},"at":${MONDAY},"events":${events},"prev":"${sum}"`;

  test.each<[string, (log: SimulatedLog) => void]>([
    ["is no JSON", (log) => forgeContent(log, `{"seq":}`)],
    ["has no list of events", (log) => forgeContent(log, start(headOf(log), "7"))],
    ["has an event without a type", (log) => forgeContent(log, start(headOf(log), "[null]"))],
    ["has an event without a time", (log) => forgeEvents(log, [{ type: "PairLeft" } as Event])],
    ["has a line feed", (log) => forgeContent(log, start(headOf(log), "[\n]"))],
    [
      "keeps an audited event from the audit log",
      (log) => {
        const { events } = JSON.parse(log.lines.at(-1)?.text ?? "") as JournalLine;
        forgeContent(log, start(headOf(log), JSON.stringify(events)));
      },
    ],
  ])("stops the host that follows, and changes nothing, if it %s", async (_name, write) => {
    const problem = await openForged(write);
    expect(problem).toBeInstanceOf(CannotFollow);
    expect(String(problem)).toContain("is damaged");
  });

  test("is not applied in part if one of its events names a license that does not exist", async () => {
    const problem = await openForged((log) => {
      const { events } = JSON.parse(log.lines.at(-1)?.text ?? "") as JournalLine;
      const [event] = events as [Event];
      forgeEvents(log, [{ ...event, license: 77, user: "eve" } as Event]);
    });
    expect(problem).toBeInstanceOf(CannotFollow);
    expect(String(problem)).toContain("cannot be applied");
  });
});
