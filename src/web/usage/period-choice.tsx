import { useSignal } from "@preact/signals";
import { formatDate } from "../format.ts";
import { Field } from "../parts/field.tsx";
import { Segments } from "../parts/segments.tsx";
import { boundsOf, dayOf, RANGES, reportLink, startOf, type Period } from "./address.ts";
import type { ReportAddress } from "./address.ts";
import { reports } from "./reports-texts.ts";

const CUSTOM = "custom";

type Choice = (typeof RANGES)[number] | typeof CUSTOM;

const CHOICES: readonly (readonly [Choice, string])[] = [
  ...RANGES.map((range) => [range, reports.ranges[range]] as const),
  [CUSTOM, reports.custom],
];

/** The chosen period is kept in the address, and so is what is shown of it. */
export function PeriodChoice({ address }: { address: ReportAddress }) {
  const { period } = address;
  const isOpen = useSignal(typeof period !== "string");
  const show = (next: Period): void => {
    location.hash = reportLink({ ...address, period: next, day: null });
  };
  const select = (choice: Choice): void => {
    isOpen.value = choice === CUSTOM;
    if (choice !== CUSTOM) show(choice);
  };
  return (
    <div class="period">
      <Segments
        label={reports.period}
        options={CHOICES}
        selected={isOpen.value || typeof period !== "string" ? CUSTOM : period}
        onSelect={select}
      />
      {isOpen.value && <DaysForm key={JSON.stringify(period)} period={period} onShow={show} />}
    </div>
  );
}

interface DaysProps {
  readonly period: Period;
  readonly onShow: (period: Period) => void;
}

function DaysForm({ period, onShow }: DaysProps) {
  const days = daysOfPeriod(period);
  const from = useSignal(days.from);
  const to = useSignal(days.to);
  const isWrong = from.value > to.value;
  const submit = (): Promise<void> => {
    if (!isWrong) onShow({ from: from.value, to: to.value });
    return Promise.resolve();
  };
  return (
    <div class="days-form">
      <Field label={reports.from} value={from} type="date" required />
      <Field
        label={reports.to}
        value={to}
        type="date"
        required
        {...(isWrong && { error: reports.wrongOrder })}
      />
      <button type="button" class="button" disabled={isWrong} onClick={() => void submit()}>
        {reports.show}
      </button>
    </div>
  );
}

function daysOfPeriod(period: Period): { readonly from: string; readonly to: string } {
  if (typeof period !== "string") return period;
  const { from, to } = boundsOf(period, Date.now());
  return { from: dayOf(Date.parse(from)), to: dayOf(Date.parse(to)) };
}

/** "the last week", or the two days. */
export const nameOfPeriod = (period: Period): string =>
  typeof period === "string"
    ? reports.rangeNames[period]
    : reports.days(formatDay(period.from), formatDay(period.to));

const dayFormat = new Intl.DateTimeFormat(undefined, {
  weekday: "short",
  day: "numeric",
  month: "short",
});

/** "Tue 10 Nov". */
export const formatWeekday = (day: string): string => dayFormat.format(startOf(day));

const formatDay = (day: string): string => formatDate(startOf(day).toISOString());
