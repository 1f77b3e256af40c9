import { effect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { AuditPageReply } from "../../http/routes/audit-log.ts";
import { admin, unwrapReply } from "../api.ts";
import { formatDateTime } from "../format.ts";
import { serverStatus } from "../status-stream.ts";
import { Button } from "../parts/button.tsx";
import { AsyncContent } from "../parts/async-content.tsx";
import { currentRoute } from "../router.ts";
import { auditLog } from "./audit-log-texts.ts";
import { IntegrityCheck } from "./integrity-check.tsx";
import { AuditEntries } from "./entries.tsx";
import { AuditExport } from "./export.tsx";
import {
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
      <p class="muted">{auditLog.about}</p>
      <div class="row audit-tools">
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

function AuditEntryList({ filter }: { filter: AuditFilter }) {
  const top = useRef<HTMLDivElement>(null);
  const reader = useMemo(() => new AuditReader(fetchAuditPage, auditQueryOf(filter)), []);
  useEffect(() => followNewEntries(reader, filter, () => isAtTop(top.current)), []);
  return (
    <section class="card audit-log" aria-label={auditLog.list}>
      <div ref={top} />
      <NewEntriesButton
        reader={reader}
        onShow={() => top.current?.scrollIntoView({ block: "center" })}
      />
      <AsyncContent load={() => reader.loadOlder()}>
        {() => (
          <>
            <AuditEntries events={reader.events.value ?? []} />
            <EndOfList reader={reader} isFiltered={!isFilterEmpty(filter)} />
          </>
        )}
      </AsyncContent>
    </section>
  );
}

/** Shows new events while the top of the list is in view; otherwise a button offers them. */
function followNewEntries(
  reader: AuditReader,
  filter: AuditFilter,
  isTopVisible: () => boolean,
): () => void {
  let lastSeq: number | null = null;
  return effect(() => {
    const seq = serverStatus.value?.storage.audit_seq ?? null;
    // Runs once more when the first page is loaded: events may have happened meanwhile.
    if (reader.events.value === null || seq === lastSeq || !isOpenEnded(filter, Date.now())) return;
    lastSeq = seq;
    reader.loadNewer().then(
      () => isTopVisible() && reader.showPending(),
      // The header already shows the lost connection; the next change tries again.
      () => null,
    );
  });
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

function EndOfList({ reader, isFiltered }: { reader: AuditReader; isFiltered: boolean }) {
  const { length: count } = reader.events.value ?? [];
  const { value: scannedUntil } = reader.scannedUntil;
  if (reader.nextCursor.value === null) {
    const emptyText = isFiltered ? auditLog.noMatches : auditLog.empty;
    return <p class="muted end">{count === 0 ? emptyText : auditLog.startOfLog}</p>;
  }
  return (
    <div class="row end">
      <Button onClick={() => reader.loadOlder()}>
        {count === 0 ? auditLog.scanFurther : auditLog.loadOlder}
      </Button>
      {scannedUntil !== null && (
        <span class="muted">{auditLog.scannedUntil(formatDateTime(scannedUntil))}</span>
      )}
    </div>
  );
}
