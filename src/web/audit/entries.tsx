import { formatPeer } from "../../domain/model/event-texts.ts";
import type { AuditEntryReply } from "../../http/routes/audit/audit-entry.ts";
import { formatNumber } from "../format.ts";
import { Facts } from "../parts/facts.tsx";
import { Time } from "../parts/time.tsx";
import { linkTo } from "../router.ts";
import { auditLog } from "./audit-log-texts.ts";
import { eventKindOf } from "../../domain/event-catalogue.ts";
import { entrySentence } from "./entry-sentence.ts";

/** Events grouped by day. */
export const AuditEntries = ({ events }: { events: readonly AuditEntryReply[] }) => (
  <>
    {groupByDay(events).map(({ day, from, events }) => (
      <section key={from} class="day">
        <h3>{day}</h3>
        <ol>
          {events.map((entry) => (
            <AuditEntryItem key={`${entry.seq}.${entry.event_index}`} entry={entry} />
          ))}
        </ol>
      </section>
    ))}
  </>
);

function AuditEntryItem({ entry }: { entry: AuditEntryReply }) {
  const { at, type, seq } = entry;
  const kind = eventKindOf(type);
  return (
    <li class={`event ${kind}`}>
      <Time at={at} as="clock" />
      <span class="kind">{auditLog.kinds[kind]}</span>
      <div class="entry-body">
        <p>{entrySentence(entry)}</p>
        <LastRefusedUsers entry={entry} />
        <EntrySubject entry={entry} />
      </div>
      <details>
        <summary>{auditLog.line(formatNumber(seq))}</summary>
        <Facts as="tiles" facts={factsOf(entry)} />
      </details>
    </li>
  );
}

/** One entry can count many refusals: lists the last users among them. */
function LastRefusedUsers({ entry: { type, detail } }: { entry: AuditEntryReply }) {
  if (type !== "RefusalsCounted") return null;
  const { users } = detail as { readonly users: readonly string[] };
  if (users.length === 0) return null;
  return (
    <p class="entry-subject">
      <span>{auditLog.lastUsers}</span>
      {users.map((user) => (
        <a key={user} href={linkTo("audit", `user=${user}`)}>
          {user}
        </a>
      ))}
    </p>
  );
}

function EntrySubject({ entry: { user, product, license_id, peer } }: { entry: AuditEntryReply }) {
  if (user === null && product === null && peer === null) return null;
  return (
    <p class="entry-subject">
      {user !== null && <a href={linkTo("audit", `user=${user}`)}>{user}</a>}
      {product !== null && <a href={linkTo("audit", `product=${product}`)}>{product}</a>}
      {license_id !== null && <span>{auditLog.license(String(license_id))}</span>}
      {peer !== null && <span>{auditLog.by(formatPeer(peer))}</span>}
    </p>
  );
}

/** All other members of the event, by their names in the API. */
const factsOf = ({ type, at, detail }: AuditEntryReply): [string, string][] => [
  ["type", type],
  ["at", at],
  ...Object.entries(detail)
    .filter(([, value]) => value !== null && value !== "")
    .map(([name, value]): [string, string] => [name, textOf(value)]),
];

const textOf = (value: unknown): string =>
  Array.isArray(value) ? value.join(", ") : String(value);

interface AuditDay {
  readonly day: string;
  /** Its first entry, which distinguishes two groups of the same day. */
  readonly from: string;
  readonly events: readonly AuditEntryReply[];
}

const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "full" });

/**
 * Groups consecutive events of one day and keeps their order. The end of a slot is logged after it
 * happened, so a day can occur twice.
 */
function groupByDay(events: readonly AuditEntryReply[]): AuditDay[] {
  const days: { day: string; from: string; events: AuditEntryReply[] }[] = [];
  for (const entry of events) {
    const day = dayFormat.format(new Date(entry.at));
    const last = days.at(-1);
    if (last?.day === day) last.events.push(entry);
    else days.push({ day, from: `${entry.seq}.${entry.event_index}`, events: [entry] });
  }
  return days;
}
