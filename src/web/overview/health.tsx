import type { StatusReply } from "../../http/reply/status.ts";
import { formatBytes, formatDate, formatNumber } from "../format.ts";
import { Facts, type Fact } from "../parts/facts.tsx";
import { linkTo } from "../router.ts";
import { overview } from "./overview-texts.ts";

/** The state of the server itself: disk, certificate, hardware. */
export function Health({ status }: { status: StatusReply }) {
  const { health } = overview;
  const { storage, appliance, certificate } = status;
  const free = storage.free_bytes === null ? "?" : formatBytes(storage.free_bytes);
  const facts: readonly Fact[] = [
    [
      health.disk,
      storage.fault === null ? (
        health.diskOk(free)
      ) : (
        <Bad>{health.diskFaults[storage.fault] ?? storage.fault}</Bad>
      ),
    ],
    [health.sync, `${storage.slowest_sync_ms} ms`],
    [health.changes, formatNumber(storage.seq)],
    [health.certificate, <Certificate certificate={certificate} />],
    [
      health.hardware,
      appliance.weak_binding ? health.weakBinding : health.bound(appliance.components.join(", ")),
    ],
    [health.version, status.version],
    [
      health.exposures,
      status.exposures.length === 0 ? (
        health.noExposures
      ) : (
        <a href={linkTo("settings", "network")}>{formatNumber(status.exposures.length)}</a>
      ),
    ],
  ];
  return (
    <section class="card health">
      <h3>{health.title}</h3>
      <Facts as="tiles" facts={facts} />
    </section>
  );
}

const Bad = ({ children }: { children: string }) => <span class="bad">{children}</span>;

function Certificate({ certificate }: Pick<StatusReply, "certificate">) {
  const { health } = overview;
  if (certificate === null) return health.noCertificate;
  const until = health.until(formatDate(certificate.expires_at));
  return certificate.state === "ok" ? until : <Bad>{until}</Bad>;
}
