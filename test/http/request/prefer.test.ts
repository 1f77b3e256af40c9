import { describe, expect, test } from "bun:test";
import { readWaitSeconds } from "../../../src/http/request/prefer.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const read = (...lines: string[]): number | null => {
  const headers = new Headers();
  for (const line of lines) headers.append("Prefer", line);
  return readWaitSeconds(new Request("http://berth/", { headers }));
};

describe("the header Prefer", () => {
  test("is absent from a request that does not want to wait", () => {
    expect(readWaitSeconds(new Request("http://berth/"))).toBeNull();
  });

  test.each([
    ["wait=60", 60],
    ["wait=0", 0],
    ["wait=120", 120],
    ["wait=121", 120],
    ["wait=99999999999999999999999999999999", 120],
    ["WAIT=7", 7],
    ['wait="7"', 7],
    ["wait = 7", 7],
    ["wait\t=\t7", 7],
    ["wait=007", 7],
    ["respond-async, wait=7", 7],
    ["wait=7, respond-async", 7],
    ["wait=7; note=1", 7],
    ['return=minimal; note="a, wait=9", wait=7', 7],
    ['note="\\", wait=9", wait=7', 7],
    [" , ,wait=7", 7],
    ["broken preference, wait=7", 7],
  ])("wants to wait with the value %p", (header, seconds) => {
    expect(read(header)).toBe(seconds);
  });

  test.each([
    "wait",
    "wait=",
    'wait=""',
    "wait=-1",
    "wait=+1",
    "wait=1.5",
    "wait=1e3",
    "wait=0x10",
    "wait=ten",
    "wait=7 8",
    "wait=7 note",
    'wait="7',
    'wait=7"',
    "wait==7",
    "wait:7",
    "waiting=7",
    "x-wait=7",
    "note=wait=7",
    'note="wait=7"',
    'note="wait=7, wait=7',
    "wait=٧",
    "",
    ",",
    "=",
    ";",
  ])("is ignored with the value %p", (header) => {
    const bytes = Buffer.from(header, "utf8").toString("latin1");
    expect(read(bytes)).toBeNull();
  });

  test("counts only the first of several wait preferences", () => {
    expect(read("wait=5, wait=9")).toBe(5);
    expect(read("wait=5", "wait=9")).toBe(5);
    expect(read("wait=x", "wait=9")).toBeNull();
  });

  test("is read from several header lines", () => {
    expect(read("respond-async", "wait=9")).toBe(9);
  });

  test("never throws, and never wants more than 120 seconds", () => {
    const random = new SeededRandom(7240);
    const parts = ["wait", "=", "5", '"', ",", ";", " ", "\\", "999", "\t", "note", "é"];
    for (let round = 0; round < 5_000; round += 1) {
      const length = random.intBelow(12);
      const header = Array.from({ length }, () => random.pick(parts)).join("");
      const seconds = read(header);
      if (seconds !== null) expect(seconds >= 0 && seconds <= 120).toBe(true);
    }
  });
});
