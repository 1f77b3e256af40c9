import { expect } from "bun:test";
import { compareWithNaive, dumpTable, SimulatedHistory } from "./simulated-history.ts";

/** Simulates a site, and compares every way to compute its usage. */
export async function checkHistory(seed: number): Promise<SimulatedHistory> {
  const history = await SimulatedHistory.start(seed);
  await history.run(60);
  const table = await history.read();
  expect([seed, ...compareWithNaive(table, history.naive).slice(0, 5)]).toEqual([seed]);
  const expected = { seed, ...dumpTable(table) };
  await history.rebuild();
  expect({ seed, ...dumpTable(await history.readAnew()) }).toEqual(expected);
  if (history.tearFile())
    expect({ seed, ...dumpTable(await history.readAnew()) }).toEqual(expected);
  await history.checkpoint();
  expect({ seed, ...dumpTable(await history.readAnew()) }).toEqual(expected);
  history.deleteFiles();
  expect({ seed, ...dumpTable(await history.readAnew()) }).toEqual(expected);
  return history;
}
