import { expect, test } from "bun:test";
import { runSideBySide } from "./schedule.ts";

/** Runs jobs whose ends the test decides, and keeps the order in which they start. */
function startJobs(capacity: number, cores: Readonly<Record<string, number>>) {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const jobs = Object.entries(cores).map(([name, load]) => ({ name, cores: load }));
  const all = runSideBySide(jobs, capacity, ({ name }) => {
    started.push(name);
    const { promise, resolve } = Promise.withResolvers<string>();
    ends.set(name, () => resolve(name));
    return promise;
  });
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await Bun.sleep(0);
  };
  return { started, end, all };
}

test("jobs run side by side only as long as the processors suffice", async () => {
  const { started, end, all } = startJobs(2, { a: 1, b: 1, c: 1 });
  expect(started).toEqual(["a", "b"]);
  await end("b");
  expect(started).toEqual(["a", "b", "c"]);
  await end("a");
  await end("c");
  expect(await all).toEqual(["b", "a", "c"]);
});

test("a job that mostly waits goes before one that does not fit", async () => {
  const { started, end } = startJobs(2, { a: 1.5, b: 1, waiting: 0.2 });
  expect(started).toEqual(["a", "waiting"]);
  await end("a");
  expect(started).toEqual(["a", "waiting", "b"]);
});

test("a job that needs more processors than there are runs alone", async () => {
  const { started, end } = startJobs(2, { a: 1, huge: 4, b: 1 });
  expect(started).toEqual(["a", "b"]);
  await end("a");
  expect(started).toEqual(["a", "b"]);
  await end("b");
  expect(started).toEqual(["a", "b", "huge"]);
});

test("a job that throws ends the run with its error", async () => {
  const run = runSideBySide([{ cores: 1 }], 1, () => Promise.reject(new Error("no disk")));
  expect(run).rejects.toThrow("no disk");
});
