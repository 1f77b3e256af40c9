import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { formatNumber } from "../format.ts";
import { csvOfTable, type CsvColumn } from "./data-columns.ts";
import { saveCsv } from "./save-csv.ts";
import { Button } from "./button.tsx";
import { dataTable as texts } from "./parts-texts.ts";

/** A column of a table that is shown and saved. */
export interface DataColumn<Row> extends CsvColumn<Row> {
  /** As it is shown; absent: the value. */
  readonly show?: (row: Row) => ComponentChildren;
  readonly isNumber?: boolean;
  /** Only in the file: another column shows it. */
  readonly isFileOnly?: boolean;
}

interface Props<Row> {
  /** Names the table, for screen readers and in the name of its file. */
  readonly name: string;
  readonly columns: readonly DataColumn<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** How many rows the server left out. */
  readonly omitted?: number;
  /** Stands in place of a table without rows. */
  readonly empty: string;
  /** How many rows are shown at first; more on request, since thousands make the page slow. */
  readonly firstRows?: number;
  /** False: another view has the same rows with more columns to save. */
  readonly canSave?: boolean;
  /** A last column with buttons; not in the file. */
  readonly actions?: (row: Row) => ComponentChildren;
}

/** A table, or a list of cards on a phone; all of its rows can be saved as a CSV file. */
export function DataTable<Row>(props: Props<Row>) {
  const { name, rows, keyOf, omitted = 0, firstRows = 10, actions } = props;
  const columns = props.columns.filter(({ isFileOnly }) => isFileOnly !== true);
  const isExpanded = useSignal(false);
  if (rows.length === 0) return <p class="muted">{props.empty}</p>;
  const shown = isExpanded.value ? rows : rows.slice(0, firstRows);
  return (
    <>
      <div class="data-scroller" tabIndex={0} role="region" aria-label={name}>
        <table class="data-table">
          <thead>
            <tr>
              {columns.map(({ title, isNumber }) => (
                <th key={title} scope="col" class={isNumber === true ? "number" : ""}>
                  {title}
                </th>
              ))}
              {actions && (
                <th scope="col">
                  <span class="visually-hidden">{texts.actions}</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr key={keyOf(row)}>
                {columns.map((column, index) => (
                  <Cell key={column.title} column={column} row={row} isFirst={index === 0} />
                ))}
                {actions && <td class="actions-cell">{actions(row)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {omitted > 0 && (
        <p class="hint">{texts.omitted(formatNumber(rows.length), formatNumber(omitted))}</p>
      )}
      <div class="row table-tools">
        {shown.length < rows.length && (
          <Button onClick={() => void (isExpanded.value = true)}>
            {texts.showAll(formatNumber(rows.length))}
          </Button>
        )}
        {props.canSave !== false && (
          <Button
            label={texts.saveLabel(name)}
            onClick={() => saveCsv(csvOfTable(props.columns, rows), name)}
          >
            {texts.save}
          </Button>
        )}
      </div>
    </>
  );
}

interface CellProps<Row> {
  readonly column: DataColumn<Row>;
  readonly row: Row;
  readonly isFirst: boolean;
}

function Cell<Row>({ column, row, isFirst }: CellProps<Row>) {
  const { title, value, show, isNumber = false } = column;
  const plain = value(row);
  const content =
    show?.(row) ?? (typeof plain === "number" ? formatNumber(plain) : (plain ?? texts.none));
  if (isFirst) return <th scope="row">{content}</th>;
  return (
    <td data-label={title} class={isNumber ? "number" : "text"}>
      <span>{content === "" ? texts.none : content}</span>
    </td>
  );
}
