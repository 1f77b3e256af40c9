import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { number } from "../format.ts";
import { theme } from "../theme.tsx";

export interface Line {
  readonly name: string;
  /** A value for each time; null is a gap. */
  readonly values: readonly (number | null)[];
  /** Drawn as a thin line of its own. */
  readonly limit: number | null;
  /** The name of a CSS variable. */
  readonly colour: string;
  /** Dashes and gaps in pixels; empty: a solid line. */
  readonly stroke: readonly number[];
}

interface Props {
  /** What it shows, for those who cannot see it. */
  readonly name: string;
  /** In seconds. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  readonly kind: "steps" | "bars";
  readonly height: number;
  /** How a moment is written below it. */
  readonly writeTime: (seconds: number) => string;
}

/** Numbers over time, as wide as there is room. */
export function Chart(props: Props) {
  const ref = useRef<HTMLDivElement>(null);
  const { name, times, lines, kind, height } = props;
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
    };
  }, [times, lines, kind, height, shade]);
  return <div class="chart" ref={ref} role="img" aria-label={name} />;
}

/** Whole things are counted: no half of one. */
const STEPS = [1, 2, 5].flatMap((step) => [1, 10, 100, 1e3, 1e4, 1e5].map((ten) => step * ten));
const INCREMENTS = STEPS.toSorted((a, b) => a - b);

/** Room for the numbers beside it, so that two charts stand exactly above each other. */
const BESIDE = 48;
const BELOW = 32;

function optionsFor(props: Props, element: HTMLElement): uPlot.Options {
  const { lines, kind, height, writeTime } = props;
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
    cursor: { show: false },
    scales: { y: { range: (_plot, _least, most) => [0, Math.max(1, most ?? 0) * 1.08] } },
    axes: [
      { ...axis, size: BELOW, values: (_plot, times) => times.map(writeTime) },
      {
        ...axis,
        size: BESIDE,
        space: 20,
        incrs: INCREMENTS,
        values: (_plot, values) => values.map(number),
      },
    ],
    series: [
      {},
      ...lines.map((line) => seriesOf(line, kind, colour(line.colour))),
      ...limited(lines).map(({ colour: name }) => ({
        stroke: colour(name),
        width: 1,
        dash: [3, 5],
        points: { show: false },
      })),
    ],
  };
}

function seriesOf(line: Line, kind: Props["kind"], colour: string): uPlot.Series {
  const bars = uPlot.paths.bars?.({ size: [0.8, 40], align: 1 });
  const steps = uPlot.paths.stepped?.({ align: 1 });
  const paths = kind === "bars" ? bars : steps;
  return {
    stroke: colour,
    width: kind === "bars" ? 0 : 2,
    ...(kind === "bars" && { fill: colour }),
    ...(line.stroke.length > 0 && { dash: [...line.stroke] }),
    ...(paths && { paths }),
    points: { show: false },
  };
}

function dataFor({ times, lines }: Props): uPlot.AlignedData {
  const limits = limited(lines).map(({ limit }) => times.map(() => limit));
  return [[...times], ...lines.map(({ values }) => [...values]), ...limits];
}

const limited = (lines: readonly Line[]): readonly Line[] =>
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
