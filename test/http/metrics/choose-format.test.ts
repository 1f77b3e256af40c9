import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { chooseFormat } from "../../../src/http/metrics/choose-format.ts";
import { measureProcessorTime } from "../../support/processor-time.ts";

const PROMETHEUS_2 =
  "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75," +
  "text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
const PROMETHEUS_3 =
  "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6," +
  "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4," +
  "text/plain;version=0.0.4;q=0.3,*/*;q=0.2";

describe("chooseFormat", () => {
  test.each([
    PROMETHEUS_2,
    PROMETHEUS_3,
    "application/openmetrics-text",
    'Application/OpenMetrics-Text; Version="1.0.0"; charset=utf-8',
    "text/plain;q=0.5, application/openmetrics-text;q=0.501",
  ])("chooses OpenMetrics for %s", (accept) => {
    expect(chooseFormat(accept)).toBe("openmetrics");
  });

  test.each([
    null,
    "",
    "*/*",
    "text/plain",
    "text/html,application/xhtml+xml,*/*;q=0.8",
    "application/json",
    "application/openmetrics-text;version=0.0.1",
    "application/openmetrics-text;version=2.0.0",
    "application/openmetrics-text;q=0",
    "application/openmetrics-text;q=0.5,text/plain",
    "application/openmetrics-text,text/plain",
    "application/openmetrics-text,*/*",
    "application/openmetrics-text;q=nan",
    "application/openmetrics-text;q=-1",
    "application/openmetrics-text;q=1e9",
    ",;,;q=;=;version=",
    "\0application/openmetrics-text",
  ])("chooses the text format for %p", (accept) => {
    expect(chooseFormat(accept)).toBe("text");
  });

  test("chooses the text format if OpenMetrics is named after 10,000 other types", () => {
    const accept = `${"a/b,".repeat(10_000)}application/openmetrics-text`;
    expect(chooseFormat(accept)).toBe("text");
  });

  test("answers every text quickly", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 5_000 }), (accept) => {
        expect(["openmetrics", "text"]).toContain(chooseFormat(accept));
      }),
    );
    for (const unit of [",", ";", " ", ";q=", "a,", '"', "*/*;"]) {
      const header = unit.repeat(1_000_000);
      expect(measureProcessorTime(() => chooseFormat(header))).toBeLessThan(500);
    }
  });
});
