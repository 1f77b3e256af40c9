import { expect, test } from "bun:test";
import { RateLimiter } from "../../../src/platform/schedule/rate-limiter.ts";

test("events are counted until they are as old as the window", () => {
  const limiter = new RateLimiter(1_000);
  expect(limiter.count(0)).toBe(0);
  for (const at of [0, 400, 999]) limiter.add(at);
  expect([999, 1_000, 1_399, 1_400, 1_998, 1_999].map((now) => limiter.count(now))).toEqual([
    3, 2, 2, 1, 1, 0,
  ]);
});

test("events are counted by each of their keys, and in total", () => {
  const limiter = new RateLimiter(1_000);
  limiter.add(0, ["peer 1", "name a"]);
  limiter.add(500, ["peer 1", "name b"]);
  limiter.add(500, ["peer 2", "name b"]);
  const counts = (now: number): number[] =>
    ["peer 1", "peer 2", "name a", "name b", "other"].map((key) => limiter.count(now, key));
  expect([limiter.count(500), ...counts(500)]).toEqual([3, 2, 1, 1, 2, 0]);
  expect([limiter.count(1_000), ...counts(1_000)]).toEqual([2, 1, 1, 0, 2, 0]);
});

test("an event is taken back once, by all its keys", () => {
  const limiter = new RateLimiter(1_000);
  limiter.add(0, ["a", "b"]);
  limiter.add(1, ["a"]);
  limiter.remove(["b"]);
  expect([limiter.count(1, "a"), limiter.count(1, "b")]).toEqual([2, 1]);
  limiter.remove(["a", "b"]);
  expect([limiter.count(1, "a"), limiter.count(1, "b")]).toEqual([1, 0]);
  limiter.remove(["a", "b"]);
  expect(limiter.count(1)).toBe(1);
});

test("the newest of several equal events is taken back", () => {
  const limiter = new RateLimiter(1_000);
  limiter.add(0, ["a"]);
  limiter.add(900, ["a"]);
  limiter.remove(["a"]);
  expect(limiter.count(999)).toBe(1);
  expect(limiter.count(1_000)).toBe(0);
});

test("events of a clock that was set back are forgotten", () => {
  const limiter = new RateLimiter(1_000);
  limiter.add(3_600_000);
  limiter.add(3_600_001);
  expect(limiter.count(5)).toBe(0);
  limiter.add(6);
  expect(limiter.count(7)).toBe(1);
});
