type Work<T> = () => Promise<T>;

/** Runs at most `limit` pieces of work at the same time; the others wait for their turn. */
export function limitParallel(limit: number): <T>(work: Work<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running < limit) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
