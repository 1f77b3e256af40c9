const TIMERS = ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] as const;

/**
 * Runs work in which no timer fires: time is the search's own, and what a timer would do is one of
 * its actions.
 */
export async function runWithoutTimers<T>(work: () => Promise<T>): Promise<T> {
  const real = TIMERS.map((name) => [name, globalThis[name]] as const);
  const timer = { unref: () => timer };
  for (const name of TIMERS) Object.assign(globalThis, { [name]: () => timer });
  try {
    return await work();
  } finally {
    for (const [name, timerFunction] of real) Object.assign(globalThis, { [name]: timerFunction });
  }
}
