import { EVENT_KINDS, eventTypesOf, type EventKind } from "./event-kinds.ts";

/** What of the record is shown; an empty text: all of it. */
export interface AuditFilter {
  readonly kind: EventKind | "";
  readonly text: string;
  readonly product: string;
  readonly user: string;
  readonly license: string;
  /** Days as the reader's calendar has them, `YYYY-MM-DD`; both are part of it. */
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

/** From the parts of an address, `name=value`; what makes no sense there is left out. */
export function readFilter(parts: readonly string[]): AuditFilter {
  const filter: Record<keyof AuditFilter, string> = { ...EMPTY_FILTER };
  for (const part of parts) {
    const [name = "", ...value] = part.split("=");
    const field = FIELDS.find((one) => one === name);
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

/** The address of what a filter shows, to be linked to. */
export const filterLink = (filter: AuditFilter): string =>
  [
    "#/audit",
    ...filledFields(filter).map(([name, value]) => `${name}=${encodeURIComponent(value)}`),
  ].join("/");

export const isFilterEmpty = (filter: AuditFilter): boolean => filledFields(filter).length === 0;

const filledFields = (filter: AuditFilter): [keyof AuditFilter, string][] =>
  FIELDS.flatMap((name) => (filter[name] === "" ? [] : [[name, filter[name]]]));

/** The same as the server is asked for it. */
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
  };
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ""));
}

/** Whether something that happens from now on could be in it. */
export const isOpenEnded = ({ to }: AuditFilter, now: number): boolean =>
  to === "" || endOf(to).getTime() >= now;

function isDay(text: string): boolean {
  if (!/^[1-9]\d{3}-\d\d-\d\d$/.test(text)) return false;
  const day = startOf(text);
  return !Number.isNaN(day.getTime()) && day.getDate() === Number(text.slice(8));
}

/** Midnight where the reader is. */
const startOf = (day: string): Date => new Date(`${day}T00:00:00`);

/** The last moment of a day that may have 23 hours, or 25. */
function endOf(day: string): Date {
  const next = startOf(day);
  next.setDate(next.getDate() + 1);
  return new Date(next.getTime() - 1);
}
