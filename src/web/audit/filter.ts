import { eventTypesOf } from "../../domain/event-catalogue.ts";
import { EVENT_KINDS, type EventKind } from "../../domain/model/event-row.ts";
import type { AuditQuery } from "../../http/routes/audit/audit-log.ts";

/** Which entries are shown; an empty field does not filter. */
export interface AuditFilter {
  readonly kind: EventKind | "";
  readonly text: string;
  readonly product: string;
  readonly user: string;
  readonly license: string;
  /** Days in the reader's time zone, `YYYY-MM-DD`; both are inclusive. */
  readonly from: string;
  readonly to: string;
}

const EMPTY_FILTER: AuditFilter = {
  kind: "",
  text: "",
  product: "",
  user: "",
  license: "",
  from: "",
  to: "",
};

const FIELDS = Object.keys(EMPTY_FILTER) as (keyof AuditFilter)[];

/** Reads a filter from the parts of an address, `name=value`; invalid parts are ignored. */
export function readFilter(parts: readonly string[]): AuditFilter {
  const filter: Record<keyof AuditFilter, string> = { ...EMPTY_FILTER };
  for (const part of parts) {
    const [name = "", ...value] = part.split("=");
    const field = FIELDS.find((candidate) => candidate === name);
    if (field !== undefined) filter[field] = value.join("=");
  }
  return {
    ...filter,
    kind: EVENT_KINDS.find((kind) => kind === filter.kind) ?? "",
    license: /^\d{1,16}$/.test(filter.license) ? filter.license : "",
    from: isDay(filter.from) ? filter.from : "",
    to: isDay(filter.to) ? filter.to : "",
  };
}

/** The address that shows what a filter selects. */
export const filterLink = (filter: AuditFilter): string =>
  [
    "#/audit",
    ...filledFields(filter).map(([name, value]) => `${name}=${encodeURIComponent(value)}`),
  ].join("/");

export const isFilterEmpty = (filter: AuditFilter): boolean => filledFields(filter).length === 0;

const filledFields = (filter: AuditFilter): [keyof AuditFilter, string][] =>
  FIELDS.flatMap((name) => (filter[name] === "" ? [] : [[name, filter[name]]]));

/** The filter as a query of the API. */
export function auditQueryOf(filter: AuditFilter): Record<string, string> {
  const { kind, text, product, user, license, from, to } = filter;
  const query = {
    type: kind === "" ? "" : eventTypesOf(kind).join(","),
    text: text.trim(),
    product,
    user,
    license_id: license,
    since: from === "" ? "" : startOf(from).toISOString(),
    until: to === "" ? "" : endOf(to).toISOString(),
  } satisfies AuditQuery;
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ""));
}

/** Whether future events can match the filter. */
export const isOpenEnded = ({ to }: AuditFilter, now: number): boolean =>
  to === "" || endOf(to).getTime() >= now;

/** Whether the log was searched back beyond the first day of the filter. */
export const isBeforePeriod = ({ from }: AuditFilter, scannedUntil: string | null): boolean =>
  from !== "" && scannedUntil !== null && Date.parse(scannedUntil) < startOf(from).getTime();

function isDay(text: string): boolean {
  if (!/^[1-9]\d{3}-\d\d-\d\d$/.test(text)) return false;
  const day = startOf(text);
  return !Number.isNaN(day.getTime()) && day.getDate() === Number(text.slice(8));
}

/** Midnight in the reader's time zone. */
const startOf = (day: string): Date => new Date(`${day}T00:00:00`);

/** The last millisecond of a day, which can have 23 or 25 hours. */
function endOf(day: string): Date {
  const nextDay = startOf(day);
  nextDay.setDate(nextDay.getDate() + 1);
  return new Date(nextDay.getTime() - 1);
}
