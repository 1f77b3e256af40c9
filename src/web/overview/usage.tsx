import { useComputed, useSignal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { UsageReply } from "../../http/routes/usage.ts";
import { admin, done, sentenceOf } from "../api.ts";
import { number, when } from "../format.ts";
import { Chart } from "../parts/chart.tsx";
import type { Line } from "../parts/line.ts";
import { usage } from "../texts/usage.ts";
import { UsageTable } from "./usage-table.tsx";
import {
  peakOf,
  refusalLines,
  slotLines,
  stacked,
  sumOf,
  timesOf,
  valueOf,
} from "./usage-lines.ts";

type Span = UsageReply["range"];

const SPANS: readonly Span[] = ["day", "week", "month"];

const MINUTE = 60_000;
/** The server is still reading its record: there is more to see soon. */
const WHILE_READING = 2_000;

/** How it was: slots in use and refusals over the last day, week or month. */
export function Usage() {
  const span = useSignal<Span>("day");
  const known = useSignal<UsageReply | null>(null);
  const fault = useSignal("");
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    const read = async (): Promise<void> => {
      try {
        const reply = await done(admin.usage.get({ query: { range: span.value } }));
        if (stop.signal.aborted) return;
        known.value = reply;
        fault.value = "";
      } catch (error) {
        if (stop.signal.aborted) return;
        fault.value = sentenceOf(error);
      }
      const pause = known.value?.complete === false ? WHILE_READING : MINUTE;
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
        <Spans span={span} />
      </header>
      {fault.value !== "" && <p class="bad">{fault.value}</p>}
      {known.value !== null && <Shown known={known} />}
    </section>
  );
}

const Spans = ({ span }: { span: Signal<Span> }) => (
  <div class="spans" role="group" aria-label={usage.spanLabel}>
    {SPANS.map((one) => (
      <button
        key={one}
        type="button"
        class="button"
        aria-pressed={span.value === one}
        onClick={() => (span.value = one)}
      >
        {usage.spans[one]}
      </button>
    ))}
  </div>
);

function Shown({ known }: { known: Signal<UsageReply | null> }) {
  const pointed = useSignal<number | null>(null);
  const drawn = useComputed(() => {
    const { value: reply } = known;
    if (reply === null) return null;
    const refusals = refusalLines(reply);
    return {
      reply,
      times: timesOf(reply),
      slots: slotLines(reply),
      refusals,
      bars: stacked(refusals),
    };
  });
  if (drawn.value === null) return null;
  const { reply, times, slots, refusals, bars } = drawn.value;
  if (slots.every((line) => peakOf(line) === null) && refusals.length === 0) {
    return <p class="quiet">{usage.nothing}</p>;
  }
  const over = usage.over[reply.range];
  const time = {
    times,
    step: reply.step_minutes * 60,
    writeTime: writer(reply.range),
    apart: reply.range === "day" ? 3_600 : 86_400,
    pointed,
  };
  return (
    <>
      <Chart
        {...time}
        name={usage.slotsName(over, names(slots))}
        lines={slots}
        kind="steps"
        height={220}
      />
      <Moment times={times} pointed={pointed} />
      <Legend lines={slots} pointed={pointed} />
      <p class="hint">{reply.complete ? usage.limitHint : `${usage.limitHint} ${usage.partly}`}</p>
      <h4>{usage.refusals}</h4>
      {refusals.length === 0 ? (
        <p class="quiet">{usage.noRefusals}</p>
      ) : (
        <>
          <Chart
            {...time}
            name={usage.refusalsName(over, names(refusals))}
            lines={bars}
            kind="bars"
            height={120}
          />
          <Legend lines={refusals} pointed={pointed} />
        </>
      )}
      <UsageTable times={times} slots={slots} refusals={refusals} />
    </>
  );
}

const names = (lines: readonly Line[]): string =>
  lines.map((line) => `${line.name} ${figureOf(line)}`).join(", ");

/** Of slots the most at once, of refusals how many there were. */
function figureOf(line: Line): string {
  if (line.limit === null) return number(sumOf(line));
  const peak = peakOf(line);
  if (peak === null) return usage.unknown;
  return usage.atMost(usage.ofLimit(number(peak), number(line.limit)));
}

interface Pointed {
  readonly pointed: Signal<number | null>;
}

/** What the numbers below are of; whoever cannot point has the table. */
function Moment({ times, pointed }: Pointed & { readonly times: readonly number[] }) {
  const time = pointed.value === null ? undefined : times[pointed.value];
  return (
    <p class="hint" aria-hidden="true">
      {time === undefined ? usage.point : usage.from(when(new Date(time * 1_000).toISOString()))}
    </p>
  );
}

const Legend = ({ lines, pointed }: Pointed & { readonly lines: readonly Line[] }) => (
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
        <strong>{pointed.value === null ? figureOf(line) : valueOf(line, pointed.value)}</strong>
      </li>
    ))}
  </ul>
);

/** Of a day the hours, of more the days. */
function writer(span: Span): (seconds: number) => string {
  const parts = {
    day: { hour: "2-digit", minute: "2-digit" },
    week: { weekday: "short", day: "numeric" },
    month: { day: "numeric", month: "short" },
  } as const;
  const format = new Intl.DateTimeFormat(undefined, parts[span]);
  return (seconds) => format.format(seconds * 1_000);
}
