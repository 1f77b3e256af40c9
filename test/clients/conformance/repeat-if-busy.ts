import { availableParallelism, loadavg } from "node:os";
import { messageOfError } from "../../../src/platform/error-message.ts";
import { measureTimerDelay } from "../../support/timer-delay.ts";

/** The time-outs of slots are longer in each attempt, by this factor. */
const TIME_SCALES = [1, 4, 12];

/**
 * With timers that are later than this, in milliseconds, a client may miss a time-out of seconds. The
 * server may wait where this process does not, so that the load of the machine counts, too.
 */
const BUSY_DELAY_MS = 200;

/**
 * Runs a scenario. If it fails while other work keeps the processes waiting, it is repeated with
 * longer time-outs: a heartbeat that came too late says nothing about the client then. On a machine
 * that is not busy it is not repeated.
 */
export async function repeatIfBusy(
  title: string,
  runScenario: (timeScale: number) => Promise<void>,
): Promise<void> {
  for (const timeScale of TIME_SCALES) {
    const endMeasurement = measureTimerDelay();
    try {
      return await runScenario(timeScale);
    } catch (error) {
      const delay = endMeasurement();
      const [load = 0] = loadavg();
      const isBusy = delay >= BUSY_DELAY_MS || load > availableParallelism();
      if (!isBusy || timeScale === TIME_SCALES.at(-1)) throw error;
      const reason = `timers were late by ${Math.round(delay)} ms, the load is ${load.toFixed(1)}`;
      console.warn(`repeats "${title}", because ${reason}: ${messageOfError(error)}`);
    } finally {
      endMeasurement();
    }
  }
}
