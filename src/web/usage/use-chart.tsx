import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { UsageReply } from "../../http/routes/usage/usage.ts";
import { admin, unwrapReply } from "../api.ts";
import { formatDateTime, formatNumber, formatUtc, formatMean } from "../format.ts";
import { Chart, type TimeRange } from "../parts/chart.tsx";
import type { ChartSeries } from "../parts/chart-series.ts";
import { DataTable, type DataColumn } from "../parts/data-table.tsx";
import { QueryContent } from "../parts/query-content.tsx";
import { useQuery } from "../use-query.ts";
import { boundsOf, type Period } from "./address.ts";
import { nameOfPeriod } from "./period-choice.tsx";
import type { Pool } from "./pool.ts";
import { reports } from "./reports-texts.ts";
import { findSteps, peakOf, sumOf, type PoolSteps } from "./usage-steps.ts";

const { use: texts } = reports;

/** Each read draws the chart again, under the pointer of a reader. */
const MAX_AGE = 300_000;

interface ChartProps {
  readonly reply: UsageReply;
  readonly pool: Pool;
  readonly periodName: string;
}

function UseChart({ reply, pool, periodName }: ChartProps) {
  const steps = useMemo(() => findSteps(reply, pool), [reply, pool.product, pool.feature]);
  return steps === null ? (
    <p class="muted">{texts.noData}</p>
  ) : (
    <StepCharts steps={steps} periodName={periodName} />
  );
}

interface Props {
  readonly steps: PoolSteps;
  readonly periodName: string;
}

/** Reads the use of a pool over a period, and draws it. */
export function UseOverTime({ pool, period }: { pool: Pool; period: Period }) {
  const { product, feature } = pool;
  const query = useQuery(
    (signal) =>
      unwrapReply(
        admin.usage.get({
          query: {
            product,
            ...(typeof period === "string" ? { range: period } : boundsOf(period, 0)),
          },
          fetch: { signal },
        }),
      ),
    [product, feature, JSON.stringify(period)],
    { watch: () => null, maxAge: MAX_AGE },
  );
  return (
    <section class="card use-over-time">
      <h3>{texts.title}</h3>
      <QueryContent query={query}>
        {(reply) => <UseChart reply={reply} pool={pool} periodName={nameOfPeriod(period)} />}
      </QueryContent>
    </section>
  );
}

/** Slots in use against the limit of their time, and denied episodes below; both zoom together. */
function StepCharts({ steps, periodName }: Props) {
  const zoom = useSignal<TimeRange | null>(null);
  const { times, step } = steps;
  const [first = 0, last = 0] = [times[0], times.at(-1)];
  useEffect(() => void (zoom.value = null), [first, step]);
  const charts = useMemo(
    () => ({
      slots: [
        series(texts.peak, "--taken", steps.peaks, steps.limits),
        { ...series(texts.mean, "--good", steps.means), stroke: [2, 3] },
      ],
      denied: [series(texts.denied, "--taken-full", steps.episodes)],
    }),
    [steps],
  );
  const peak = peakOf(steps.peaks);
  if (peak === null) return <p class="muted">{texts.noData}</p>;
  const shown = zoom.value ?? [first, last + step];
  const chartProps = {
    times,
    step,
    zoom,
    formatTime: timeFormatter(shown),
    minLabelGap: shown[1] - shown[0] <= 2 * DAY ? 3_600 : DAY,
    tooltip: (index: number) => <StepValues steps={steps} index={index} />,
  };
  const denied = sumOf(steps.episodes);
  return (
    <>
      <Chart
        {...chartProps}
        name={texts.name(periodName, formatNumber(peak))}
        series={charts.slots}
        kind="steps"
        height={240}
      />
      <div class="row">
        <Legend />
        <ZoomButtons zoom={zoom} times={times} step={step} />
      </div>
      {denied > 0 && (
        <>
          <h4>{texts.denied}</h4>
          <Chart
            {...chartProps}
            name={texts.deniedName(periodName, formatNumber(denied))}
            series={charts.denied}
            kind="bars"
            height={110}
          />
        </>
      )}
      <StepTable steps={steps} />
    </>
  );
}

const series = (
  name: string,
  colour: string,
  values: ChartSeries["values"],
  limits: ChartSeries["limits"] = null,
): ChartSeries => ({ name, values, limits, colour, stroke: [] });

const DAY = 86_400;

