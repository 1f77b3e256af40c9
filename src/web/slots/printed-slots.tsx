import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { formatNumber } from "../format.ts";
import { COLUMN_VIEWS, type Column } from "./columns.ts";
import type { SlotRow } from "./rows.ts";
import { slots } from "./slots-texts.ts";

/** As many rows as a browser lays out in about a second: some 80 pages. */
const MAX_ROWS = 2_000;

interface Props {
  readonly rows: readonly SlotRow[];
  readonly columns: readonly Column[];
  /** The server's time in milliseconds. */
  readonly now: number;
}

/** The whole list for paper: the list on the screen has only the rows that can be seen. */
export function PrintedSlots({ rows, columns, now }: Props) {
  const isPrinting = useSignal(false);
  useEffect(() => {
    const stop = new AbortController();
    addEventListener("beforeprint", () => (isPrinting.value = true), stop);
    addEventListener("afterprint", () => (isPrinting.value = false), stop);
    return () => stop.abort();
  }, []);
  if (!isPrinting.value) return null;
  return (
    <div class="printed-slots">
      {rows.length > MAX_ROWS && (
        <p>{slots.printedPart(formatNumber(MAX_ROWS), formatNumber(rows.length))}</p>
      )}
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {slots.columns[column]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MAX_ROWS).map(({ key, registration }) => (
            <tr key={key}>
              {columns.map((column) => (
                <td key={column}>{COLUMN_VIEWS[column].text(registration, now)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
