import { instant } from "../../domain/time.ts";
import type { ApplianceOverview, StorageHealth } from "../../operations/appliance-status.ts";
import { assessHealth } from "../../operations/health/assess-health.ts";
import type { HealthReport } from "../../operations/health/finding.ts";
import type { Services } from "../services.ts";

export type HealthSources = Pick<
  Services,
  | "access"
  | "applianceStatus"
  | "auditMaintenance"
  | "certificate"
  | "fullCheck"
  | "hostMove"
  | "identity"
  | "runningServer"
  | "serverAccess"
  | "siteSettings"
  | "timekeeping"
  | "usageUpdates"
>;

/** What an operator should know now, from all that the server knows. */
export function createHealthReport(
  sources: HealthSources,
  { kind, now, licenses, statements, sharing, storeStatus }: ApplianceOverview,
  { warnings, freeBytes }: StorageHealth,
): HealthReport {
  const { identity, applianceStatus } = sources;
  const { hardware, weak } = identity.hashHardware();
  const certificate = sources.certificate();
  return assessHealth({
    now,
    warningDays: sources.siteSettings().expiryWarningDays,
    storage: {
      folder: applianceStatus.folder,
      fault: storeStatus.fault,
      warnings,
      freeBytes,
      recoveryNotes: storeStatus.notes,
      auditFinding: sources.auditMaintenance.finding,
    },
    clock: sources.timekeeping.view(),
    licenses: licenses.map((license) => ({
      ...license,
      missingHardware: identity.matchHardware(license).missingKinds,
    })),
    statements,
    sharing,
    hardware: { isWeak: weak, components: hardware.map(({ kind }) => kind) },
    movedAwayAt: sources.hostMove.findRetirement()?.at ?? null,
    tokens: sources.access.list().tokens,
    access: sources.serverAccess(),
    certificateEndsAt: certificate === null ? null : instant(certificate.endsAt),
    // The data of a demo is not needed again.
    backups: kind === "demo" ? null : (sources.runningServer?.backups.status() ?? null),
    notificationFailures: sources.runningServer?.notifier.failures() ?? [],
    usageError: sources.usageUpdates.error,
    fullCheck: sources.fullCheck(),
  });
}
