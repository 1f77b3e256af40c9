import type { StatusReply } from "../../http/status.ts";
import { bytes, date, number } from "../format.ts";
import { linkTo } from "../router.ts";
import { overview } from "../texts/overview.ts";

/** The machine under it all. */
export function Health({ known }: { known: StatusReply }) {
  const { health } = overview;
  const { storage, appliance, certificate } = known;
  const free = storage.free_bytes === null ? "?" : bytes(storage.free_bytes);
  const facts: readonly (readonly [name: string, value: string, bad?: boolean])[] = [
    [health.disk, storage.fault ?? health.diskOk(free), storage.fault !== null],
    [health.sync, `${storage.slowest_sync_ms} ms`],
    [health.changes, number(storage.seq)],
    [
      health.certificate,
      certificate === null ? health.noCertificate : health.until(date(certificate.ends_at)),
      certificate !== null && certificate.state !== "ok",
    ],
    [
      health.hardware,
      appliance.weak_binding ? health.weak : health.bound(appliance.components.join(", ")),
    ],
    [health.version, known.version],
  ];
  return (
    <section class="card health">
      <h3>{health.title}</h3>
      <dl>
        {facts.map(([name, value, bad]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class={bad === true ? "bad" : ""}>{value}</dd>
          </div>
        ))}
        <div>
          <dt>{health.doors}</dt>
          <dd>
            {known.doors.length === 0 ? (
              health.noDoors
            ) : (
              <a href={linkTo("settings", "doors")}>{number(known.doors.length)}</a>
            )}
          </dd>
        </div>
      </dl>
    </section>
  );
}
