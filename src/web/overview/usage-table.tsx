import { useSignal } from "@preact/signals";
import { when } from "../format.ts";
import type { Line } from "../parts/line.ts";
import { usage } from "../texts/usage.ts";
import { valueOf } from "./usage-lines.ts";

interface Props {
  readonly times: readonly number[];
  readonly slots: readonly Line[];
  readonly refusals: readonly Line[];
}

/** The same numbers for those who cannot see a chart, the newest first. */
export function UsageTable({ times, slots, refusals }: Props) {
  const open = useSignal(false);
  const lines = [...slots, ...refusals];
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
                    <th scope="row">{when(new Date(time * 1_000).toISOString())}</th>
                    {lines.map((line) => (
                      <td key={line.name}>{valueOf(line, step)}</td>
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
