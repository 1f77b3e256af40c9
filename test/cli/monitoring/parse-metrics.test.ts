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
