import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { writeExposition } from "../../../src/platform/metrics/exposition.ts";
import { Histogram } from "../../../src/platform/metrics/histogram.ts";
import type { Metric, MetricFamily } from "../../../src/platform/metrics/metric.ts";
import { parseExposition } from "../../support/parse-exposition.ts";

const CREATED = 1520430000.123;

const FOO: Metric = { name: "foo", type: "gauge", help: "Foo.", labels: ["a"] };

const write = (family: MetricFamily, format: "openmetrics" | "text"): string =>
  writeExposition([family], CREATED, format);

describe("writeExposition of OpenMetrics", () => {
  test("writes a counter with its unit and its time of creation, as in the specification", () => {
    const metric: Metric = {
      name: "acme_http_router_request_seconds",
      type: "counter",
      unit: "seconds",
      help: "Latency though all of ACME's HTTP request router.",
      labels: ["path", "method"],
    };
    const family = { metric, samples: [{ labels: ["/api/v1", "GET"], value: 9036.32 }] };
    expect(write(family, "openmetrics")).toBe(
      `# TYPE acme_http_router_request_seconds counter
# UNIT acme_http_router_request_seconds seconds
# HELP acme_http_router_request_seconds Latency though all of ACME's HTTP request router.
acme_http_router_request_seconds_total{path="/api/v1",method="GET"} 9036.32
acme_http_router_request_seconds_created{path="/api/v1",method="GET"} 1520430000.123
# EOF
`,
    );
  });

  test("writes a histogram with cumulative buckets and float bounds, as in the specification", () => {
    const metric: Metric = { name: "foo", type: "histogram", help: "Foo.", labels: [] };
    const histogram = new Histogram([0.01, 0.1, 1, 10]);
    for (const value of [0.005, 0.1, 0.1, 9, 20]) histogram.observe(value);
    expect(write({ metric, samples: [{ labels: [], value: histogram }] }, "openmetrics")).toBe(
      `# TYPE foo histogram
# HELP foo Foo.
foo_bucket{le="0.01"} 1
foo_bucket{le="0.1"} 3
foo_bucket{le="1.0"} 3
foo_bucket{le="10.0"} 4
foo_bucket{le="+Inf"} 5
foo_sum 29.205
foo_count 5
foo_created 1520430000.123
# EOF
`,
    );
  });

  test("writes an info with the suffix _info", () => {
    const metric: Metric = { name: "foo", type: "info", help: "Foo.", labels: ["version"] };
    expect(write({ metric, samples: [{ labels: ["8.2.7"], value: 1 }] }, "openmetrics")).toBe(
      '# TYPE foo info\n# HELP foo Foo.\nfoo_info{version="8.2.7"} 1\n# EOF\n',
    );
  });

  test("escapes backslash, quote and line feed in help texts and label values", () => {
    const metric: Metric = { ...FOO, help: 'a \\ "b"\nc' };
    expect(write({ metric, samples: [{ labels: ['\\ "b"\n'], value: 1 }] }, "openmetrics")).toBe(
      '# TYPE foo gauge\n# HELP foo a \\\\ \\"b\\"\\nc\nfoo{a="\\\\ \\"b\\"\\n"} 1\n# EOF\n',
    );
  });

  test.each([
    ["\\", "\\\\"],
    ['"', '\\"'],
    ["\n", "\\n"],
  ])("escapes a label value that is only %p", (value, escaped) => {
    const text = write({ metric: FOO, samples: [{ labels: [value], value: 1 }] }, "openmetrics");
    expect(text).toContain(`foo{a="${escaped}"} 1\n`);
  });

  test("is only the end without samples", () => {
    expect(write({ metric: FOO, samples: [] }, "openmetrics")).toBe("# EOF\n");
  });
});

describe("writeExposition of the text format", () => {
  test("names a counter with _total, and has its creation as a gauge", () => {
    const metric: Metric = { name: "foo", type: "counter", help: "Foo.", labels: [] };
    expect(write({ metric, samples: [{ labels: [], value: 17 }] }, "text")).toBe(
      `# HELP foo_total Foo.
# TYPE foo_total counter
foo_total 17
# HELP foo_created When foo was zero, in seconds since 1970.
# TYPE foo_created gauge
foo_created 1520430000.123
`,
    );
  });

  test("writes an info as a gauge, and does not escape quotes in help texts", () => {
    const metric: Metric = { name: "foo", type: "info", help: 'The "version".', labels: ["v"] };
    expect(write({ metric, samples: [{ labels: ["1"], value: 1 }] }, "text")).toBe(
      '# HELP foo_info The "version".\n# TYPE foo_info gauge\nfoo_info{v="1"} 1\n',
    );
  });

  test.each([
    [Infinity, "+Inf"],
    [-Infinity, "-Inf"],
    [Number.NaN, "NaN"],
    [1e-7, "1e-7"],
    [1e21, "1e+21"],
    [-0.5, "-0.5"],
  ])("writes the number %p as %s", (value, text) => {
    const metric: Metric = { ...FOO, labels: [] };
    expect(write({ metric, samples: [{ labels: [], value }] }, "text")).toEndWith(`foo ${text}\n`);
  });
});

test.each(["openmetrics", "text"] as const)(
  "writeExposition in the format %s is read back for any label values and numbers",
  (format) => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.double({ noNaN: true }), (label, value) => {
        const [family] = parseExposition(
          write({ metric: FOO, samples: [{ labels: [label], value }] }, format),
          format,
        );
        expect(family?.samples).toEqual([{ name: "foo", labels: { a: label }, value: value + 0 }]);
      }),
      { examples: [["\u2028", 0]] },
    );
  },
);

describe("Histogram", () => {
  test("counts a value that equals a bound in the bucket of that bound", () => {
    const histogram = new Histogram([1, 2]);
    for (const value of [1, 1.0001, 2, 2.0001]) histogram.observe(value);
    expect([...histogram.counts]).toEqual([1, 2, 1]);
    expect(histogram.sum).toBeCloseTo(6.0002);
  });
});
