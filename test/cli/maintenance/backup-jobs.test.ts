import { expect, test } from "bun:test";
import { ok } from "../../../src/domain/result.ts";
import { createBackupJobs } from "../../../src/cli/maintenance/backup-jobs.ts";
import { JobQueue } from "../../../src/operations/job-queue.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const BUSY = { ok: false, fault: { code: "too_many_jobs", retryAfterSeconds: 20 } };

test("a backup waits its turn however many jobs of the API wait, and a list does not", async () => {
  const queue = new JobQueue();
  const jobs = createBackupJobs(tempFolder(), {}, queue, () => {});
  const blocked = Promise.withResolvers<void>();
  const waiting = Array.from({ length: 9 }, () =>
    queue.runJob(null, async () => {
      await blocked.promise;
      return ok(null);
    }),
  );
  const directory = tempFolder();
  const made = jobs.make(directory, 7);
  expect((await jobs.list(directory)) as unknown).toEqual(BUSY);
  expect((await jobs.verify(directory)) as unknown).toEqual(BUSY);
  queue.stop();
  blocked.resolve();
  await Promise.all(waiting);
  expect((await made) as unknown).toEqual({ ok: false, fault: { code: "request_cancelled" } });
});
