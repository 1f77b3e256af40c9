import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { formatPeer } from "../../domain/event-summary.ts";
import type { AuditEntryReply } from "../../http/audit-entry.ts";
import { admin, done, sentenceOf } from "../api.ts";
import { date, when } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { Notice } from "../parts/notice.tsx";
import { sentenceFor } from "../record/sentence.ts";
import { licenses as say } from "../texts/licenses.ts";

interface Read {
  readonly events: readonly AuditEntryReply[];
  /** Where to go on; null: everything was looked at. */
  readonly next: string | null;
  readonly scanned_until: string | null;
}

const NOTHING: Read = { events: [], next: null, scanned_until: null };
const TYPES = "LicenseInstalled,LicenseRemoved";

/** How often the server is asked before a person is: each time it looks through some megabytes. */
const LOOKS = 5;

/** How it came, and every renewal; read anew when its serial grows. */
export function History({ id, serial }: { id: number; serial: number }) {
  const read = useSignal<Read | null>(null);
  const wrong = useSignal("");
  const look = async (from: Read): Promise<void> => {
    read.value = await olderThan(id, from);
  };
  useEffect(() => {
    look(NOTHING).then(
      () => (wrong.value = ""),
      (error: unknown) => (wrong.value = sentenceOf(error)),
    );
  }, [id, serial]);
  const { value: found } = read;
  return (
    <section class="card">
      <h3>{say.history}</h3>
      {wrong.value !== "" && <Notice kind="warn">{wrong.value}</Notice>}
      {found !== null && <Events events={found.events} />}
      {found !== null && found.next !== null && (
        <Button onClick={() => look(found)}>
          {say.further(found.scanned_until === null ? "" : date(found.scanned_until))}
        </Button>
      )}
    </section>
  );
}

function Events({ events }: { events: readonly AuditEntryReply[] }) {
  if (events.length === 0) return <p class="quiet">{say.historyNone}</p>;
  return (
    <ul class="history">
      {events.map((entry) => (
        <li key={`${entry.seq}-${entry.event_index}`}>
          <span class="quiet">
            {when(entry.at)}
            {entry.peer !== null && `, ${say.by(formatPeer(entry.peer))}`}
          </span>
          <span>{sentenceFor(entry)}</span>
        </li>
      ))}
    </ul>
  );
}

async function olderThan(id: number, from: Read): Promise<Read> {
  const events = [...from.events];
  let { next, scanned_until } = from;
  for (let looks = 0; looks < LOOKS; looks += 1) {
    const query = { license_id: String(id), type: TYPES, ...(next !== null && { before: next }) };
    const page = await done(admin.audit.get({ query }));
    events.push(...page.events);
    ({ next, scanned_until } = page);
    if (next === null || page.events.length > 0) break;
  }
  return { events, next, scanned_until };
}
