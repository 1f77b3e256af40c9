import { useSignal } from "@preact/signals";
import type { WhatIfReply } from "../../http/routes/usage/what-if.ts";
import { admin, unwrapReply } from "../api.ts";
import { formatNumber, formatWait } from "../format.ts";
import { DataTable, type DataColumn } from "../parts/data-table.tsx";
import { Field } from "../parts/field.tsx";
import { QueryContent } from "../parts/query-content.tsx";
import { Select } from "../parts/select.tsx";
import { useQuery } from "../use-query.ts";
import { boundsOf, type Period } from "./address.ts";
import type { PoolReply } from "./pool-rows.ts";
import { Computing } from "./computing.tsx";
import { whatIf as texts } from "./what-if-texts.ts";
import { chooseSlots, isSlotRange, shareText, type SlotRange } from "./what-if-figures.ts";

interface Props {
  readonly pool: PoolReply;
  readonly period: Period;
}

const TARGETS = ["90", "95", "99", "100"];

/** How other numbers of slots would have met the recorded demand. */
export function WhatIf({ pool, period }: Props) {
  const range = useSignal<SlotRange>(chooseSlots(pool));
  const target = useSignal("99");
  const { product, feature } = pool;
  const { from, to } = range.value;
  const query = useQuery(
    (signal) =>
      unwrapReply(
        admin.report["what-if"].get({
          query: {
            product,
            ...(feature !== null && { feature }),
            ...boundsOf(period, Date.now()),
            slots: `${from}..${to}`,
            target: target.value,
          },
          fetch: { signal },
        }),
      ),
    [product, feature, JSON.stringify(period), from, to, target.value],
    { watch: () => null, keepsOldData: true },
  );
  return (
    <section class="card">
      <h3>{texts.title}</h3>
      <QueryContent query={query} loading={<Computing />}>
        {(reply) => <Answer reply={reply} />}
      </QueryContent>
      <div class="days-form">
        <RangeForm range={range.value} onChange={(next) => (range.value = next)} />
        <Select
          label={texts.target}
          value={target.value}
          options={TARGETS.map((percent) => [percent, texts.percent(percent)] as const)}
          onChange={(percent) => (target.value = percent)}
        />
      </div>
    </section>
  );
}

interface RangeProps {
  readonly range: SlotRange;
  readonly onChange: (range: SlotRange) => void;
}

function RangeForm({ range, onChange }: RangeProps) {
  const from = useSignal(String(range.from));
  const to = useSignal(String(range.to));
  const typed = { from: Number(from.value), to: Number(to.value) };
  const isValid = isSlotRange(typed);
  return (
    <>
      <Field label={texts.from} value={from} type="number" />
      <Field label={texts.to} value={to} type="number" {...(!isValid && { error: texts.wrong })} />
      <button type="button" class="button" disabled={!isValid} onClick={() => onChange(typed)}>
        {texts.estimate}
      </button>
    </>
  );
}

/** One sentence, the numbers behind it, and what they assume. */
function Answer({ reply }: { reply: WhatIfReply }) {
  const { rows, target_percent: percent, target_slots: slots, check } = reply;
  const needs = rows[0]?.needs ?? 0;
  if (needs === 0) return <p class="muted">{texts.noNeeds}</p>;
  const last = rows.at(-1)?.slots ?? 0;
  return (
    <>
      <p class="answer">
        {slots === null
          ? texts.notReached(formatNumber(percent), formatNumber(last))
          : texts.answer(formatNumber(percent), slots)}
      </p>
      <p>{recordedText(reply)}</p>
      <DataTable
        name={texts.table}
        columns={COLUMNS}
        rows={rows}
        keyOf={(row) => String(row.slots)}
        firstRows={30}
        empty={texts.noNeeds}
      />
      <details>
        <summary>{texts.assumptions}</summary>
        <ul>
          <li>{texts.estimate1}</li>
          <li>{texts.gaveUp(formatWait(reply.mean_session_seconds))}</li>
          <li>
            {texts.patience(
              formatWait(reply.median_patience_seconds),
              formatWait(reply.retry_interval_seconds),
            )}
          </li>
          {reply.has_rules && <li>{texts.rules}</li>}
          {reply.has_queue && <li>{texts.queue}</li>}
          <li>
            {texts.check(
              formatNumber(check.refusals_reproduced),
              formatNumber(check.refusals),
              formatNumber(check.grants_reproduced),
              formatNumber(check.grants),
            )}
          </li>
        </ul>
      </details>
    </>
  );
}

function recordedText({ recorded, lowest_limit: low, highest_limit: high }: WhatIfReply): string {
  const limits = low === high ? formatNumber(high) : texts.limits(low, high);
  return texts.recorded(limits, shareText(recorded.met_at_once, recorded.needs), recorded.needs);
}

type Row = WhatIfReply["rows"][number];

const { columns } = texts;

const COLUMNS: readonly DataColumn<Row>[] = [
  {
    title: columns.slots,
    value: ({ slots }) => slots,
    show: ({ slots, estimated }) =>
      estimated ? formatNumber(slots) : texts.recordedRow(formatNumber(slots)),
  },
  { title: columns.needs, value: ({ needs }) => needs, isFileOnly: true },
  { title: columns.atOnce, value: (row) => row.met_at_once, isNumber: true },
  {
    title: columns.share,
    value: ({ met_at_once: met, needs }) => shareText(met, needs),
    isNumber: true,
  },
  { title: columns.waiting, value: (row) => row.met_after_waiting, isNumber: true },
  {
    title: columns.wait,
    csvTitle: columns.waitSeconds,
    value: (row) => row.median_wait_seconds,
    show: ({ median_wait_seconds: wait }) => (wait === null ? null : formatWait(wait)),
    isNumber: true,
  },
  { title: columns.notMet, value: ({ not_met }) => not_met, isNumber: true },
  {
    title: columns.kind,
    value: ({ estimated }) => (estimated ? texts.kinds.estimated : texts.kinds.recorded),
    isFileOnly: true,
  },
];
