// Runs jobs side by side, as many as the processors can serve.

export interface Load {
  /** How many processors it keeps busy on average. */
  readonly cores: number;
}

/**
 * Starts the jobs in their order. One that would need more processors than are left waits, and a later
 * one that fits goes before it; so jobs that mostly wait run beside those that compute.
 */
export async function runSideBySide<J extends Load, R>(
  jobs: readonly J[],
  capacity: number,
  run: (job: J) => Promise<R>,
): Promise<R[]> {
  const waiting = [...jobs];
  const running = new Set<Promise<void>>();
  const results: R[] = [];
  let used = 0;
  const runOne = async (job: J): Promise<void> => {
    results.push(await run(job));
    used -= job.cores;
  };
  while (waiting.length > 0 || running.size > 0) {
    const next = waiting.findIndex(({ cores }) => running.size === 0 || used + cores <= capacity);
    const [job] = next === -1 ? [] : waiting.splice(next, 1);
    if (job === undefined) {
      await Promise.race(running);
      continue;
    }
    used += job.cores;
    const task = runOne(job).finally(() => running.delete(task));
    running.add(task);
  }
  return results;
}
