import { useSignal, type Signal } from "@preact/signals";
import type { ReportReply } from "../../http/routes/usage/report-schema.ts";
import { formatDateTime, formatNumber } from "../format.ts";
import { licenses, useLicenseData } from "../licenses/license-data.ts";
import { EmptyState } from "../parts/empty-state.tsx";
import { Notice } from "../parts/notice.tsx";
import { QueryContent } from "../parts/query-content.tsx";
import { TimeZoneNote } from "../parts/time.tsx";
import { currentRoute, linkTo } from "../router.ts";
import { canChange } from "../session.ts";
import { serverStatus } from "../status-stream.ts";
import { boundsOf, readAddress, reportLink, type ReportAddress } from "./address.ts";
import { Computing } from "./computing.tsx";
import { Denied } from "./denied.tsx";
import { HeatMap } from "./heat-map.tsx";
import { Idle } from "./idle.tsx";
import { PeriodChoice } from "./period-choice.tsx";
import { PoolFigures } from "./pool-figures.tsx";
import { featuresOf, findUse, makePoolRows } from "./pool-rows.ts";
import { PoolTable } from "./pool-table.tsx";
import { isSamePool } from "./pool.ts";
import { useReport } from "./report-data.ts";
import { reports } from "./reports-texts.ts";
import { UseOverTime } from "./use-chart.tsx";
import { WhatIf } from "./what-if.tsx";
import { Statements } from "./statements.tsx";
import { Borrows, ConsumptionTable, People } from "./tables.tsx";

const DEFAULT_IDLE_DAYS = 7;

/** Use against the limits, denied demand, idle holders and what to send the vendor. */
export function Reports() {
  const address = readAddress(currentRoute.value.params);
  const idleDays = useSignal(DEFAULT_IDLE_DAYS);
  useLicenseData();
  const { product, feature, period } = address;
  const query = useReport(
    { product, feature, bounds: () => boundsOf(period, Date.now()), idleDays: idleDays.value },
    [JSON.stringify(period)],
  );
  return (
    <>
      <Head address={address} />
      <div class="stack reports">
        <QueryContent query={query} loading={<Computing />}>
          {(report, refresh) => (
            <ReportBody address={address} report={report} idleDays={idleDays} refresh={refresh} />
          )}
        </QueryContent>
      </div>
    </>
  );
}

function Head({ address }: { address: ReportAddress }) {
  const { product, feature } = address;
  const all = { ...address, product: null, feature: null, day: null };
  return (
    <>
      {product !== null && (
        <nav class="path" aria-label={reports.title}>
          <a href={reportLink(all)}>{reports.all}</a>
          {feature !== null && (
            <>
              {" › "}
              <a href={reportLink({ ...address, feature: null, day: null })}>{product}</a>
            </>
          )}
        </nav>
      )}
      <div class="report-head">
        <h2>{product === null ? reports.title : reports.poolName(product, feature)}</h2>
        <PeriodChoice address={address} />
      </div>
    </>
  );
}

interface BodyProps {
  readonly address: ReportAddress;
  readonly report: ReportReply;
  readonly idleDays: Signal<number>;
  readonly refresh: () => Promise<void>;
}

function ReportBody(props: BodyProps) {
  const { address, report } = props;
  if (report.pools.length === 0) return <NoPools />;
  return (
    <>
      <p class="hint report-note">
        {reports.asOf(formatDateTime(report.as_of))} · <TimeZoneNote />
        {report.known_from > report.from && (
          <> · {reports.knownFrom(formatDateTime(report.known_from))}</>
        )}
      </p>
      <MissingLines missing={report.missing} />
      {address.product === null ? <AllPools {...props} /> : <OnePool {...props} />}
    </>
  );
}

/** So many periods are named. */
const SHOWN_MISSING = 10;

function MissingLines({ missing }: Pick<ReportReply, "missing">) {
  if (missing.length === 0) return null;
  return (
    <Notice kind="warn" title={reports.missing}>
      <p>{reports.missingText}</p>
      <ul>
        {missing.slice(0, SHOWN_MISSING).map(({ from, to, first_line: line }) => (
          <li key={line}>{reports.missingPeriod(formatDateTime(from), formatDateTime(to))}</li>
        ))}
        {missing.length > SHOWN_MISSING && (
          <li>{reports.moreMissing(formatNumber(missing.length - SHOWN_MISSING))}</li>
        )}
      </ul>
    </Notice>
  );
}

const NoPools = () => (
  <EmptyState title={reports.noLicense.title} text={reports.noLicense.text}>
    {canChange.value && (
      <a class="button main" href={linkTo("licenses")}>
        {reports.noLicense.add}
      </a>
    )}
  </EmptyState>
);

function AllPools({ address, report, idleDays, refresh }: BodyProps) {
  const rows = makePoolRows(report, { status: serverStatus.value, licenses: licenses.value });
  return (
    <>
      <section class="card">
        <h3>{reports.pools.title}</h3>
        <PoolTable name={reports.pools.title} rows={rows} address={address} />
      </section>
      <Denied address={address} report={report} idleDays={idleDays.value} />
      <IdleOf report={report} idleDays={idleDays} refresh={refresh} />
      <Statements />
      <Borrows rows={report.borrows} />
      <ConsumptionTable rows={report.consumption} />
    </>
  );
}

function OnePool({ address, report, idleDays, refresh }: BodyProps) {
  const { product, feature } = address;
  const wanted = { product: product ?? "", feature };
  const live = { status: serverStatus.value, licenses: licenses.value };
  const rows = makePoolRows(report, live);
  const pool = rows.find((row) => isSamePool(row, wanted));
  if (pool === undefined) return <p class="muted">{reports.unknown}</p>;
  const features = feature === null ? featuresOf(rows, wanted.product) : [];
  return (
    <>
      <PoolFigures pool={pool} now={findUse(pool, live)} />
      <UseOverTime pool={pool} period={address.period} />
      <Denied address={address} report={report} idleDays={idleDays.value} />
      <WhatIf key={JSON.stringify([wanted, address.period])} pool={pool} period={address.period} />
      <HeatMap maps={pool.heat_map} limit={pool.limit} />
      <People
        rows={report.people.filter((person) => isSamePool(person, wanted))}
        omitted={report.omitted.people}
      />
      {features.length > 0 && (
        <section class="card">
          <h3>{reports.features.title}</h3>
          <PoolTable name={reports.features.title} rows={features} address={address} />
        </section>
      )}
      {feature === null && (
        <>
          <IdleOf report={report} idleDays={idleDays} refresh={refresh} />
          <Borrows rows={report.borrows} />
        </>
      )}
      <ConsumptionTable
        rows={report.consumption.filter((row) => feature === null || row.feature === feature)}
      />
    </>
  );
}

const IdleOf = ({ report, idleDays, refresh }: Omit<BodyProps, "address">) => (
  <Idle
    holders={report.idle}
    omitted={report.omitted.idle}
    idleDays={idleDays.value}
    onIdleDays={(days) => (idleDays.value = days)}
    refresh={refresh}
  />
);
