import type { ReportReply } from "../../http/routes/usage/report-schema.ts";
import { formatNumber } from "../format.ts";
import { DataTable, type DataColumn } from "../parts/data-table.tsx";
import { linkTo } from "../router.ts";
import { reports } from "./reports-texts.ts";

const { people, borrows, consumption } = reports;

type Person = ReportReply["people"][number];
type Borrow = ReportReply["borrows"][number];
type Consumption = ReportReply["consumption"][number];

const PERSON_COLUMNS: readonly DataColumn<Person>[] = [
  { title: people.columns.person, value: ({ person }) => person },
  {
    title: people.columns.hours,
    value: ({ slot_hours }) => slot_hours,
    show: ({ slot_hours }) => formatHours(slot_hours),
    isNumber: true,
  },
  { title: people.columns.sessions, value: ({ sessions }) => sessions, isNumber: true },
  { title: people.columns.borrows, value: (row) => row.borrows, isNumber: true },
  { title: people.columns.denied, value: ({ episodes }) => episodes, isNumber: true },
];

interface PeopleProps {
  readonly rows: readonly Person[];
  readonly omitted: number;
}

export const People = ({ rows, omitted }: PeopleProps) => (
  <section class="card">
    <h3>{people.title}</h3>
    <DataTable
      name={people.title}
      columns={PERSON_COLUMNS}
      rows={rows}
      keyOf={({ person }) => person}
      omitted={omitted}
      empty={people.none}
    />
  </section>
);

const BORROW_COLUMNS: readonly DataColumn<Borrow>[] = [
  { title: borrows.columns.product, value: ({ product }) => product },
  { title: borrows.columns.borrows, value: (row) => row.borrows, isNumber: true },
  { title: borrows.columns.people, value: (row) => row.people, isNumber: true },
  {
    title: borrows.columns.hours,
    value: ({ borrowed_hours }) => borrowed_hours,
    show: ({ borrowed_hours }) => formatHours(borrowed_hours),
    isNumber: true,
  },
  {
    title: borrows.columns.longest,
    value: ({ longest_hours }) => longest_hours,
    show: ({ longest_hours }) => formatHours(longest_hours),
    isNumber: true,
  },
];

export const Borrows = ({ rows }: { rows: readonly Borrow[] }) => (
  <section class="card">
    <h3>{borrows.title}</h3>
    <DataTable
      name={borrows.title}
      columns={BORROW_COLUMNS}
      rows={rows}
      keyOf={({ product }) => product}
      empty={borrows.none}
    />
  </section>
);

const CONSUMPTION_COLUMNS: readonly DataColumn<Consumption>[] = [
  {
    title: consumption.columns.product,
    value: ({ product }) => product,
    show: ({ product, license_id }) => (
      <a href={linkTo("licenses", String(license_id))}>{product}</a>
    ),
  },
  { title: consumption.columns.feature, value: ({ feature }) => feature },
  { title: consumption.columns.license, value: ({ license_id }) => String(license_id) },
  { title: consumption.columns.counted, value: ({ counted }) => counted, isNumber: true },
  { title: consumption.columns.total, value: ({ total }) => total, isNumber: true },
  {
    title: consumption.columns.max,
    value: ({ max }) => max,
    show: ({ max }) => (max === null ? consumption.unlimited : formatNumber(max)),
    isNumber: true,
  },
  { title: consumption.columns.overage, value: ({ overage }) => overage, isNumber: true },
  { title: consumption.columns.people, value: (row) => row.people, isNumber: true },
];

/** Products without counted consumption have no such table. */
export const ConsumptionTable = ({ rows }: { rows: readonly Consumption[] }) =>
  rows.length === 0 ? null : (
    <section class="card">
      <h3>{consumption.title}</h3>
      <DataTable
        name={consumption.title}
        columns={CONSUMPTION_COLUMNS}
        rows={rows}
        keyOf={({ license_id, feature }) => JSON.stringify([license_id, feature])}
        empty={consumption.none}
      />
    </section>
  );

/** One decimal below ten hours. */
export const formatHours = (hours: number): string =>
  formatNumber(hours >= 10 ? Math.round(hours) : Math.round(hours * 10) / 10);
