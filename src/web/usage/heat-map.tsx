import { useSignal } from "@preact/signals";
import { Button } from "../parts/button.tsx";
import { csvOfTable } from "../parts/data-columns.ts";
import { saveCsv } from "../parts/save-csv.ts";
import { dataTable } from "../parts/parts-texts.ts";
import { Segments } from "../parts/segments.tsx";
import { TimeZoneNote } from "../parts/time.tsx";
import { reports } from "./reports-texts.ts";

type Kind = "mean" | "peak";
type Rows = readonly (readonly (number | null)[])[];

interface Props {
  readonly maps: Readonly<Record<Kind, Rows>>;
  readonly limit: number;
}

const { heatMap: texts } = reports;

const KINDS = ["mean", "peak"] as const;
const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

const weekdayFormat = new Intl.DateTimeFormat(undefined, { weekday: "short", timeZone: "UTC" });
const MONDAY = Date.UTC(2024, 0, 1);
const WEEKDAYS = Array.from({ length: 7 }, (_, day) =>
  weekdayFormat.format(MONDAY + day * 86_400_000),
);

/** Slots in use by weekday and hour: a table whose numbers say the same as its colours. */
export function HeatMap({ maps, limit }: Props) {
  const kind = useSignal<Kind>("mean");
  const { [kind.value]: rows } = maps;
  const name = texts.name(texts.kinds[kind.value]);
  const highest = Math.max(limit, ...rows.flat().map((value) => value ?? 0), 1);
  const save = (): void => {
    const columns = [
      { title: texts.day, value: ({ day }: HeatRow) => WEEKDAYS[day] ?? "" },
      { title: texts.hour, value: ({ hour }: HeatRow) => hour },
      { title: texts.kinds.mean, value: ({ mean }: HeatRow) => mean },
      { title: texts.kinds.peak, value: ({ peak }: HeatRow) => peak },
    ];
    saveCsv(csvOfTable(columns, heatRows(maps)), texts.title);
  };
  return (
    <section class="card">
      <header class="card-head">
        <h3>{texts.title}</h3>
        <Segments
          label={texts.kind}
          options={KINDS.map((option) => [option, texts.kinds[option]] as const)}
          selected={kind.value}
          onSelect={(option) => (kind.value = option)}
        />
      </header>
      <div class="heat-map" role="region" aria-label={name}>
        {/* On a narrow screen it is a grid with hours as rows: the roles keep it a table. */}
        <table role="table">
          <thead role="rowgroup">
            <tr role="row">
              <th role="columnheader" scope="col">
                <span class="visually-hidden">{texts.day}</span>
              </th>
              {HOURS.map((hour) => (
                <th key={hour} role="columnheader" scope="col">
                  {hour}
                </th>
              ))}
            </tr>
          </thead>
          <tbody role="rowgroup">
            {WEEKDAYS.map((weekday, day) => (
              <tr key={weekday} role="row">
                <th role="rowheader" scope="row">
                  {weekday}
                </th>
                {HOURS.map((hour) => (
                  <HeatCell key={hour} value={rows[day]?.[hour] ?? null} highest={highest} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="hint">
        {texts.legend} <TimeZoneNote />
      </p>
      <div class="row table-tools">
        <Button label={dataTable.saveLabel(texts.title)} onClick={save}>
          {dataTable.save}
        </Button>
      </div>
    </section>
  );
}

const LEVELS = 5;

function HeatCell({ value, highest }: { value: number | null; highest: number }) {
  if (value === null) return <td role="cell" />;
  const level = value === 0 ? 0 : Math.max(1, Math.min(LEVELS, Math.ceil((value / highest) * 5)));
  return (
    <td role="cell" data-level={level}>
      {formatLevel(value)}
    </td>
  );
}

/** Two digits at most, so that a field stays narrow. */
const formatLevel = (value: number): string =>
  value === 0 || value >= 10 || Number.isInteger(value)
    ? String(Math.round(value))
    : value.toFixed(1);

interface HeatRow {
  readonly day: number;
  readonly hour: number;
  readonly mean: number | null;
  readonly peak: number | null;
}

const heatRows = ({ mean, peak }: Props["maps"]): HeatRow[] =>
  WEEKDAYS.flatMap((_, day) =>
    HOURS.map((hour) => ({
      day,
      hour,
      mean: mean[day]?.[hour] ?? null,
      peak: peak[day]?.[hour] ?? null,
    })),
  );
