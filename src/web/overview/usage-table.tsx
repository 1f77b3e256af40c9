import { useSignal } from "@preact/signals";
import { formatDateTime } from "../format.ts";
import type { ChartSeries } from "../parts/chart-series.ts";
import { usage } from "./usage-texts.ts";
import { valueTextOf } from "./usage-series.ts";

interface Props {
  readonly times: readonly number[];
  readonly slots: readonly ChartSeries[];
  readonly episodes: readonly ChartSeries[];
}

/** The values of the charts as a table, newest first, for screen readers and exact numbers. */
export function UsageTable({ times, slots, episodes }: Props) {
  const open = useSignal(false);
  const lines = [...slots, ...episodes];
  return (
    <details onToggle={({ currentTarget }) => (open.value = currentTarget.open)}>
      <summary>{usage.asTable}</summary>
      {open.value && (
        <div class="usage-table" role="region" aria-label={usage.table} tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">{usage.time}</th>
                {lines.map((line) => (
                  <th key={line.name} scope="col">
                    {line.name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times
                .map((time, step) => (
                  <tr key={time}>
                    <th scope="row">{formatDateTime(new Date(time * 1_000).toISOString())}</th>
                    {lines.map((line) => (
                      <td key={line.name}>{valueTextOf(line, step)}</td>
                    ))}
                  </tr>
                ))
                .toReversed()}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}
