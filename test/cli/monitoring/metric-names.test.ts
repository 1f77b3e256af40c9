// The alert rules, the dashboard and the documentation name only metrics that exist.
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAlertRules } from "../../../src/cli/monitoring/alert-rules.ts";
import { createDashboard } from "../../../src/cli/monitoring/dashboard.ts";
import { METRICS } from "../../../src/operations/metrics/catalogue.ts";
import type { Metric } from "../../../src/platform/metrics/metric.ts";

const [{ rules: alertRules }] = parseAlertRules().groups;

const metrics: readonly Metric[] = Object.values(METRICS);

/** The names of all series that a metric has. */
const seriesOf = ({ name, type }: Metric): string[] =>
  ({
    gauge: [name],
    info: [`${name}_info`],
    counter: [`${name}_total`, `${name}_created`],
    histogram: [`${name}_bucket`, `${name}_sum`, `${name}_count`],
  })[type];

const labelsBySeries = new Map(
  metrics.flatMap((metric) =>
    seriesOf(metric).map((name) => [name, new Set([...metric.labels, "job", "instance", "le"])]),
  ),
);

const namesIn = (text: string): string[] => text.match(/\bberth_[a-z0-9_]+/g) ?? [];

/** The labels that a query selects a series by. */
const selectorsIn = (text: string) =>
  [...text.matchAll(/\b(berth_[a-z0-9_]+)\{([^}]*)\}/g)].map(([, name = "", pairs = ""]) => ({
    name,
    labels: [...pairs.matchAll(/([a-z]+)[=!]~?"/g)].map(([, label = ""]) => label),
  }));

describe.each([
  ["the alert rules", alertRules.map(({ expr }) => expr), 12],
  [
    "the dashboard",
    createDashboard().panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    25,
  ],
] as const)("%s", (_title, queries, atLeast) => {
  test("query only series that exist", () => {
    const names = queries.flatMap(namesIn);
    expect(new Set(names).size).toBeGreaterThan(atLeast);
    for (const name of names) expect([...labelsBySeries.keys()]).toContain(name);
  });

  test("select series only by labels that they have", () => {
    for (const { name, labels } of queries.flatMap(selectorsIn)) {
      for (const label of labels) expect([...(labelsBySeries.get(name) ?? [])]).toContain(label);
    }
  });
});

test("the alert rules have different names, and there are at least 10", () => {
  const names = alertRules.map(({ alert }) => alert);
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThanOrEqual(10);
});

describe("the dashboard", () => {
  const dashboard = createDashboard();

  test("can be provisioned: it has a uid, no id, and its data source is a variable", () => {
    expect(dashboard).toMatchObject({ id: null, uid: "berth" });
    const sources = dashboard.panels.flatMap(({ datasource, targets }) => [
      datasource.uid,
      ...targets.map((target) => target.datasource.uid),
    ]);
    expect(new Set(sources)).toEqual(new Set(["${datasource}"]));
    expect(dashboard.templating.list.map(({ name }) => name)).toContain("datasource");
  });

  test("has panels that do not overlap", () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w } }) =>
      Array.from({ length: w }, (_, column) => `${y} ${x + column}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  });
});

describe("the metrics", () => {
  test("have the prefix berth_, and a unit as the end of their names", () => {
    for (const { name, unit } of metrics) {
      expect(name).toMatch(/^berth_[a-z][a-z0-9_]*$/);
      expect(name).not.toMatch(/_(?:total|created|info|bucket|count|sum)$/);
      if (unit !== undefined) expect(name).toEndWith(`_${unit}`);
      else expect(name).not.toMatch(/_(?:seconds|bytes)$/);
    }
  });

  test("have no label for a user, a host or an address", () => {
    const labels = new Set(metrics.flatMap((metric) => metric.labels));
    expect([...labels].toSorted()).toEqual([
      "cause",
      "code",
      "feature",
      "license",
      "outcome",
      "product",
      "route",
      "scope",
      "state",
      "status",
      "version",
      "warning",
    ]);
  });

  test("are listed in the operating guide with their labels, and no others are", () => {
    const guide = readFileSync(join(import.meta.dir, "../../../src/cli/README.md"), "utf8");
    const documented = [...guide.matchAll(/^\| `(berth_[a-z0-9_]+)` +\| ([a-z ]*?) *\|/gm)].map(
      ([, name, labels]) => `${name}: ${labels}`,
    );
    const expected = metrics.map((metric) => {
      const name = seriesOf(metric)[0]?.replace(/_bucket$/, "");
      return `${name}: ${metric.labels.join(" ")}`;
    });
    expect(documented.toSorted()).toEqual(expected.toSorted());
  });
});
