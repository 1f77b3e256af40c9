import { useSignal, type Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { formatNumber } from "../format.ts";
import { theme } from "../theme.tsx";
import type { ChartSeries } from "./chart-series.ts";

interface Props {
  /** Describes the chart for screen readers. */
  readonly name: string;
  /** The start of each step, and the length of every step, in seconds. */
  readonly times: readonly number[];
  readonly step: number;
  readonly series: readonly ChartSeries[];
  readonly kind: "steps" | "bars";
  readonly height: number;
  /** Formats a time on the x axis, and the least number of seconds between two labels. */
  readonly formatTime: (seconds: number) => string;
  readonly minLabelGap: number;
  /** The times that are shown, as chosen by dragging; null: all. */
  readonly zoom: Signal<TimeRange | null>;
  /** What the tooltip says about a step. */
  readonly tooltip: (step: number) => ComponentChildren;
}

/** From and to, in seconds. */
export type TimeRange = readonly [number, number];

interface Pointer {
  readonly step: number;
  /** Pixels from the left edge of the chart. */
  readonly left: number;
  readonly isRightHalf: boolean;
}

/** Numbers over time, as wide as the parent element; its height is reserved before it is drawn. */
export function Chart(props: Props) {
  const ref = useRef<HTMLDivElement>(null);
  const pointer = useSignal<Pointer | null>(null);
  const plotRef = useRef<uPlot | null>(null);
  const { name, times, series, kind, height, zoom } = props;
  const { value: currentTheme } = theme;
  useEffect(() => {
    const { current } = ref;
    if (current === null) return undefined;
    const plot = new uPlot(optionsFor(props, current, pointer), dataFor(props), current);
    plotRef.current = plot;
    const observer = new ResizeObserver(() => {
      plot.setSize({ width: current.clientWidth, height });
    });
    observer.observe(current);
    return () => {
      observer.disconnect();
      plot.destroy();
      plotRef.current = null;
      pointer.value = null;
    };
  }, [times, series, kind, height, currentTheme]);
  useEffect(() => {
    const [min, max] = zoom.value ?? wholeRangeOf(props);
    plotRef.current?.setScale("x", { min, max });
  }, [zoom.value, times, series, currentTheme]);
  return (
    <div class="chart" style={{ height: `${height}px` }}>
      <div ref={ref} role="img" aria-label={name} />
      {pointer.value !== null && <Tooltip pointer={pointer.value}>{props.tooltip}</Tooltip>}
    </div>
  );
}

interface TooltipProps {
  readonly pointer: Pointer;
  readonly children: Props["tooltip"];
}

/** Beside the pointer, where there is more room. The table has the same values for everyone. */
const Tooltip = ({ pointer: { step, left, isRightHalf }, children }: TooltipProps) => (
  <div
    class={isRightHalf ? "chart-tooltip before" : "chart-tooltip"}
    style={{ left: `${left}px` }}
    aria-hidden="true"
  >
    {children(step)}
  </div>
);

const wholeRangeOf = ({ times, step }: Pick<Props, "times" | "step">): TimeRange => [
  times[0] ?? 0,
  (times.at(-1) ?? 0) + step,
];

/** Values are counts: the y axis has no fractions. */
const Y_STEPS = [1, 2, 5].flatMap((step) => [1, 10, 100, 1e3, 1e4, 1e5].map((ten) => step * ten));
const Y_INCREMENTS = Y_STEPS.toSorted((a, b) => a - b);

/** A fixed width, so that two charts are exactly aligned. */
const Y_AXIS_WIDTH = 48;
const X_AXIS_HEIGHT = 32;

/** Possible distances between labels of the x axis: hours, days, then weeks. */
const HOUR = 3_600;
const TIME_INCREMENTS = [1, 2, 3, 4, 6, 12, 24, 48, 7 * 24, 14 * 24, 28 * 24, 84 * 24].map(
  (hours) => hours * HOUR,
);

function optionsFor(
  props: Props,
  element: HTMLElement,
  pointer: Signal<Pointer | null>,
): uPlot.Options {
  const { series, kind, height, formatTime, minLabelGap } = props;
  const colour = (name: string): string => colourOf(element, name);
  const font = `12px ${getComputedStyle(element).fontFamily}`;
  const axis: uPlot.Axis = {
    stroke: colour("--muted"),
    font,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    // Dragging selects times; the charts share them, so the selection does not zoom by itself.
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: true, y: false, setScale: false, dist: 5 },
    },
    hooks: {
      setCursor: [(plot) => (pointer.value = pointerOf(plot, props))],
      setSelect: [(plot) => zoomToSelection(plot, props)],
    },
    scales: {
      x: { range: (_plot, least, most) => [least, most] },
      y: { range: (_plot, _least, most) => [0, Math.max(1, most ?? 0) * 1.08] },
    },
    axes: [
      {
        ...axis,
        size: X_AXIS_HEIGHT,
        incrs: TIME_INCREMENTS.filter((seconds) => seconds >= minLabelGap),
        values: (_plot, times) => times.map(formatTime),
      },
      {
        ...axis,
        size: Y_AXIS_WIDTH,
        space: 20,
        incrs: Y_INCREMENTS,
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

/** Null: the pointer is elsewhere. */
function pointerOf(plot: uPlot, { times, step }: Props): Pointer | null {
  const { left = -1 } = plot.cursor;
  if (left < 0) return null;
  const index = Math.floor((plot.posToVal(left, "x") - (times[0] ?? 0)) / step);
  if (index < 0 || index >= times.length) return null;
  return {
    step: index,
    left: left + Y_AXIS_WIDTH,
    isRightHalf: left > (plot.width - Y_AXIS_WIDTH) / 2,
  };
}

/** Whole steps only, and at least one. */
function zoomToSelection(plot: uPlot, { times, step, zoom }: Props): void {
  const { left, width } = plot.select;
  if (width <= 0) return;
  const start = times[0] ?? 0;
  const [from, to] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
  const first = Math.max(0, Math.floor((from - start) / step));
  const last = Math.min(times.length, Math.ceil((to - start) / step));
  plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  if (last > first) zoom.value = [start + first * step, start + last * step];
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
  const limits = seriesWithLimit(series).map((line) => line.limits ?? []);
  const values = [...series.map((line) => line.values), ...limits];
  if (kind === "bars") return [[...times], ...values.map((list) => [...list])];
  // A value is drawn over its whole step, also the last step and a step beside a gap.
  return [
    times.flatMap((time) => [time, time + step - 1]),
    ...values.map((list) => list.flatMap((value) => [value, value])),
  ];
}

const seriesWithLimit = (lines: readonly ChartSeries[]): readonly ChartSeries[] =>
  lines.filter(({ limits }) => limits !== null);

/** A CSS variable can differ between light and dark: only an element can resolve it. */
function colourOf(element: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
