import { formatPeer } from "../../domain/model/event-texts.ts";
import type { AuditEntryReply } from "../../http/routes/audit/audit-entry.ts";
import { admin, unwrapReply } from "../api.ts";
import { formatDate, formatDateTime } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { QueryContent } from "../parts/query-content.tsx";
import { useQuery } from "../use-query.ts";
import { entrySentence } from "../audit/entry-sentence.ts";
import { licenses as texts } from "./licenses-texts.ts";

interface LoadedHistory {
  readonly events: readonly AuditEntryReply[];
  /** Where the next page starts; null: all entries are loaded. */
  readonly next: string | null;
  readonly scanned_until: string | null;
}

const EMPTY_HISTORY: LoadedHistory = { events: [], next: null, scanned_until: null };
const EVENT_TYPES = "LicenseInstalled,LicenseRemoved";

/** Requests per click: the server searches some megabytes of the audit log in each. */
const MAX_READS = 5;

/** The installation and every renewal; loaded again when the serial changes. */
export function LicenseHistory({ id, serial }: { id: number; serial: number }) {
  const query = useQuery(() => readOlderEntries(id, EMPTY_HISTORY), [id, serial], {
    watch: () => null,
  });
  const loadOlder = async (from: LoadedHistory): Promise<void> =>
    query.set(await readOlderEntries(id, from));
  return (
    <section class="card">
      <h3>{texts.history}</h3>
      <QueryContent query={query}>
        {(loaded) => (
          <>
            <HistoryEvents events={loaded.events} />
            {loaded.next !== null && (
              <Button onClick={() => loadOlder(loaded)}>
                {texts.loadOlder(
                  loaded.scanned_until === null ? "" : formatDate(loaded.scanned_until),
                )}
              </Button>
            )}
          </>
        )}
      </QueryContent>
    </section>
  );
}

function HistoryEvents({ events }: { events: readonly AuditEntryReply[] }) {
  if (events.length === 0) return <p class="muted">{texts.historyEmpty}</p>;
  return (
    <ul class="history">
      {events.map((entry) => (
        <li key={`${entry.seq}-${entry.event_index}`}>
          <span class="muted">
            {formatDateTime(entry.at)}
            {entry.peer !== null && `, ${texts.by(formatPeer(entry.peer))}`}
          </span>
          <span>{entrySentence(entry)}</span>
          <Changes detail={entry.detail} />
        </li>
      ))}
    </ul>
  );
}

/** What a renewal changed; nothing for a new license. */
function Changes({ detail }: { detail: AuditEntryReply["detail"] }) {
  const { changes } = detail as { readonly changes?: unknown };
  if (!Array.isArray(changes)) return null;
  const lines = changes.map(String);
  return lines.length === 0 ? (
    <span class="muted">{texts.unchanged}</span>
  ) : (
    <ul class="changes" aria-label={texts.changes}>
      {lines.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  );
}

async function readOlderEntries(id: number, from: LoadedHistory): Promise<LoadedHistory> {
  const events = [...from.events];
  let { next, scanned_until } = from;
  for (let reads = 0; reads < MAX_READS; reads += 1) {
    const query = {
      license_id: String(id),
      type: EVENT_TYPES,
      ...(next !== null && { before: next }),
    };
    const page = await unwrapReply(admin.audit.get({ query }));
    events.push(...page.events);
    ({ next, scanned_until } = page);
    if (next === null || page.events.length > 0) break;
  }
  return { events, next, scanned_until };
}
