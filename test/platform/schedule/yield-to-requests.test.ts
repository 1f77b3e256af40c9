import { expect, test } from "bun:test";
import { repeatBetweenRequests } from "../../../src/platform/schedule/yield-to-requests.ts";

test("repeated work ends when it returns true, and other work runs between long pieces", async () => {
  const order: string[] = [];
  let pieces = 0;
  let isOtherWorkDone = false;
  const runOtherWork = (): void => {
    order.push("other");
    if (!isOtherWorkDone) setImmediate(runOtherWork);
  };
  setImmediate(runOtherWork);
  await repeatBetweenRequests(() => {
    const end = performance.now() + 10;
    while (performance.now() < end);
    order.push("piece");
    pieces += 1;
    return pieces === 3;
  });
  isOtherWorkDone = true;
  expect(order.filter((entry) => entry === "piece")).toHaveLength(3);
  expect(order.join(" ")).not.toContain("piece piece");
});
