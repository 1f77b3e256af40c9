const INTERVAL_MS = 50;

/**
 * Measures by how much timers are late: so long does other work keep this process waiting, and the
 * processes that it started. The returned function ends the measurement, and gives the longest
 * delay in milliseconds.
 */
export function measureTimerDelay(): () => number {
  let due = performance.now() + INTERVAL_MS;
  let longest = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - due);
    due = now + INTERVAL_MS;
  }, INTERVAL_MS);
  return () => {
    clearInterval(timer);
    return longest;
  };
}
