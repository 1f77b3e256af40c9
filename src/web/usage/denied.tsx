import type { ReportReply } from "../../http/routes/usage/report-schema.ts";
import { reasonOf } from "../../faults/rule-reasons.ts";
import { formatNumber, formatTime, formatUtc, formatWait } from "../format.ts";
import { DataTable, type DataColumn } from "../parts/data-table.tsx";
import { QueryContent } from "../parts/query-content.tsx";
import { Select } from "../parts/select.tsx";
import { Time } from "../parts/time.tsx";
import { boundsOfDay, daysOf, reportLink, type ReportAddress } from "./address.ts";
import { DayBars } from "./day-bars.tsx";
import {
  countByDay,
  summarizeEpisodes,
  type DayReply,
  type DeniedFigures,
  type EpisodeReply,
} from "./denied-figures.ts";
import { formatWeekday } from "./period-choice.tsx";
import { useReport } from "./report-data.ts";
import { reports } from "./reports-texts.ts";

const { denied: texts } = reports;

interface Props {
  readonly address: ReportAddress;
  readonly report: ReportReply;
  readonly idleDays: number;
}

/** Who was turned away, when and why; by day, and each case. */
export function Denied({ address, report, idleDays }: Props) {
  const isShown = isOfPool(address);
  const days = report.days.filter(isShown);
  const counts = countByDay(days, daysOf(report));
  const total = counts.reduce((sum, { episodes }) => sum + episodes, 0);
  const open = report.pools
    .filter(isShown)
    .reduce((sum, { open_episodes: count }) => sum + count, 0);
  const { day } = address;
  const selectDay = (next: string | null): void => {
    location.hash = reportLink({ ...address, day: next });
  };
  return (
    <section class="card">
      <h3>{texts.title}</h3>
      <p class="hint">{texts.explain}</p>
      {open > 0 && <p class="warn">{texts.open(open)}</p>}
      {total === 0 && day === null ? (
        open === 0 && <p>{texts.none}</p>
      ) : (
        <>
          <DayBars counts={counts} selected={day} onSelect={selectDay} />
          <div class="day-choice">
            <Select
              label={texts.day}
              value={day ?? ""}
              options={dayOptions(counts, day)}
              onChange={(value) => selectDay(value === "" ? null : value)}
            />
          </div>
          {day === null ? (
            <Episodes
              name={texts.list}
              episodes={report.episodes.filter(isShown)}
              omitted={report.omitted.episodes}
              hasPool={address.product === null}
            />
          ) : (
            <EpisodesOfDay key={day} address={address} day={day} idleDays={idleDays} />
          )}
          <details>
            <summary>{texts.asTable}</summary>
            <DataTable
              name={texts.byDay}
              columns={address.product === null ? ALL_DAY_COLUMNS : DAY_COLUMNS}
              rows={days.filter(({ episodes }) => episodes > 0).toReversed()}
              keyOf={({ day: date, product, feature }) => JSON.stringify([date, product, feature])}
              omitted={report.omitted.days}
              empty={texts.none}
            />
          </details>
        </>
      )}
    </section>
  );
}

/** All products, or one pool: refusals of a feature are never those of its product. */
const isOfPool =
  ({ product, feature }: ReportAddress) =>
  (row: { readonly product: string; readonly feature: string | null }): boolean =>
    product === null || (row.product === product && row.feature === feature);

type DayCount = ReturnType<typeof countByDay>[number];

/** Newest first. A day that was chosen stays, also if nothing happened. */
const dayOptions = (
  counts: readonly DayCount[],
  selected: string | null,
): (readonly [string, string])[] => [
  ["", texts.allDays],
  ...counts
    .filter(({ day, episodes }) => episodes > 0 || day === selected)
    .toReversed()
    .map(
      ({ day, episodes }) =>
        [day, texts.dayOption(formatWeekday(day), formatNumber(episodes))] as const,
    ),
];

/** Read again for the day alone: the list of a long period may not have all of them. */
function EpisodesOfDay({
  address,
  day,
  idleDays,
}: Pick<Props, "address" | "idleDays"> & { day: string }) {
  const { product, feature } = address;
  const query = useReport({ product, feature, bounds: () => boundsOfDay(day), idleDays }, [day]);
  return (
    <QueryContent query={query}>
      {(report) => (
        <Episodes
          name={texts.listOfDay(formatWeekday(day))}
          episodes={report.episodes.filter(isOfPool(address))}
          omitted={report.omitted.episodes}
          hasPool={product === null}
          isDay
        />
      )}
    </QueryContent>
  );
}

interface EpisodesProps {
  readonly name: string;
  readonly episodes: readonly EpisodeReply[];
  readonly omitted: number;
  /** Whether the list has several products or features. */
  readonly hasPool: boolean;
  readonly isDay?: boolean;
}

