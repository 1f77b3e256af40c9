import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { formatPeer } from "../../domain/event-summary.ts";
import type { AuditEntryReply } from "../../http/audit-entry.ts";
import { admin, unwrapReply, errorMessageOf } from "../api.ts";
import { formatDate, formatDateTime } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { Notice } from "../parts/notice.tsx";
import { entrySentence } from "../audit-log/entry-sentence.ts";
import { licenses as say } from "../texts/licenses.ts";

interface LoadedHistory {
  readonly events: readonly AuditEntryReply[];
  /** Where to go on; null: everything was looked at. */
  readonly next: string | null;
  readonly scanned_until: string | null;
}

const EMPTY_HISTORY: LoadedHistory = { events: [], next: null, scanned_until: null };
const EVENT_TYPES = "LicenseInstalled,LicenseRemoved";

/** How often the server is asked before a person is: each time it looks through some megabytes. */
const MAX_READS = 5;

/** How it came, and every renewal; read anew when its serial grows. */
export function LicenseHistory({ id, serial }: { id: number; serial: number }) {
  const read = useSignal<LoadedHistory | null>(null);
  const wrong = useSignal("");
  const look = async (from: LoadedHistory): Promise<void> => {
    read.value = await readOlderEntries(id, from);
  };
  useEffect(() => {
    look(EMPTY_HISTORY).then(
      () => (wrong.value = ""),
      (error: unknown) => (wrong.value = errorMessageOf(error)),
    );
  }, [id, serial]);
  const { value: found } = read;
  return (
    <section class="card">
      <h3>{say.history}</h3>
      {wrong.value !== "" && <Notice kind="warn">{wrong.value}</Notice>}
      {found !== null && <HistoryEvents events={found.events} />}
      {found !== null && found.next !== null && (
        <Button onClick={() => look(found)}>
          {say.loadOlder(found.scanned_until === null ? "" : formatDate(found.scanned_until))}
        </Button>
      )}
    </section>
  );
}

function HistoryEvents({ events }: { events: readonly AuditEntryReply[] }) {
  if (events.length === 0) return <p class="quiet">{say.historyEmpty}</p>;
  return (
    <ul class="history">
      {events.map((entry) => (
        <li key={`${entry.seq}-${entry.event_index}`}>
          <span class="quiet">
            {formatDateTime(entry.at)}
            {entry.peer !== null && `, ${say.by(formatPeer(entry.peer))}`}
          </span>
          <span>{entrySentence(entry)}</span>
        </li>
      ))}
    </ul>
  );
}

async function readOlderEntries(id: number, from: LoadedHistory): Promise<LoadedHistory> {
  const events = [...from.events];
  let { next, scanned_until } = from;
  for (let looks = 0; looks < MAX_READS; looks += 1) {
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
