// Jobs of `berth run --wait` compete for the slots of a real server.
import { expect, test } from "bun:test";
import { ContendedSite } from "../support/contended-site.ts";
import { startWrapped, type Wrapper } from "../support/run-wrapper.ts";
import { waitUntil } from "../support/wait-until.ts";

const SLOTS = 6;
const JOBS = 14;

/** Returns when all slots are in use, and all other jobs wait. */
async function startJobs() {
  const site = await ContendedSite.open({ slots: SLOTS, timeoutMinutes: 1 });
  const jobs = Array.from({ length: JOBS }, () =>
    startWrapped(site, ["--wait", "2h"], [site.program, "model"]),
  );
  await site.waitForContention(SLOTS, JOBS - SLOTS);
  return { site, jobs };
}

/** Every job must exit with 0, and may print only what matches. */
async function expectSuccess(jobs: readonly Wrapper[], expected: RegExp): Promise<void> {
  const codes = await Promise.all(jobs.map((job) => job.end()));
  const failures = jobs.flatMap(({ stderr }, index) =>
    codes[index] === 0 ? [] : [`exit code ${codes[index]}: ${stderr}`],
  );
  expect(failures).toEqual([]);
  const messages = jobs.flatMap(({ stderr }) => stderr.split("\n").filter((line) => line !== ""));
  expect(messages.filter((line) => !expected.test(line))).toEqual([]);
  expect(new Set(jobs.map(({ stdout }) => stdout))).toEqual(new Set(["result of model\n"]));
}

const NOTE = /^berth: note: /;
/** If the machine starts the server in more than five seconds, a job cannot release its slot. */
const NOTE_OR_NOT_RELEASED = /^berth: note: |was not released; it ends at/;

test("14 jobs of berth run --wait share 6 slots: all succeed, and never more than 6 run", async () => {
  const { site, jobs } = await startJobs();
  site.letJobsEnd();
  await expectSuccess(jobs, NOTE);
  expect([site.countStarted(), site.countEnded(), site.countMostAtOnce()]).toEqual([14, 14, 6]);
  expect([await site.countSlotsInUse(), await site.countWaiting()]).toEqual([0, 0]);
});

test("14 jobs of berth run --wait share 6 slots of a server that is killed twice", async () => {
  const { site, jobs } = await startJobs();
  await site.killAndRestart();
  expect(await site.countSlotsInUse()).toBe(SLOTS);
  site.letJobsEnd();
  await waitUntil(() => site.countStarted() > SLOTS);
  await site.killAndRestart();
  await expectSuccess(jobs, NOTE_OR_NOT_RELEASED);
  expect([site.countStarted(), site.countEnded(), site.countMostAtOnce()]).toEqual([14, 14, 6]);
});
