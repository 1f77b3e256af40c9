import type { Instant } from "../../domain/time.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { version } from "../../platform/embedded/version.ts";
import { unwrap } from "../faults.ts";
import type { CertificateView, Services } from "../services.ts";
import type { StatusReply } from "./status.ts";
import { rfc3339OrNull } from "../timestamps.ts";

type StatusSources = Pick<
  Services,
  "applianceStatus" | "hostMove" | "identity" | "exposures" | "certificate"
>;

/** The reply of GET status, and of each line of the status stream. */
export async function statusReply({
  applianceStatus,
  hostMove,
  identity,
  exposures,
  certificate,
}: StatusSources): Promise<StatusReply> {
  const { warnings, freeBytes, slowestSyncMs } = applianceStatus.storageHealth();
  const { kind, now, createdAt, storeStatus, auditGaps, licenses, refusals } = unwrap(
    await applianceStatus.read(),
  );
  return {
    version,
    kind,
    pid: process.pid,
    now: rfc3339(now),
    created_at: rfc3339(createdAt),
    moved_away_at: rfc3339OrNull(hostMove.findRetirement()?.at ?? null),
    appliance: {
      id: identity.id,
      hardware_id: identity.hashHardware().hardwareId,
      components: identity.hashHardware().hardware.map(({ kind }) => kind),
      weak_binding: identity.hashHardware().weak,
    },
    storage: {
      fault: storeStatus.fault?.code ?? null,
      checkpoint_error: storeStatus.checkpointError,
      recovery_notes: [...storeStatus.notes],
      seq: storeStatus.seq,
      audit_seq: storeStatus.auditSeq,
      audit_gaps: auditGaps.map(({ reason, from, to, at }) => ({
        reason,
        from_line: from,
        to_line: to,
        declared_at: rfc3339(at),
      })),
      journal_bytes: storeStatus.journalBytes,
      warnings: warnings.map(({ code, message }) => ({ code, message })),
      free_bytes: freeBytes,
      slowest_sync_ms: Math.round(slowestSyncMs * 10) / 10,
    },
    licenses: licenses.map(({ id, terms, grant, refusal, movedUntil, slotsInUse, total }) => ({
      license_id: id,
      product: terms.product,
      license_type: terms.type,
      validity_period: rfc3339OrNull(terms.validUntil),
      refusal,
      moved_until: rfc3339OrNull(movedUntil),
      vendor: grant.vendor,
      serial: grant.serial,
      hardware_drift: [...identity.matchHardware({ grant }).missingKinds],
      floating_users: terms.slots,
      floating_slots_in_use: slotsInUse,
      max_consumptions: terms.consumption?.max ?? null,
      total_consumptions: total,
      allow_unlimited_consumptions: terms.consumption !== null && terms.consumption.max === null,
    })),
    exposures: exposures().map(({ finding, remedy }) => ({ finding, remedy })),
    certificate: certificateReply(certificate()),
    refusals: refusals.map(({ product, code, count }) => ({ product, code, count })),
  };
}

const certificateReply = (view: CertificateView | null): StatusReply["certificate"] =>
  view === null ? null : { expires_at: rfc3339(view.endsAt as Instant), state: view.state };
