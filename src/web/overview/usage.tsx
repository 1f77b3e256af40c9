import { useComputed, useSignal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { UsageReply } from "../../http/routes/usage.ts";
import { admin, unwrapReply, errorMessageOf } from "../api.ts";
import { formatNumber, formatDateTime } from "../format.ts";
import { Chart } from "../parts/chart.tsx";
import type { ChartSeries } from "../parts/chart-series.ts";
import { usage } from "../texts/usage.ts";
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
/** The server is still reading its record: there is more to see soon. */
const POLL_WHILE_LOADING = 2_000;

/** How it was: slots in use and refusals over the last day, week or month. */
export function Usage() {
  const span = useSignal<UsagePeriod>("day");
  const known = useSignal<UsageReply | null>(null);
  const fault = useSignal("");
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    const read = async (): Promise<void> => {
      try {
        const reply = await unwrapReply(admin.usage.get({ query: { range: span.value } }));
        if (stop.signal.aborted) return;
        known.value = reply;
        fault.value = "";
      } catch (error) {
        if (stop.signal.aborted) return;
        fault.value = errorMessageOf(error);
      }
      const pause = known.value?.complete === false ? POLL_WHILE_LOADING : MINUTE;
      timer = window.setTimeout(() => void read(), pause);
    };
    void read();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [span.value]);
  return (
    <section class="card usage">
      <header>
        <h3>{usage.title}</h3>
        <PeriodChoice period={span} />
      </header>
      {fault.value !== "" && <p class="bad">{fault.value}</p>}
      {known.value !== null && <UsageCharts usageReply={known} />}
    </section>
  );
}

const PeriodChoice = ({ period }: { period: Signal<UsagePeriod> }) => (
  <div class="spans" role="group" aria-label={usage.periodLabel}>
    {USAGE_PERIODS.map((one) => (
      <button
        key={one}
        type="button"
        class="button"
        aria-pressed={period.value === one}
        onClick={() => (period.value = one)}
      >
        {usage.periods[one]}
      </button>
    ))}
  </div>
);

function UsageCharts({ usageReply }: { usageReply: Signal<UsageReply | null> }) {
  const pointed = useSignal<number | null>(null);
  const drawn = useComputed(() => {
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
  if (drawn.value === null) return null;
  const { reply, times, slots, refusals, bars } = drawn.value;
  if (slots.every((line) => peakOf(line) === null) && refusals.length === 0) {
    return <p class="quiet">{usage.noData}</p>;
  }
  const over = usage.periodNames[reply.range];
  const time = {
    times,
    step: reply.step_minutes * 60,
    writeTime: timeFormatter(reply.range),
    apart: reply.range === "day" ? 3_600 : 86_400,
    pointed,
  };
  return (
    <>
      <Chart
        {...time}
        name={usage.slotsName(over, seriesSummary(slots))}
        series={slots}
        kind="steps"
        height={220}
      />
      <HoveredTime times={times} hoveredStep={pointed} />
      <Legend lines={slots} hoveredStep={pointed} />
      <p class="hint">
        {reply.complete ? usage.limitHint : `${usage.limitHint} ${usage.stillLoading}`}
      </p>
      <h4>{usage.refusals}</h4>
      {refusals.length === 0 ? (
        <p class="quiet">{usage.noRefusals}</p>
      ) : (
        <>
          <Chart
            {...time}
            name={usage.refusalsName(over, seriesSummary(refusals))}
            series={bars}
            kind="bars"
            height={120}
          />
          <Legend lines={refusals} hoveredStep={pointed} />
        </>
      )}
      <UsageTable times={times} slots={slots} refusals={refusals} />
    </>
  );
}

const seriesSummary = (lines: readonly ChartSeries[]): string =>
  lines.map((line) => `${line.name} ${summaryFigureOf(line)}`).join(", ");

/** Of slots the most at once, of refusals how many there were. */
function summaryFigureOf(line: ChartSeries): string {
  if (line.limit === null) return formatNumber(sumOf(line));
  const peak = peakOf(line);
  if (peak === null) return usage.unknown;
  return usage.peak(usage.ofLimit(formatNumber(peak), formatNumber(line.limit)));
}

interface HoverProps {
  readonly hoveredStep: Signal<number | null>;
}

/** What the numbers below are of; whoever cannot point has the table. */
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

/** Of a day the hours, of more the days. */
function timeFormatter(span: UsagePeriod): (seconds: number) => string {
  const parts = {
    day: { hour: "2-digit", minute: "2-digit" },
    week: { weekday: "short", day: "numeric" },
    month: { day: "numeric", month: "short" },
  } as const;
  const format = new Intl.DateTimeFormat(undefined, parts[span]);
  return (seconds) => format.format(seconds * 1_000);
}
