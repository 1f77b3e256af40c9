/** The time (ms) that the processor works: on a busy machine, the time of a clock says little. */
export function measureProcessorTime(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
