import { csvRecord } from "../../domain/text/csv.ts";

/** A column of a table as it is saved. */
export interface CsvColumn<Row> {
  readonly title: string;
  /** Numbers without separators, times in UTC. Null: there is none. */
  readonly value: (row: Row) => string | number | null;
  /** The title in the file, if the page shows a picture of the value. */
  readonly csvTitle?: string;
}

export const csvOfTable = <Row>(columns: readonly CsvColumn<Row>[], rows: readonly Row[]): string =>
  [
    columns.map(({ title, csvTitle }) => csvTitle ?? title),
    ...rows.map((row) => columns.map(({ value }) => String(value(row) ?? ""))),
  ]
    .map(csvRecord)
    .join("");
