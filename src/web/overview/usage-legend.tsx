import type { Signal } from "@preact/signals";
import { formatDateTime, formatNumber } from "../format.ts";
import type { TimeRange } from "../parts/chart.tsx";
import type { ChartSeries } from "../parts/chart-series.ts";
import { usage } from "./usage-texts.ts";
import { lastLimitOf, peakOf, sumOf, valueTextOf } from "./usage-series.ts";

interface LegendProps {
  readonly lines: readonly ChartSeries[];
  readonly hiddenNames: Signal<ReadonlySet<string>>;
  /** Whether thin dashed lines show limits. */
  readonly hasLimit?: boolean;
}

/** Each entry hides its line, or shows it again. */
export const Legend = ({ lines, hiddenNames, hasLimit = false }: LegendProps) => (
  <ul class="legend">
    {lines.map((line) => (
      <li key={line.name}>
        <button
          type="button"
          aria-pressed={!hiddenNames.value.has(line.name)}
          onClick={() => (hiddenNames.value = toggle(hiddenNames.value, line.name))}
        >
          <Stroke line={line} /> {line.name} <strong>{summaryFigureOf(line)}</strong>
        </button>
      </li>
    ))}
    {hasLimit && (
      <li class="muted">
        <Stroke line={{ limits: [], colour: "--muted", stroke: [3, 5] }} width={1} /> {usage.limit}
      </li>
    )}
  </ul>
);

function toggle(names: ReadonlySet<string>, name: string): ReadonlySet<string> {
  const next = new Set(names);
  if (!next.delete(name)) next.add(name);
  return next;
}

interface StrokeProps {
  readonly line: Pick<ChartSeries, "limits" | "colour" | "stroke">;
  readonly width?: number;
}

/** How a line looks in the chart; bars have no limit. */
const Stroke = ({ line, width = line.limits === null ? 10 : 3 }: StrokeProps) => (
  <svg width="28" height="10" aria-hidden="true">
    <line
      x1="0"
      x2="28"
      y1="5"
      y2="5"
      stroke-width={width}
      stroke-dasharray={line.stroke.join(" ")}
      style={{ stroke: `var(${line.colour})` }}
    />
  </svg>
);

/** For slots the peak and the newest limit, for episodes the total. */
export function summaryFigureOf(line: ChartSeries): string {
  if (line.limits === null) return formatNumber(sumOf(line));
  const [peak, limit] = [peakOf(line), lastLimitOf(line)];
  if (peak === null) return usage.unknown;
  return usage.peak(usage.ofLimit(formatNumber(peak), formatNumber(limit ?? 0)));
}

interface StepValuesProps {
  readonly time: number | undefined;
  readonly lines: readonly ChartSeries[];
  readonly step: number;
}

/** The tooltip: all values of one step. */
export const StepValues = ({ time = 0, lines, step }: StepValuesProps) => (
  <>
    <strong>{formatDateTime(new Date(time * 1_000).toISOString())}</strong>
    {lines.map((line) => (
      <span key={line.name}>
        <Stroke line={line} /> {line.name} <strong>{valueTextOf(line, step)}</strong>
      </span>
    ))}
  </>
);

interface ZoomProps {
  readonly zoom: Signal<TimeRange | null>;
  readonly times: readonly number[];
  readonly step: number;
}

/** For those who do not drag: the newer half of what is shown; and back to all. */
export function ZoomButtons({ zoom, times, step }: ZoomProps) {
  const [from, to] = zoom.value ?? [times[0] ?? 0, (times.at(-1) ?? 0) + step];
  const half = Math.floor((to - from) / 2 / step) * step;
  return (
    <div class="row zoom">
      <button
        type="button"
        class="button"
        disabled={half < step}
        onClick={() => (zoom.value = [to - half, to])}
      >
        {usage.zoomIn}
      </button>
      <button
        type="button"
        class="button"
        disabled={zoom.value === null}
        onClick={() => (zoom.value = null)}
      >
        {usage.resetZoom}
      </button>
    </div>
  );
}