/** Hours for a short time, days for a longer one, months for years. */
function timeFormatter([from, to]: TimeRange): (seconds: number) => string {
  const days = (to - from) / DAY;
  const format = new Intl.DateTimeFormat(
    undefined,
    days <= 2
      ? { hour: "2-digit", minute: "2-digit" }
      : days <= 9
        ? { weekday: "short", day: "numeric" }
        : days <= 200
          ? { day: "numeric", month: "short" }
          : { month: "short", year: "2-digit" },
  );
  return (seconds) => format.format(seconds * 1_000);
}

const LEGEND = [
  { name: texts.peak, colour: "--taken", width: 3, dashes: "" },
  { name: texts.mean, colour: "--good", width: 3, dashes: "2 3" },
  { name: texts.limit, colour: "--taken", width: 1, dashes: "3 5" },
];

const Legend = () => (
  <ul class="legend">
    {LEGEND.map(({ name, colour, width, dashes }) => (
      <li key={name}>
        <svg width="28" height="10" aria-hidden="true">
          <line
            x1="0"
            x2="28"
            y1="5"
            y2="5"
            stroke-width={width}
            stroke-dasharray={dashes}
            style={{ stroke: `var(${colour})` }}
          />
        </svg>
        {name}
      </li>
    ))}
  </ul>
);

const textOf = (value: number | null | undefined, format = formatNumber): string =>
  value === null || value === undefined ? texts.unknown : format(value);

/** The tooltip: all values of one step. */
const StepValues = ({ steps, index }: { steps: PoolSteps; index: number }) => (
  <>
    <strong>{formatDateTime(timeText(steps.times[index] ?? 0))}</strong>
    <span>
      {texts.peak} <strong>{textOf(steps.peaks[index])}</strong>
    </span>
    <span>
      {texts.mean} <strong>{textOf(steps.means[index], formatMean)}</strong>
    </span>
    <span>
      {texts.columns.limit} <strong>{textOf(steps.limits[index])}</strong>
    </span>
    <span>
      {texts.denied} <strong>{textOf(steps.episodes[index])}</strong>
    </span>
  </>
);

const timeText = (seconds: number): string => new Date(seconds * 1_000).toISOString();

interface ZoomProps {
  readonly zoom: Signal<TimeRange | null>;
  readonly times: readonly number[];
  readonly step: number;
}

/** For those who do not drag: the newer half of what is shown; and back to all. */
function ZoomButtons({ zoom, times, step }: ZoomProps) {
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
        {texts.zoomIn}
      </button>
      <button
        type="button"
        class="button"
        disabled={zoom.value === null}
        onClick={() => (zoom.value = null)}
      >
        {texts.resetZoom}
      </button>
    </div>
  );
}

interface StepRow {
  readonly time: string;
  readonly limit: number | null;
  readonly peak: number | null;
  readonly mean: number | null;
  readonly full: number | null;
  readonly episodes: number | null;
}

const { columns } = texts;

const STEP_COLUMNS: readonly DataColumn<StepRow>[] = [
  {
    title: columns.time,
    value: ({ time }) => formatUtc(time),
    show: ({ time }) => formatDateTime(time),
  },
  { title: columns.limit, value: ({ limit }) => limit, isNumber: true },
  { title: columns.peak, value: ({ peak }) => peak, isNumber: true },
  {
    title: columns.mean,
    value: ({ mean }) => mean,
    show: ({ mean }) => (mean === null ? undefined : formatMean(mean)),
    isNumber: true,
  },
  { title: columns.full, value: ({ full }) => full, isNumber: true },
  { title: columns.denied, value: ({ episodes }) => episodes, isNumber: true },
];

/** The values of the charts, newest first, for screen readers and exact numbers. */
function StepTable({ steps }: { steps: PoolSteps }) {
  const isOpen = useSignal(false);
  return (
    <details onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}>
      <summary>{texts.asTable}</summary>
      {isOpen.value && (
        <DataTable
          name={texts.title}
          columns={STEP_COLUMNS}
          rows={stepRows(steps).toReversed()}
          keyOf={({ time }) => time}
          empty={texts.noData}
        />
      )}
    </details>
  );
}

const minutesOf = (seconds: number | null): number | null =>
  seconds === null ? null : Math.round(seconds / 6) / 10;

const stepRows = ({ times, ...steps }: PoolSteps): StepRow[] =>
  times.map((time, index) => ({
    time: timeText(time),
    limit: steps.limits[index] ?? null,
    peak: steps.peaks[index] ?? null,
    mean: steps.means[index] ?? null,
    full: minutesOf(steps.fullSeconds[index] ?? null),
    episodes: steps.episodes[index] ?? null,
  }));
