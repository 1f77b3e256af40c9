import { expect } from "bun:test";
import type { SiteRecord } from "../../src/usage/site-record.ts";
import { compareWithNaive, dumpTable, SimulatedHistory } from "./simulated-history.ts";

/** Simulates a site, and compares every way to compute its usage. */
export async function checkHistory(seed: number): Promise<SimulatedHistory> {
  const history = await SimulatedHistory.start(seed);
  await history.run(60);
  const table = await history.read();
  expect([seed, ...compareWithNaive(table, history.naive).slice(0, 5)]).toEqual([seed]);
  const expected = { seed, ...dumpTable(table) };
  // Reading begins in the month of an instant, and only a checkpoint divides lines by month.
  await history.checkpoint();
  const records = await readRecords(history);
  await history.rebuild();
  expect(history.countRecordedLines()).toBeGreaterThan(0);
  expect(await readRecords(history)).toEqual(records);
  expect({ seed, ...dumpTable(await history.readAnew()) }).toEqual(expected);
  if (history.tearFile()) {
    expect({ seed, ...dumpTable(await history.readAnew()) }).toEqual(expected);
    expect(await readRecords(history)).toEqual(records);
  }
  await history.checkpoint();
  expect({ seed, ...dumpTable(await history.readAnew()) }).toEqual(expected);
  expect(await readRecords(history)).toEqual(records);
  history.deleteFiles();
  expect(await readRecords(history)).toEqual(records);
  expect({ seed, ...dumpTable(await history.readAnew()) }).toEqual(expected);
  return history;
}

/** What reports are computed from: of the whole time, and of its last parts. */
const readRecords = (history: SimulatedHistory): Promise<readonly SiteRecord[]> =>
  Promise.all(
    [null, 0.3, 0.8].map((share) =>
      history.readRecord(share === null ? null : history.instantAt(share)),
    ),
  );
