import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call, sentenceOf } from "../api.ts";
import { when } from "../format.ts";
import { Notice } from "../parts/notice.tsx";
import { licenses as say } from "../texts/licenses.ts";

interface Recorded {
  readonly seq: number;
  readonly at: string;
  readonly type: string;
  readonly peer: string | null;
  readonly detail: string | null;
}

const TYPES = "LicenseInstalled,LicenseRemoved";

/** How it came, and every renewal; read anew when its serial grows. */
export function History({ id, serial }: { id: number; serial: number }) {
  const events = useSignal<readonly Recorded[] | null>(null);
  const wrong = useSignal("");
  useEffect(() => {
    read(id).then(
      (found) => (events.value = found),
      (error: unknown) => (wrong.value = sentenceOf(error)),
    );
  }, [id, serial]);
  return (
    <section class="card">
      <h3>{say.history}</h3>
      {wrong.value !== "" && <Notice kind="warn">{wrong.value}</Notice>}
      {events.value?.length === 0 && <p class="quiet">{say.historyNone}</p>}
      {events.value !== null && events.value.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">{say.at}</th>
              <th scope="col">{say.event}</th>
              <th scope="col">{say.by}</th>
            </tr>
          </thead>
          <tbody>
            {events.value.map(({ seq, at, type, peer }) => (
              <tr key={seq}>
                <td>{when(at)}</td>
                <td>{say.events[type] ?? type}</td>
                <td>{peer}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

async function read(id: number): Promise<readonly Recorded[]> {
  const response = await call(`/api/admin/v1/record?license_id=${id}&type=${TYPES}`);
  return ((await response.json()) as { readonly events: readonly Recorded[] }).events;
}
