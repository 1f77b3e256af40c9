import { expect, test } from "bun:test";
import { TimeReceiver } from "../../../src/operations/pair/time-receiver.ts";
import { transactOrThrow } from "../../support/licensed-store.ts";
import { leadPair, openPair } from "../../support/pair-of-sites.ts";
import { minutesLater, register } from "../../support/scenario.ts";

test("the clock of a host that follows receives the time of each line of the leader", async () => {
  const received: number[] = [];
  const observer = new TimeReceiver({ receive: (time) => void received.push(time) });
  const { log, alpha, beta } = await openPair({ beta: { observer } });
  await leadPair(log, alpha, "alpha");
  alpha.clock.now = minutesLater(5);
  await transactOrThrow(alpha.store, register("ada"));
  await beta.store.follow();
  expect(received.at(-1)).toBe(minutesLater(5));
  expect(received).toHaveLength(2);
});
