import { expect, test } from "bun:test";
import { MetricSamples } from "../../../src/cli/monitoring/parse-metrics.ts";

test("labels are read whose values contain commas, quotes, backslashes, line breaks and pairs", () => {
  const text = String.raw`slots{product="a,b=\"c\",d",feature="x\\",site="1\n2,site=\"3\""} 4`;
  expect(new MetricSamples(text).list("slots")).toEqual([
    {
      name: "slots",
      labels: { product: 'a,b="c",d', feature: "x\\", site: '1\n2,site="3"' },
      value: 4,
    },
  ]);
});

test("a sample is read whose label contains a line separator of Unicode", () => {
  const text = 'slots{site="a\u2028b"} 4\n';
  expect(new MetricSamples(text).find("slots", { site: "a\u2028b" })).toBe(4);
});
