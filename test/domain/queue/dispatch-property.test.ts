import { expect, test } from "bun:test";
import { runRandomSequence } from "./random-queue.ts";

const SEQUENCES = Number(process.env["QUEUE_SEQUENCES"] ?? 90);

test("dispatch › serves the same users as a plain walk over the queue", () => {
  for (let seed = 1; seed <= SEQUENCES; seed += 1) {
    expect(() => runRandomSequence(seed)).not.toThrow();
  }
});
