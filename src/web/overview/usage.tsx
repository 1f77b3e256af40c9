import { useComputed, useSignal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { UsageReply } from "../../http/routes/usage.ts";
import { admin, unwrapReply, errorMessageOf } from "../api.ts";
import { formatNumber, formatDateTime } from "../format.ts";
import { Chart } from "../parts/chart.tsx";
import type { ChartSeries } from "../parts/chart-series.ts";
import { usage } from "./usage-texts.ts";
import { UsageTable } from "./usage-table.tsx";
import {
  peakOf,
  refusalSeries,
  slotSeries,
  stackSeries,
  sumOf,
  stepTimesOf,
  valueTextOf,
} from "./usage-series.ts";

type UsagePeriod = UsageReply["range"];

const USAGE_PERIODS: readonly UsagePeriod[] = ["day", "week", "month"];

const MINUTE = 60_000;
/** The server is still reading its audit log: more data follows soon. */
const POLL_WHILE_LOADING = 2_000;

/** Slots in use and refusals over the last day, week or month. */
export function Usage() {
  const period = useSignal<UsagePeriod>("day");
  const usageReply = useSignal<UsageReply | null>(null);
  const fault = useSignal("");
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    const read = async (): Promise<void> => {
      try {
        const reply = await unwrapReply(admin.usage.get({ query: { range: period.value } }));
        if (stop.signal.aborted) return;
        usageReply.value = reply;
        fault.value = "";
      } catch (error) {
        if (stop.signal.aborted) return;
        fault.value = errorMessageOf(error);
      }
      const delay = usageReply.value?.complete === false ? POLL_WHILE_LOADING : MINUTE;
      timer = window.setTimeout(() => void read(), delay);
    };
    void read();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [period.value]);
  return (
    <section class="card usage">
      <header>
        <h3>{usage.title}</h3>
        <PeriodChoice period={period} />
      </header>
      {fault.value !== "" && <p class="bad">{fault.value}</p>}
      {usageReply.value !== null && <UsageCharts usageReply={usageReply} />}
    </section>
  );
}

const PeriodChoice = ({ period }: { period: Signal<UsagePeriod> }) => (
  <div class="periods" role="group" aria-label={usage.periodLabel}>
    {USAGE_PERIODS.map((option) => (
      <button
        key={option}
        type="button"
        class="button"
        aria-pressed={period.value === option}
        onClick={() => (period.value = option)}
      >
        {usage.periods[option]}
      </button>
    ))}
  </div>
);

function UsageCharts({ usageReply }: { usageReply: Signal<UsageReply | null> }) {
  const hoveredStep = useSignal<number | null>(null);
  const chartData = useComputed(() => {
    const { value: reply } = usageReply;
    if (reply === null) return null;
    const refusals = refusalSeries(reply);
    return {
      reply,
      times: stepTimesOf(reply),
      slots: slotSeries(reply),
      refusals,
      bars: stackSeries(refusals),
    };
  });
  if (chartData.value === null) return null;
  const { reply, times, slots, refusals, bars } = chartData.value;
  if (slots.every((line) => peakOf(line) === null) && refusals.length === 0) {
    return <p class="muted">{usage.noData}</p>;
  }
  const periodName = usage.periodNames[reply.range];
  const chartProps = {
    times,
    step: reply.step_minutes * 60,
    formatTime: timeFormatter(reply.range),
    minLabelGap: reply.range === "day" ? 3_600 : 86_400,
    hoveredStep,
  };
  return (
    <>
      <Chart
        {...chartProps}
        name={usage.slotsName(periodName, seriesSummary(slots))}
        series={slots}
        kind="steps"
        height={220}
      />
      <HoveredTime times={times} hoveredStep={hoveredStep} />
      <Legend lines={slots} hoveredStep={hoveredStep} />
      <p class="hint">
        {reply.complete ? usage.limitHint : `${usage.limitHint} ${usage.stillLoading}`}
      </p>
      <h4>{usage.refusals}</h4>
      {refusals.length === 0 ? (
        <p class="muted">{usage.noRefusals}</p>
      ) : (
        <>
          <Chart
            {...chartProps}
            name={usage.refusalsName(periodName, seriesSummary(refusals))}
            series={bars}
            kind="bars"
            height={120}
          />
          <Legend lines={refusals} hoveredStep={hoveredStep} />
        </>
      )}
      <UsageTable times={times} slots={slots} refusals={refusals} />
    </>
  );
}

const seriesSummary = (lines: readonly ChartSeries[]): string =>
  lines.map((line) => `${line.name} ${summaryFigureOf(line)}`).join(", ");

/** For slots the peak, for refusals the total. */
function summaryFigureOf(line: ChartSeries): string {
  if (line.limit === null) return formatNumber(sumOf(line));
  const peak = peakOf(line);
  if (peak === null) return usage.unknown;
  return usage.peak(usage.ofLimit(formatNumber(peak), formatNumber(line.limit)));
}

interface HoverProps {
  readonly hoveredStep: Signal<number | null>;
}

/** The time that the numbers of the legend are for; the table has them all. */
function HoveredTime({ times, hoveredStep }: HoverProps & { readonly times: readonly number[] }) {
  const time = hoveredStep.value === null ? undefined : times[hoveredStep.value];
  return (
    <p class="hint" aria-hidden="true">
      {time === undefined
        ? usage.hoverHint
        : usage.from(formatDateTime(new Date(time * 1_000).toISOString()))}
    </p>
  );
}

const Legend = ({
  lines,
  hoveredStep,
}: HoverProps & { readonly lines: readonly ChartSeries[] }) => (
  <ul class="legend">
    {lines.map((line) => (
      <li key={line.name}>
        <svg width="28" height="10" aria-hidden="true">
          <line
            x1="0"
            x2="28"
            y1="5"
            y2="5"
            stroke-width={line.limit === null ? 10 : 3}
            stroke-dasharray={line.stroke.join(" ")}
            style={{ stroke: `var(${line.colour})` }}
          />
        </svg>
        {line.name}{" "}
        <strong>
          {hoveredStep.value === null
            ? summaryFigureOf(line)
            : valueTextOf(line, hoveredStep.value)}
        </strong>
      </li>
    ))}
  </ul>
);

/** Hours for a day, days for longer periods. */
function timeFormatter(period: UsagePeriod): (seconds: number) => string {
  const parts = {
    day: { hour: "2-digit", minute: "2-digit" },
    week: { weekday: "short", day: "numeric" },
    month: { day: "numeric", month: "short" },
  } as const;
  const format = new Intl.DateTimeFormat(undefined, parts[period]);
  return (seconds) => format.format(seconds * 1_000);
}
