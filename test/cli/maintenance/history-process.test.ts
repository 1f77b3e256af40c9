// Reports, estimates and statements of a server come from a process of its own, which reads the
// files of the folder. They must be those that the server itself would compute.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { createHistoryProcess } from "../../../src/cli/maintenance/history-process.ts";
import { DAY, HOUR, later, startOfDay } from "../../../src/domain/time.ts";
import { reportReply } from "../../../src/http/routes/usage/report-reply.ts";
import { whatIfReply } from "../../../src/http/routes/usage/what-if.ts";
import {
  computeStatementUsage,
  USUAL_DAYS,
} from "../../../src/operations/statements/statement-usage.ts";
import type { HistoryRequest } from "../../../src/operations/usage/history-process.ts";
import { openHistory } from "../../../src/operations/usage/site-history.ts";
import { wallClock } from "../../../src/platform/clock.ts";
import { makeContact } from "../../support/contact.ts";
import { unwrap } from "../../support/licensed-store.ts";
import { terms } from "../../support/scenario.ts";
import { installNewLicense, openSiteFolder } from "../../support/site-folder.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const end = startOfDay(wallClock());
const begin = later(end, -20 * DAY);
let now = begin;
let site: Awaited<ReturnType<typeof openSiteFolder>>;

// Closed before the folder is removed.
afterAll(() => site.close());
const folder = tempFolder(afterAll);

beforeAll(async () => {
  site = await openSiteFolder(folder, () => now);
  await installNewLicense(site, terms({ product: "cad", slots: 2, timeoutMinutes: 60 * 24 * 30 }));
  for (const [day, user] of ["ada", "bob", "eve", "ada", "dan"].entries()) {
    now = later(begin, day * DAY + HOUR);
    const slot = { product: "cad", licenseId: null, user, nonce: null, identity: null };
    await site.slots.register({ ...slot, contact: makeContact({ hostname: `${user}-pc` }) });
    now = later(now, HOUR);
    if (user === "bob") await site.slots.unregister({ ...slot, by: "user", peer: "10.0.0.9" });
    // The older lines are in the audit log, the newer ones in the journal.
    if (day === 2) await site.store.checkpoint();
  }
  now = end;
});

const createProcess = () => createHistoryProcess(folder, process.env, openHistory(site.store));
const period = { from: begin, to: end };
const report: HistoryRequest = {
  type: "report",
  wanted: {
    ...period,
    product: null,
    feature: null,
    timeZone: "Europe/Berlin",
    idleDays: 7,
    rows: 100,
    hasSessions: true,
    isAnonymous: false,
  },
};

const parse = (reply: Uint8Array): unknown => JSON.parse(new TextDecoder().decode(reply));

test("a report from the process is the one that the server would compute", async () => {
  const reply = unwrap(await createProcess().reply(report, { isCompressed: true, signal: null }));
  const expected = reportReply(unwrap(await site.reports.buildReport(report.wanted)), false);
  expect(expected.sessions.map(({ user }) => user)).toContain("ada");
  expect(expected.pools[0]).toMatchObject({ sessions: 3, people: 3, peak: 2 });
  expect(parse(gunzipSync(reply))).toEqual(expected);
});

test("an estimate and a statement from the process are those that the server would compute", async () => {
  const historyProcess = createProcess();
  const options = { isCompressed: false, signal: null };
  const wanted = { product: "cad", feature: null, window: period, slots: [1, 2, 3], share: 0.9 };
  const whatIf = unwrap(await historyProcess.reply({ type: "what-if", wanted }, options));
  expect(parse(whatIf)).toEqual(whatIfReply(unwrap(await site.reports.computeWhatIf(wanted))));

  const vendor = unwrap(await site.usageStatements.list())[0]?.vendor ?? "";
  const days = { vendor, next: null, end, maxDays: USUAL_DAYS };
  const usage = unwrap(await historyProcess.reply({ type: "statement", wanted: days }, options));
  const expected = unwrap(await computeStatementUsage(openHistory(site.store), days));
  expect(expected.covered?.figures.licenses).toHaveLength(1);
  expect(parse(usage)).toEqual(expected);
});

test("a refusal comes back as it is, and a caller who goes away ends the work", async () => {
  const historyProcess = createProcess();
  const wanted = { ...report.wanted, product: "unknown" };
  const options = { isCompressed: false, signal: null };
  expect(await historyProcess.reply({ type: "report", wanted }, options)).toEqual({
    ok: false,
    fault: { code: "unknown_product" },
  });
  const caller = new AbortController();
  const pending = historyProcess.reply(report, { isCompressed: false, signal: caller.signal });
  caller.abort();
  expect(await pending).toEqual({ ok: false, fault: { code: "request_cancelled" } });
  expect(historyProcess.progress()).toBeNull();
});

test("one report is computed at a time, and more than eight that wait are refused with a time", async () => {
  const historyProcess = createProcess();
  const ask = () => historyProcess.reply(report, { isCompressed: false, signal: null });
  const replies = Array.from({ length: 9 }, ask);
  expect(await ask()).toEqual({
    ok: false,
    fault: { code: "too_many_jobs", retryAfterSeconds: 20 },
  });
  historyProcess.stop();
  const faults = (await Promise.all(replies)).map((reply) => (reply.ok ? null : reply.fault.code));
  expect(new Set(faults)).toEqual(new Set(["request_cancelled"]));
});
