import { effect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { AuditPageReply } from "../../http/routes/audit-log.ts";
import { admin, unwrapReply } from "../api.ts";
import { formatDateTime } from "../format.ts";
import { serverStatus } from "../status-stream.ts";
import { Button } from "../parts/button.tsx";
import { AsyncContent } from "../parts/async-content.tsx";
import { currentRoute } from "../router.ts";
import { auditLog } from "../texts/audit-log.ts";
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

/** What happened, for whoever wants to know and for whoever wants proof. */
export function AuditLog() {
  const filter = readFilter(currentRoute.value.params);
  return (
    <>
      <h2>{auditLog.title}</h2>
      <p class="quiet">{auditLog.about}</p>
      <div class="row record-tools">
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
  const reading = useMemo(() => new AuditReader(fetchAuditPage, auditQueryOf(filter)), []);
  useEffect(() => followNewEntries(reading, filter, () => isAtTop(top.current)), []);
  return (
    <section class="card record" aria-label={auditLog.list}>
      <div ref={top} />
      <NewEntriesButton
        reader={reading}
        onShow={() => top.current?.scrollIntoView({ block: "center" })}
      />
      <AsyncContent load={() => reading.loadOlder()}>
        {() => (
          <>
            <AuditEntries events={reading.events.value ?? []} />
            <EndOfList reader={reading} isFiltered={!isFilterEmpty(filter)} />
          </>
        )}
      </AsyncContent>
    </section>
  );
}

/** New events come in by themselves while the newest are looked at; else somebody asks for them. */
function followNewEntries(
  reading: AuditReader,
  filter: AuditFilter,
  isLookedAt: () => boolean,
): () => void {
  let seen: number | null = null;
  return effect(() => {
    const seq = serverStatus.value?.storage.audit_seq ?? null;
    // Asked once more when the first page is there: something may have happened meanwhile.
    if (reading.events.value === null || seq === seen || !isOpenEnded(filter, Date.now())) return;
    seen = seq;
    reading.loadNewer().then(
      () => isLookedAt() && reading.showPending(),
      // Said already where the connection is shown; the next change asks again.
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
    <div class="fresh" role="status">
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
  const { value: reached } = reader.scannedUntil;
  if (reader.nextCursor.value === null) {
    const nothing = isFiltered ? auditLog.noMatches : auditLog.empty;
    return <p class="quiet end">{count === 0 ? nothing : auditLog.startOfLog}</p>;
  }
  return (
    <div class="row end">
      <Button onClick={() => reader.loadOlder()}>
        {count === 0 ? auditLog.scanFurther : auditLog.loadOlder}
      </Button>
      {reached !== null && (
        <span class="quiet">{auditLog.scannedUntil(formatDateTime(reached))}</span>
      )}
    </div>
  );
}
