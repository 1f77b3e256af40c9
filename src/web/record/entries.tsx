import { formatPeer } from "../../domain/event-summary.ts";
import type { AuditEntryReply } from "../../http/audit-entry.ts";
import { number, when } from "../format.ts";
import { Facts } from "../parts/facts.tsx";
import { linkTo } from "../router.ts";
import { record } from "../texts/record.ts";
import { byDay } from "./days.ts";
import { kindOf } from "./kinds.ts";
import { sentenceFor } from "./sentence.ts";

/** Events under the days they happened on. */
export const Entries = ({ events }: { events: readonly AuditEntryReply[] }) => (
  <>
    {byDay(events).map(({ day, from, events }) => (
      <section key={from} class="day">
        <h3>{day}</h3>
        <ol>
          {events.map((entry) => (
            <One key={`${entry.seq}.${entry.event_index}`} entry={entry} />
          ))}
        </ol>
      </section>
    ))}
  </>
);

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

function One({ entry }: { entry: AuditEntryReply }) {
  const { at, type, seq } = entry;
  const kind = kindOf(type);
  return (
    <li class={`event ${kind}`}>
      <time dateTime={at} title={when(at)}>
        {clock.format(new Date(at))}
      </time>
      <span class="kind">{record.kinds[kind]}</span>
      <div class="told">
        <p>{sentenceFor(entry)}</p>
        <LastRefused entry={entry} />
        <Who entry={entry} />
      </div>
      <details>
        <summary>{record.line(number(seq))}</summary>
        <Facts as="tiles" facts={factsOf(entry)} />
      </details>
    </li>
  );
}

/** A thousand refusals are one line; who was among the last of them. */
function LastRefused({ entry: { type, detail } }: { entry: AuditEntryReply }) {
  if (type !== "RefusalsCounted") return null;
  const { users } = detail as { readonly users: readonly string[] };
  return users.length > 0 ? <p class="quiet">{record.lastUsers(users.join(", "))}</p> : null;
}

function Who({ entry: { user, product, license_id, peer } }: { entry: AuditEntryReply }) {
  if (user === null && product === null && peer === null) return null;
  return (
    <p class="who">
      {user !== null && <a href={linkTo("audit", `user=${user}`)}>{user}</a>}
      {product !== null && <a href={linkTo("audit", `product=${product}`)}>{product}</a>}
      {license_id !== null && <span>{record.license(String(license_id))}</span>}
      {peer !== null && <span>{record.by(formatPeer(peer))}</span>}
    </p>
  );
}

/** Everything else the event holds, by the names the API has for it. */
const factsOf = ({ type, at, detail }: AuditEntryReply): [string, string][] => [
  ["type", type],
  ["at", at],
  ...Object.entries(detail)
    .filter(([, value]) => value !== null && value !== "")
    .map(([name, value]): [string, string] => [name, textOf(value)]),
];

const textOf = (value: unknown): string =>
  Array.isArray(value) ? value.join(", ") : String(value);
