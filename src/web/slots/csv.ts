import type { RegistrationReply } from "../../http/routes/slots/registrations.ts";
import { csvRecord } from "../../domain/text/csv.ts";
import { siteSlug } from "../../domain/text/site-slug.ts";
import { formatUtc } from "../format.ts";
import { COLUMN_VIEWS, type Column } from "./columns.ts";
import type { SlotRow } from "./rows.ts";
import { slots } from "./slots-texts.ts";

/** The rows and columns as they are shown; times are written in UTC instead of "2 min ago". */
export const csvOf = (rows: readonly SlotRow[], columns: readonly Column[]): string =>
  [
    columns.map((column) => titleOf(column)),
    ...rows.map(({ registration }) => columns.map((column) => cellOf(column, registration))),
  ]
    .map(csvRecord)
    .join("");

const TITLES: Partial<Readonly<Record<Column, string>>> = slots.csv;

const titleOf = (column: Column): string => TITLES[column] ?? slots.columns[column];

function cellOf(column: Column, registration: RegistrationReply): string {
  const { time, text } = COLUMN_VIEWS[column];
  if (time === undefined) return text(registration, 0);
  const at = time(registration);
  return at === null ? "" : formatUtc(at);
}

export const csvFileName = (siteName: string, today: Date): string =>
  slots.fileName(siteSlug(siteName), today.toISOString().slice(0, "2026-03-02".length));
