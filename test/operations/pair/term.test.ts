import { expect, test } from "bun:test";
import { Term } from "../../../src/operations/pair/term.ts";

test("a term that is not renewed says so by itself when its time is over", async () => {
  const lapse = Promise.withResolvers<boolean>();
  const bootMs = (): number => performance.now();
  const term = new Term({ termMs: 20, bootMs, onLapse: () => lapse.resolve(term.isLasting) });
  term.extend(bootMs());
  expect(term.isLasting).toBe(true);
  // The timer itself keeps no process running.
  const wait = Bun.sleep(5_000).then(() => true);
  expect(await Promise.race([lapse.promise, wait])).toBe(false);
});
