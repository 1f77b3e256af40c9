import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { UsageReply } from "../../http/routes/usage.ts";
import { admin, unwrapReply } from "../api.ts";
import { QueryContent } from "../parts/query-content.tsx";
import { Segments } from "../parts/segments.tsx";
import { useQuery } from "../use-query.ts";
import { Chart, type TimeRange } from "../parts/chart.tsx";
import type { ChartSeries } from "../parts/chart-series.ts";
import { usage } from "./usage-texts.ts";
import { Legend, StepValues, summaryFigureOf, ZoomButtons } from "./usage-legend.tsx";
import { UsageTable } from "./usage-table.tsx";
import { peakOf, episodeSeries, slotSeries, stackSeries, stepTimesOf } from "./usage-series.ts";

type UsagePeriod = keyof typeof usage.periods;

const USAGE_PERIODS: readonly UsagePeriod[] = ["day", "week", "month"];

const MINUTE = 60_000;

/** Slots in use and denied episodes over the last day, week or month. */
export function Usage() {
  const period = useSignal<UsagePeriod>("day");
  const query = useQuery(
    (signal) => unwrapReply(admin.usage.get({ query: { range: period.value }, fetch: { signal } })),
    [period.value],
    {
      keepsOldData: true,
      watch: () => null,
      maxAge: () => MINUTE,
    },
  );
  return (
    <section class="card usage">
      <header>
        <h3>{usage.title}</h3>
        <PeriodChoice period={period} />
      </header>
      <div class="usage-body">
        <QueryContent query={query}>
          {(reply) => <UsageCharts reply={reply} period={period.value} />}
        </QueryContent>
      </div>
    </section>
  );
}

const PeriodChoice = ({ period }: { period: Signal<UsagePeriod> }) => (
  <Segments
    label={usage.periodLabel}
    options={USAGE_PERIODS.map((option) => [option, usage.periods[option]] as const)}
    selected={period.value}
    onSelect={(option) => (period.value = option)}
  />
);

function UsageCharts({ reply, period }: { reply: UsageReply; period: UsagePeriod }) {
  const zoom = useSignal<TimeRange | null>(null);
  const hiddenNames = useSignal<ReadonlySet<string>>(new Set());
  // Not a computed signal: it would follow the data of the first period only.
  const chartData = useMemo(() => {
    const isShown = ({ name }: ChartSeries): boolean => !hiddenNames.value.has(name);
    const [slots, episodes] = [slotSeries(reply), episodeSeries(reply)];
    const shownEpisodes = episodes.filter(isShown);
    return {
      times: stepTimesOf(reply),
      slots,
      shownSlots: slots.filter(isShown),
      episodes,
      shownEpisodes,
      bars: stackSeries(shownEpisodes),
    };
  }, [reply, hiddenNames.value]);
  useEffect(() => void (zoom.value = null), [reply.range]);
  const { times, slots, shownSlots, episodes, shownEpisodes, bars } = chartData;
  if (slots.every((line) => peakOf(line) === null) && episodes.length === 0) {
    return <p class="muted">{usage.noData}</p>;
  }
  const periodName = usage.periodNames[period];
  const chartProps = {
    times,
    step: reply.step_minutes * 60,
    formatTime: timeFormatter(period, zoom.value),
    minLabelGap: period === "day" || zoom.value !== null ? 3_600 : 86_400,
    zoom,
  };
  const tooltip = (lines: readonly ChartSeries[]) => (step: number) => (
    <StepValues time={times[step]} lines={lines} step={step} />
  );
  return (
    <>
      <Chart
        {...chartProps}
        name={usage.slotsName(periodName, seriesSummary(slots))}
        series={shownSlots}
        tooltip={tooltip(shownSlots)}
        kind="steps"
        height={220}
      />
      <div class="row">
        <Legend lines={slots} hiddenNames={hiddenNames} hasLimit />
        <ZoomButtons zoom={zoom} times={times} step={chartProps.step} />
      </div>
      <h4>{usage.episodes}</h4>
      {episodes.length === 0 ? (
        <p class="muted">{usage.noEpisodes}</p>
      ) : (
        <>
          <Chart
            {...chartProps}
            name={usage.episodesName(periodName, seriesSummary(episodes))}
            series={bars}
            tooltip={tooltip(shownEpisodes)}
            kind="bars"
            height={120}
          />
          <Legend lines={episodes} hiddenNames={hiddenNames} />
        </>
      )}
      <UsageTable times={times} slots={slots} episodes={episodes} />
    </>
  );
}

const seriesSummary = (lines: readonly ChartSeries[]): string =>
  lines.map((line) => `${line.name} ${summaryFigureOf(line)}`).join(", ");

/** Hours for a day or a part of a longer period, days for longer periods. */
function timeFormatter(period: UsagePeriod, zoom: TimeRange | null): (seconds: number) => string {
  const isShort = zoom !== null && zoom[1] - zoom[0] <= 2 * 86_400;
  const parts = {
    day: { hour: "2-digit", minute: "2-digit" },
    week: { weekday: "short", day: "numeric" },
    month: { day: "numeric", month: "short" },
  } as const;
  const format = new Intl.DateTimeFormat(undefined, parts[isShort ? "day" : period]);
  return (seconds) => format.format(seconds * 1_000);
}
