import { setImmediate, setTimeout } from "node:timers/promises";
import { TaskQueue } from "./task-queue.ts";

/** A piece that took longer is followed by a pause: requests that came meanwhile are finished. */
const LONG_PIECE_MS = 6;
const PAUSE_MS = 2;

let lastPieceMs = 0;

const queue = new TaskQueue(() =>
  lastPieceMs > LONG_PIECE_MS ? setTimeout(PAUSE_MS) : setImmediate(),
);

/**
 * Runs a piece of work that takes a few milliseconds, after all pieces queued before it. Requests
 * are served between two pieces, so no request waits for more than one.
 */
export const runBetweenRequests = <T>(work: () => T): Promise<T> =>
  queue.runTask(() => {
    const begin = performance.now();
    try {
      return work();
    } finally {
      lastPieceMs = performance.now() - begin;
    }
  });

/**
 * So long a request may wait for a step of other work, besides the last part of the step. A request
 * that changes something waits for about three steps: when it is read, written and answered.
 */
const STEP_MS = 3;

/** Begins a step; the function that it returns says whether the step has taken its time. */
export function beginStep(): () => boolean {
  const end = performance.now() + STEP_MS;
  return () => performance.now() >= end;
}

/**
 * Repeats a small piece of work until it returns true, for a few milliseconds at a time: how long
 * one piece takes may depend on what users wrote.
 */
export async function repeatBetweenRequests(work: () => boolean): Promise<void> {
  const runStep = (): boolean => {
    const isOver = beginStep();
    let isDone = work();
    while (!isDone && !isOver()) isDone = work();
    return isDone;
  };
  while (!(await runBetweenRequests(runStep)));
}

/** Runs all steps of a piece of work; requests are served between two of them. */
export async function finishBetweenRequests<T>(steps: Generator<void, T>): Promise<T> {
  for (;;) {
    const { done, value } = await runBetweenRequests(() => steps.next());
    if (done === true) return value;
  }
}