const ROWS_OF_PERIOD = 10;
const ROWS_OF_DAY = 50;

function Episodes({ name, episodes, omitted, hasPool, isDay = false }: EpisodesProps) {
  return (
    <>
      {episodes.length > 0 && <Summary figures={summarizeEpisodes(episodes)} />}
      <DataTable
        name={name}
        columns={hasPool ? ALL_COLUMNS : COLUMNS}
        rows={isDay ? episodes : episodes.toReversed()}
        keyOf={(episode) =>
          JSON.stringify([episode.product, episode.feature, episode.user, episode.first_at])
        }
        omitted={omitted}
        firstRows={isDay ? ROWS_OF_DAY : ROWS_OF_PERIOD}
        empty={isDay ? texts.noneOnDay : texts.none}
      />
    </>
  );
}

function Summary({ figures: { episodes, people, granted, waits } }: { figures: DeniedFigures }) {
  return (
    <p>
      <strong>{texts.summary(texts.episodes(episodes), texts.people(people))}</strong>.
      {waits !== null && (
        <>
          {" "}
          {texts.waits(
            formatNumber(granted),
            formatWait(waits.median),
            formatWait(waits.p95),
            formatWait(waits.longest),
          )}
        </>
      )}
    </p>
  );
}

/** From the first to the last refusal. */
const When = ({ episode: { first_at, last_at } }: { episode: EpisodeReply }) => (
  <span class="when">
    <Time at={first_at} as="short" />
    {formatTime(last_at) !== formatTime(first_at) && (
      <>
        {" – "}
        <time dateTime={last_at} title={formatUtc(last_at)}>
          {formatTime(last_at)}
        </time>
      </>
    )}
  </span>
);

const COLUMNS: readonly DataColumn<EpisodeReply>[] = [
  { title: texts.columns.person, value: ({ person }) => person },
  {
    title: texts.columns.reason,
    value: ({ code, rule }) => texts.reasonOf(reasonOf(code), rule),
  },
  {
    title: texts.columns.when,
    csvTitle: texts.columns.first,
    value: ({ first_at }) => formatUtc(first_at),
    show: (episode) => <When episode={episode} />,
  },
  {
    title: texts.columns.last,
    value: ({ last_at }) => formatUtc(last_at),
    isFileOnly: true,
  },
  { title: texts.columns.attempts, value: ({ attempts }) => attempts, isNumber: true },
  {
    title: texts.columns.waited,
    csvTitle: texts.columns.waitedSeconds,
    value: ({ waited_seconds }) => waited_seconds,
    show: ({ waited_seconds }) => formatWait(waited_seconds),
    isNumber: true,
  },
  { title: texts.columns.outcome, value: ({ outcome }) => texts.outcomes[outcome] },
];

const POOL_COLUMN = {
  title: texts.columns.pool,
  value: ({ product, feature }: Pick<EpisodeReply, "product" | "feature">) =>
    reports.poolName(product, feature),
};

const ALL_COLUMNS = COLUMNS.toSpliced(1, 0, POOL_COLUMN);

const { byDayTable } = texts;

const DAY_COLUMNS: readonly DataColumn<DayReply>[] = [
  { title: byDayTable.day, value: ({ day }) => day, show: ({ day }) => formatWeekday(day) },
  { title: byDayTable.episodes, value: ({ episodes }) => episodes, isNumber: true },
  { title: byDayTable.attempts, value: ({ attempts }) => attempts, isNumber: true },
  { title: byDayTable.granted, value: ({ granted }) => granted, isNumber: true },
  { title: byDayTable.gaveUp, value: ({ gave_up }) => gave_up, isNumber: true },
  { title: byDayTable.left, value: ({ left }) => left, isNumber: true },
  { title: byDayTable.peak, value: ({ peak }) => peak, isFileOnly: true },
  { title: byDayTable.limit, value: ({ limit }) => limit, isFileOnly: true },
  { title: byDayTable.full, value: ({ hours_at_limit }) => hours_at_limit, isFileOnly: true },
  {
    title: byDayTable.median,
    csvTitle: byDayTable.medianSeconds,
    value: ({ waits }) => waits?.median_seconds ?? null,
    show: ({ waits }) => waits && formatWait(waits.median_seconds),
    isNumber: true,
  },
  {
    title: byDayTable.longest,
    csvTitle: byDayTable.longestSeconds,
    value: ({ waits }) => waits?.longest_seconds ?? null,
    show: ({ waits }) => waits && formatWait(waits.longest_seconds),
    isNumber: true,
  },
];

const ALL_DAY_COLUMNS = DAY_COLUMNS.toSpliced(1, 0, POOL_COLUMN);
