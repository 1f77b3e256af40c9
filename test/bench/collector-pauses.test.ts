import { expect, test } from "bun:test";
import { parseCollections } from "./collector-pauses.ts";

const LOG = `END]
[GC<0x5f87f180118>: START M 74420kb => EdenCollection, a=0kb i#1:N<Cs> 0+0 p=1.5ms (max 1.5)...]
[GC<0x5f87f180118>: M a=232kb hf=0.005 0+0 p=0.25ms (max 1.5)...]
[GC<0x5f87f180118>: M a=232kb hf=0.005 => 74662kb, p=1.25ms (max 1.5), cycle 5.5ms END]
GC END!
[GC<0x5f87f180118>: epilogue 0.049574ms]
[GC<0x5f87f180118>: START M 84351kb => FullCollection, a=0kb => 86207kb, p=9.5ms (max 9.5), cycle 9.6ms END]
[GC<0x5f87f180118>: START M 84351kb => EdenCollection, a=0kb 0+0 p=30ms (max 30)...]
`;

test("parseCollections finds the stops of each complete collection", () => {
  expect(parseCollections(LOG)).toEqual([
    { kind: "eden", longestStop: 1.5, allStops: 3 },
    { kind: "full", longestStop: 9.5, allStops: 9.5 },
  ]);
});

test("parseCollections does not join an interrupted collection with the next one", () => {
  expect(parseCollections(LOG.slice(LOG.indexOf("epilogue")) + LOG)).toEqual([
    { kind: "full", longestStop: 9.5, allStops: 9.5 },
    { kind: "eden", longestStop: 1.5, allStops: 3 },
    { kind: "full", longestStop: 9.5, allStops: 9.5 },
  ]);
});
