import { instant, SECOND } from "../../../domain/time.ts";
import type { Instant } from "../../../domain/time.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import { version } from "../../../platform/embedded/version.ts";
import { unwrap } from "../../faults.ts";
import type { CertificateView, Services } from "../../services.ts";
import { backupsStatus } from "../backups/backups-status.ts";
import { reportReply } from "./findings.ts";
import { createHealthReport, type HealthSources } from "./health-report.ts";
import { pairReply } from "../pair/pair-reply.ts";
import { queueStatusReply } from "../queue/queue-reply.ts";
import type { StatusReply } from "./status-schema.ts";
import { rfc3339OrNull } from "../../timestamps.ts";

/** The reply of GET status, and of each line of the status stream. */
export async function statusReply(
  sources: HealthSources & Pick<Services, "commandLine" | "queue">,
): Promise<StatusReply> {
  const { applianceStatus, hostMove, identity, commandLine, runningServer } = sources;
  const storageHealth = applianceStatus.storageHealth();
  const { warnings, freeBytes, slowestSyncMs } = storageHealth;
  const overview = unwrap(await applianceStatus.read());
  const { kind, now, createdAt, storeStatus, auditGaps, licenses, refusals, rules } = overview;
  const fullCheck = sources.fullCheck();
  const { siteName, expiryWarningDays } = sources.siteSettings();
  return {
    version,
    site_name: siteName,
    expiry_warning_days: expiryWarningDays,
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
      warnings: [...warnings],
      free_bytes: freeBytes,
      slowest_sync_ms: Math.round(slowestSyncMs * 10) / 10,
    },
    licenses: licenses.map(
      ({ id, terms, grant, refusal, movedUntil, restoredUntil, slotsInUse, holds, total }) => ({
        license_id: id,
        product: terms.product,
        license_type: terms.type,
        validity_period: rfc3339OrNull(terms.validUntil),
        refusal,
        moved_until: rfc3339OrNull(movedUntil),
        restored_until: rfc3339OrNull(restoredUntil),
        vendor: grant.vendor,
        serial: grant.serial,
        key: grant.key,
        key_until: rfc3339(instant(grant.keyUntil * SECOND)),
        hardware_drift: [...identity.matchHardware({ grant }).missingKinds],
        floating_users: terms.slots,
        floating_slots_in_use: slotsInUse,
        floating_slots_held: holds,
        max_consumptions: terms.consumption?.max ?? null,
        total_consumptions: total,
        allow_unlimited_consumptions: terms.consumption !== null && terms.consumption.max === null,
      }),
    ),
    command_line: {
      executable: commandLine.executable,
      needs_sudo: commandLine.needsSudo,
      data_folder: commandLine.dataFolder,
    },
    ...reportReply(createHealthReport(sources, overview, storageHealth)),
    checked_at: rfc3339OrNull(fullCheck?.at ?? null),
    certificate: certificateReply(sources.certificate()),
    backups: runningServer && backupsStatus(runningServer.backups.status()),
    queue: queueStatusReply(sources.queue.summarize()),
    ...pairReply(sources.pairMembership.status()),
    rules: rules && { digest: rules.digest, reservations: [...rules.reservations] },
    refusals: refusals.map(({ product, feature, code, count }) => ({
      product,
      feature,
      code,
      count,
    })),
  };
}

const certificateReply = (view: CertificateView | null): StatusReply["certificate"] =>
  view === null ? null : { expires_at: rfc3339(view.endsAt as Instant), state: view.state };
