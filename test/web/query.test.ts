import { describe, expect, test } from "bun:test";
import { signal } from "@preact/signals";
import { ApiError } from "../../src/web/api-error.ts";
import { Query, type QueryOptions } from "../../src/web/query.ts";

const unanswered = new ApiError("unreachable", "The server does not answer.", 0);
const refused = new ApiError("forbidden", "Not allowed.", 403);

/** A server whose answers the test gives one by one, and a clock that the test moves. */
function openPage(options: QueryOptions<string> = {}) {
  const isConnected = signal(true);
  const changes = signal(0);
  let now = 1_000_000;
  let timers: { readonly at: number; readonly work: () => void }[] = [];
  const reads: {
    readonly signal: AbortSignal;
    readonly answer: (data: string) => Promise<void>;
    readonly fail: (error: Error) => Promise<void>;
  }[] = [];
  const query = new Query<string>(
    (cancelled) =>
      new Promise((resolve, reject) => {
        reads.push({
          signal: cancelled,
          answer: (data) => (resolve(data), settle()),
          fail: (error) => (reject(error), settle()),
        });
      }),
    {
      isConnected,
      lastChange: () => changes.value,
      now: () => now,
      schedule(work, delay) {
        const timer = { at: now + delay, work };
        timers.push(timer);
        return () => (timers = timers.filter((other) => other !== timer));
      },
    },
    options,
  );
  const settle = (): Promise<void> => Bun.sleep(0);
  const pass = async (time: number): Promise<void> => {
    now += time;
    const due = timers.filter(({ at }) => at <= now);
    timers = timers.filter(({ at }) => at > now);
    for (const { work } of due) work();
    await settle();
  };
  const nextDelay = (): number | null => (timers[0] === undefined ? null : timers[0].at - now);
  return { query, isConnected, changes, reads, pass, nextDelay };
}

describe("a query", () => {
  test("reads when it starts and keeps the data", async () => {
    const { query, reads } = openPage();
    query.start();
    expect(query.data.value).toBeNull();
    await reads[0]?.answer("one");
    expect([query.data.value, query.error.value]).toEqual(["one", ""]);
  });

  test("shows the reason of a refusal and does not repeat the request", async () => {
    const { query, reads, nextDelay } = openPage();
    query.start();
    await reads[0]?.fail(refused);
    expect([query.error.value, nextDelay()]).toEqual(["Not allowed.", null]);
  });

  test("repeats an unanswered read after 1, 2, 4 and at most 30 seconds", async () => {
    const { query, reads, pass, nextDelay } = openPage();
    query.start();
    const delays: (number | null)[] = [];
    for (let read = 0; read < 7; read += 1) {
      await reads[read]?.fail(unanswered);
      delays.push(nextDelay());
      await pass(nextDelay() ?? 0);
    }
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  test("keeps the last data while the server does not answer", async () => {
    const { query, reads, pass, changes } = openPage();
    query.start();
    await reads[0]?.answer("one");
    changes.value += 1;
    await pass(2_000);
    await reads[1]?.fail(unanswered);
    expect(query.data.value).toBe("one");
    await pass(1_000);
    await reads[2]?.answer("two");
    expect(query.data.value).toBe("two");
  });

  test("shows no error for one lost request, but for two while the connection works", async () => {
    const { query, reads, pass } = openPage();
    query.start();
    await reads[0]?.fail(unanswered);
    expect(query.error.value).toBe("");
    await pass(1_000);
    await reads[1]?.fail(unanswered);
    expect(query.error.value).toBe("The server does not answer.");
  });

  test("shows no error while the connection is lost, and reads at once when it is back", async () => {
    const { query, reads, pass, isConnected } = openPage();
    query.start();
    await reads[0]?.answer("one");
    isConnected.value = false;
    await failTwice();
    expect(query.error.value).toBe("");
    const count = reads.length;
    isConnected.value = true;
    expect(query.error.value).toBe("");
    expect(reads.length).toBe(count + 1);
    await reads.at(-1)?.answer("two");
    expect(query.data.value).toBe("two");

    async function failTwice(): Promise<void> {
      void query.refresh();
      await reads.at(-1)?.fail(unanswered);
      await pass(1_000);
      await reads.at(-1)?.fail(unanswered);
    }
  });

  test("reads again after a change, but not before the shortest interval has passed", async () => {
    const { query, reads, changes, pass, nextDelay } = openPage({ minInterval: 5_000 });
    query.start();
    await reads[0]?.answer("one");
    await pass(1_000);
    changes.value += 1;
    changes.value += 1;
    expect(nextDelay()).toBe(4_000);
    await pass(4_000);
    expect(reads.length).toBe(2);
  });

  test("reads once more after a change that happened during a read", async () => {
    const { query, reads, changes, pass } = openPage();
    query.start();
    changes.value += 1;
    expect(reads.length).toBe(1);
    await reads[0]?.answer("one");
    await pass(2_000);
    expect(reads.length).toBe(2);
  });

  test("reads again at its greatest age, which can depend on the data", async () => {
    const { query, reads, nextDelay } = openPage({
      maxAge: (data) => (data === "partial" ? 100 : null),
    });
    query.start();
    await reads[0]?.answer("partial");
    expect(nextDelay()).toBe(100);
    void query.refresh();
    await reads[1]?.answer("whole");
    expect(nextDelay()).toBeNull();
  });

  test("cancels its request and reads no more when the last component is gone", async () => {
    const { query, reads, changes, nextDelay } = openPage();
    const stops = [query.start(), query.start()];
    stops[0]?.();
    stops[0]?.();
    expect(reads[0]?.signal.aborted).toBe(false);
    stops[1]?.();
    expect(reads[0]?.signal.aborted).toBe(true);
    await reads[0]?.answer("late");
    changes.value += 1;
    expect([query.data.value, nextDelay(), reads.length]).toEqual([null, null, 1]);
  });

  test("drops the answer to a read that a newer one replaced", async () => {
    const { query, reads } = openPage();
    query.start();
    void query.refresh();
    await reads[1]?.answer("new");
    await reads[0]?.answer("old");
    expect(query.data.value).toBe("new");
  });
});
