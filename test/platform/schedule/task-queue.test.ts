import { expect, test } from "bun:test";
import { TaskQueue } from "../../../src/platform/schedule/task-queue.ts";

/** A task that ends when the test says so, and notes when it starts. */
function makeTask(name: string, started: string[]) {
  const { promise, resolve } = Promise.withResolvers<string>();
  const task = (): Promise<string> => {
    started.push(name);
    return promise;
  };
  return { task, finish: () => resolve(name) };
}

/** Lets all promises settle that can settle now. */
const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test("a queue runs one task at a time, in the order of arrival", async () => {
  const queue = new TaskQueue();
  const started: string[] = [];
  const tasks = ["a", "b", "c"].map((name) => makeTask(name, started));
  const results = tasks.map(({ task }) => queue.runTask(task));
  await settle();
  expect([started, queue.waitingCount]).toEqual([["a"], 2]);
  tasks[2]?.finish();
  tasks[0]?.finish();
  await settle();
  expect([started, queue.waitingCount]).toEqual([["a", "b"], 1]);
  tasks[1]?.finish();
  expect(await Promise.all(results)).toEqual(["a", "b", "c"]);
  expect([started, queue.waitingCount]).toEqual([["a", "b", "c"], 0]);
});

test("a task does not start before the call of run has returned", async () => {
  const queue = new TaskQueue();
  const order: string[] = [];
  const result = queue.runTask(() => order.push("task"));
  order.push("returned");
  await result;
  expect(order).toEqual(["returned", "task"]);
});

test("a task that fails or throws rejects its own result, and the next one runs", async () => {
  const queue = new TaskQueue();
  const results = [
    queue.runTask(() => Promise.reject(new Error("failed"))),
    queue.runTask(() => {
      throw new Error("thrown");
    }),
    queue.runTask(() => "next"),
  ];
  expect(await Promise.allSettled(results)).toEqual([
    { status: "rejected", reason: new Error("failed") },
    { status: "rejected", reason: new Error("thrown") },
    { status: "fulfilled", value: "next" },
  ]);
  expect(await queue.runTask(() => "later")).toBe("later");
});

test("a waiting task that is aborted returns null at once, and never runs", async () => {
  const queue = new TaskQueue();
  const started: string[] = [];
  const [first, second] = [makeTask("first", started), makeTask("second", started)];
  const aborter = new AbortController();
  const running = queue.runTask(first.task);
  const aborted = queue.runTaskUnlessAborted(aborter.signal, second.task);
  const third = queue.runTask(() => started.push("third"));
  expect(queue.waitingCount).toBe(2);
  aborter.abort();
  expect(await aborted).toBeNull();
  expect(queue.waitingCount).toBe(1);
  first.finish();
  expect(await running).toBe("first");
  await third;
  expect(started).toEqual(["first", "third"]);
});

test("an aborted signal keeps a task from running, but not one that has started", async () => {
  const queue = new TaskQueue();
  expect(await queue.runTaskUnlessAborted(AbortSignal.abort(), () => "never")).toBeNull();
  const started: string[] = [];
  const { task, finish } = makeTask("a", started);
  const aborter = new AbortController();
  const result = queue.runTaskUnlessAborted(aborter.signal, task);
  await settle();
  aborter.abort();
  finish();
  expect([await result, started]).toEqual(["a", ["a"]]);
  expect(await queue.runTask(() => "next")).toBe("next");
});

test("with a pause, a result does not wait for it, but the next task does", async () => {
  const pauses: (() => void)[] = [];
  const queue = new TaskQueue(() => new Promise((resolve) => void pauses.push(resolve)));
  const started: string[] = [];
  const first = queue.runTask(() => started.push("first"));
  const second = queue.runTask(() => started.push("second"));
  await first;
  await settle();
  expect(started).toEqual(["first"]);
  pauses.shift()?.();
  await second;
  // Nothing is queued, but the pause after the second task has not ended.
  const third = queue.runTask(() => started.push("third"));
  await settle();
  expect(started).toEqual(["first", "second"]);
  pauses.shift()?.();
  await third;
  expect(started).toEqual(["first", "second", "third"]);
});
