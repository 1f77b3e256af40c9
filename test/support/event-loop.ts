/**
 * How often the event loop comes round, and other callers can be answered, while some work is done.
 * A timer would not do: it fires once a millisecond at most, however fast the machine is.
 */
export async function countTurns(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const otherCaller = (): void => {
    turns += 1;
    if (!isOver) setImmediate(otherCaller);
  };
  setImmediate(otherCaller);
  await work();
  isOver = true;
  return turns;
}
