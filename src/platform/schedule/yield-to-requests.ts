import { setImmediate } from "node:timers/promises";
import { TaskQueue } from "./task-queue.ts";

const queue = new TaskQueue(setImmediate);

/**
 * Runs a piece of work that takes a few milliseconds, after all pieces queued before it. Requests
 * are served between two pieces, so no request waits for more than one.
 */
export const runBetweenRequests = <T>(work: () => T): Promise<T> => queue.run(work);
