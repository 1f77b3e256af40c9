// A small version of `bun run bench --part stalls`, with limits that also a busy machine keeps: what
// the main thread worked is counted, not how long anything took.
import { expect, test } from "bun:test";
import { measureRows } from "./stalls.ts";

const SIZE = { holders: 2_000, auditLines: 12_000, secondsPerCall: 0.2 };
/** Four times the goal of the benchmark. */
const LONGEST_WORK = 400;

test("no heavy call keeps the main thread from answering a heartbeat", async () => {
  const measured = await measureRows(SIZE);
  const rows = measured.filter(({ isLoaded }) => !isLoaded);
  expect(rows.filter(({ heartbeats }) => heartbeats === 0)).toEqual([]);
  expect(rows.filter(({ worstWork }) => worstWork > LONGEST_WORK)).toEqual([]);
  // The probe counts work at all.
  expect(Math.max(...rows.map(({ worstWork }) => worstWork))).toBeGreaterThan(1);
});
