import type { Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { formatNumber } from "../format.ts";
import { theme } from "../theme.tsx";
import type { ChartSeries } from "./chart-series.ts";

interface Props {
  /** What it shows, for those who cannot see it. */
  readonly name: string;
  /** Where each step begins and how long all of them are, in seconds. */
  readonly times: readonly number[];
  readonly step: number;
  readonly series: readonly ChartSeries[];
  readonly kind: "steps" | "bars";
  readonly height: number;
  /** How a moment is written below it, and at least how many seconds lie between two. */
  readonly writeTime: (seconds: number) => string;
  readonly apart: number;
  /** The step somebody points at; null: none. */
  readonly pointed: Signal<number | null>;
}

/** Numbers over time, as wide as there is room. */
export function Chart(props: Props) {
  const ref = useRef<HTMLDivElement>(null);
  const { name, times, series, kind, height } = props;
  const { value: shade } = theme;
  useEffect(() => {
    const { current } = ref;
    if (current === null) return undefined;
    const plot = new uPlot(optionsFor(props, current), dataFor(props), current);
    const observer = new ResizeObserver(() => {
      plot.setSize({ width: current.clientWidth, height });
    });
    observer.observe(current);
    return () => {
      observer.disconnect();
      plot.destroy();
      props.pointed.value = null;
    };
  }, [times, series, kind, height, shade]);
  return <div class="chart" ref={ref} role="img" aria-label={name} />;
}

/** Whole things are counted: no half of one. */
const STEPS = [1, 2, 5].flatMap((step) => [1, 10, 100, 1e3, 1e4, 1e5].map((ten) => step * ten));
const INCREMENTS = STEPS.toSorted((a, b) => a - b);

/** Room for the numbers beside it, so that two charts stand exactly above each other. */
const Y_AXIS_WIDTH = 48;
const X_AXIS_HEIGHT = 32;

/** How far apart moments may be written: hours of a day, then days. */
const HOUR = 3_600;
const TIME_INCREMENTS = [1, 2, 3, 4, 6, 12, 24, 48, 7 * 24, 14 * 24].map((hours) => hours * HOUR);

function optionsFor(props: Props, element: HTMLElement): uPlot.Options {
  const { times, step, series, kind, height, writeTime, apart } = props;
  const [from = 0, to = 0] = [times[0], times.at(-1)];
  const colour = (name: string): string => colourOf(element, name);
  const font = `12px ${getComputedStyle(element).fontFamily}`;
  const axis: uPlot.Axis = {
    stroke: colour("--quiet"),
    font,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    hooks: { setCursor: [(plot) => (props.pointed.value = stepAt(plot, props))] },
    scales: {
      x: { range: [from, to + step] },
      y: { range: (_plot, _least, most) => [0, Math.max(1, most ?? 0) * 1.08] },
    },
    axes: [
      {
        ...axis,
        size: X_AXIS_HEIGHT,
        incrs: TIME_INCREMENTS.filter((moment) => moment >= apart),
        values: (_plot, moments) => moments.map(writeTime),
      },
      {
        ...axis,
        size: Y_AXIS_WIDTH,
        space: 20,
        incrs: INCREMENTS,
        values: (_plot, values) => values.map(formatNumber),
      },
    ],
    series: [
      {},
      ...series.map((line) => seriesOf(line, kind, colour(line.colour))),
      ...seriesWithLimit(series).map(({ colour: name }) => ({
        stroke: colour(name),
        width: 1,
        dash: [3, 5],
        points: { show: false },
      })),
    ],
  };
}

/** Where the pointer is; null: elsewhere. */
function stepAt(plot: uPlot, { times, step }: Props): number | null {
  const { left = -1 } = plot.cursor;
  if (left < 0) return null;
  const at = Math.floor((plot.posToVal(left, "x") - (times[0] ?? 0)) / step);
  return at >= 0 && at < times.length ? at : null;
}

function seriesOf(line: ChartSeries, kind: Props["kind"], colour: string): uPlot.Series {
  const points = { show: false };
  if (kind === "bars") {
    const paths = uPlot.paths.bars?.({ size: [0.8, 40], align: 1 });
    return { fill: colour, width: 0, points, ...(paths && { paths }) };
  }
  const dash = line.stroke.length > 0 && { dash: [...line.stroke] };
  return { stroke: colour, width: 2, points, ...dash };
}

function dataFor({ times, step, series, kind }: Props): uPlot.AlignedData {
  const limits = seriesWithLimit(series).map(({ limit }) => times.map(() => limit));
  const values = [...series.map((line) => line.values), ...limits];
  if (kind === "bars") return [[...times], ...values.map((one) => [...one])];
  // A value holds for its whole step, also for the last one and for one beside a gap.
  return [
    times.flatMap((time) => [time, time + step - 1]),
    ...values.map((one) => one.flatMap((value) => [value, value])),
  ];
}

const seriesWithLimit = (lines: readonly ChartSeries[]): readonly ChartSeries[] =>
  lines.filter(({ limit }) => limit !== null);

/** A variable may be one colour by day and another by night: only an element knows which. */
function colourOf(element: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
