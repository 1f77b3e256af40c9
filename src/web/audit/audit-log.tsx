import { useMemo, useRef } from "preact/hooks";
import type { AuditPageReply } from "../../http/routes/audit/audit-log.ts";
import { admin, unwrapReply } from "../api.ts";
import { serverStatus } from "../status-stream.ts";
import { Button } from "../parts/button.tsx";
import { QueryContent } from "../parts/query-content.tsx";
import { Time, TimeZoneNote } from "../parts/time.tsx";
import { useQuery } from "../use-query.ts";
import { currentRoute } from "../router.ts";
import { auditLog } from "./audit-log-texts.ts";
import { IntegrityCheck } from "./integrity-check.tsx";
import { AuditEntries } from "./entries.tsx";
import { AuditCsv, AuditExport } from "./export.tsx";
import {
  isBeforePeriod,
  isFilterEmpty,
  isOpenEnded,
  auditQueryOf,
  readFilter,
  type AuditFilter,
} from "./filter.ts";
import { AuditFilterForm } from "./filter-form.tsx";
import { AuditReader } from "./audit-reader.ts";

/** The audit log: filter, entries, integrity check and export. */
export function AuditLog() {
  const filter = readFilter(currentRoute.value.params);
  return (
    <>
      <h2>{auditLog.title}</h2>
      <p class="muted">
        {auditLog.about} <TimeZoneNote />
      </p>
      <div class="row audit-tools">
        <AuditCsv filter={filter} />
        <AuditExport />
        <IntegrityCheck />
      </div>
      <AuditFilterForm filter={filter} />
      <AuditEntryList key={JSON.stringify(filter)} filter={filter} />
    </>
  );
}

const fetchAuditPage = (query: Record<string, string>): Promise<AuditPageReply> =>
  unwrapReply(admin.audit.get({ query }));

/** New entries appear soon, but a busy site does not cause a request for each. */
const MIN_INTERVAL = 500;

function AuditEntryList({ filter }: { filter: AuditFilter }) {
  const top = useRef<HTMLDivElement>(null);
  const reader = useMemo(() => new AuditReader(fetchAuditPage, auditQueryOf(filter)), []);
  const query = useQuery(
    async () => {
      if (reader.events.value === null) return reader.loadOlder().then(() => reader);
      if (!isOpenEnded(filter, Date.now())) return reader;
      await reader.loadNewer();
      // Otherwise a button offers them: the list must not move while it is read.
      if (isAtTop(top.current)) reader.showPending();
      return reader;
    },
    [],
    { watch: () => serverStatus.value?.storage.audit_seq, minInterval: MIN_INTERVAL },
  );
  return (
    <section class="card audit-log" aria-label={auditLog.list}>
      <div ref={top} />
      <NewEntriesButton
        reader={reader}
        onShow={() => top.current?.scrollIntoView({ block: "center" })}
      />
      <QueryContent query={query}>
        {() => (
          <>
            <AuditEntries events={reader.events.value ?? []} />
            <EndOfList reader={reader} filter={filter} />
          </>
        )}
      </QueryContent>
    </section>
  );
}

const isAtTop = (top: HTMLElement | null): boolean =>
  top !== null && top.getBoundingClientRect().top >= 0;

function NewEntriesButton({ reader, onShow }: { reader: AuditReader; onShow: () => void }) {
  const { length: count } = reader.pendingEvents.value;
  const show = (): void => {
    reader.showPending();
    onShow();
  };
  return (
    <div class="new-events" role="status">
      {count > 0 && (
        <button type="button" class="button main" onClick={show}>
          ↑ {auditLog.newEvents(count)}
        </button>
      )}
    </div>
  );
}

function EndOfList({ reader, filter }: { reader: AuditReader; filter: AuditFilter }) {
  const { length: count } = reader.events.value ?? [];
  const { value: scannedUntil } = reader.scannedUntil;
  if (reader.nextCursor.value === null) {
    const emptyText = isFilterEmpty(filter) ? auditLog.empty : auditLog.noMatches;
    return <p class="muted end">{count === 0 ? emptyText : auditLog.startOfLog}</p>;
  }
  if (isBeforePeriod(filter, scannedUntil)) {
    return (
      <div class="row end">
        <span class="muted">
          {count === 0 ? auditLog.noMatchInPeriod : auditLog.startOfPeriod}{" "}
          {auditLog.ifTimeWasSetBack}
        </span>
        <Button onClick={() => reader.loadOlder()}>{auditLog.scanFurther}</Button>
      </div>
    );
  }
  return (
    <div class="row end">
      <Button onClick={() => reader.loadOlder()}>
        {count === 0 ? auditLog.scanFurther : auditLog.loadOlder}
      </Button>
      {scannedUntil !== null && (
        <span class="muted">
          {auditLog.scannedUntil} <Time at={scannedUntil} />
        </span>
      )}
    </div>
  );
}
