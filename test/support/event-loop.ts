/**
 * Counts the turns of the event loop, in which other callers can be served, while `work` runs. A
 * timer would not do: it fires at most once per millisecond, however fast the machine is.
 */
export async function countTurns(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const countTurn = (): void => {
    turns += 1;
    if (!isDone) setImmediate(countTurn);
  };
  setImmediate(countTurn);
  await work();
  isDone = true;
  return turns;
}
