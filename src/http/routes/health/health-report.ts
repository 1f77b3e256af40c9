import { instant, type Instant } from "../../../domain/time.ts";
import type {
  ApplianceOverview,
  StorageHealth,
  StorageStatus,
} from "../../../operations/health/appliance-status.ts";
import {
  assessHealth,
  assessStandby,
  type HostFacts,
} from "../../../operations/health/assess-health.ts";
import type { License } from "../../../domain/model/state.ts";
import type { HealthReport } from "../../../operations/health/finding.ts";
import type { PairHostStatus, PairStatus } from "../../../operations/pair/pair-status.ts";
import type { Services } from "../../services.ts";

export type HealthSources = Pick<
  Services,
  | "access"
  | "applianceStatus"
  | "auditMaintenance"
  | "certificate"
  | "fullCheck"
  | "hostMove"
  | "identity"
  | "leadership"
  | "pairMembership"
  | "runningServer"
  | "serverAccess"
  | "siteSettings"
  | "timekeeping"
  | "usageUpdates"
>;

/** What an operator should know now, from all that the server knows. */
export function createHealthReport(
  sources: HealthSources,
  { kind, now, licenses, statements, trust, sharing, storeStatus }: ApplianceOverview,
  storageHealth: StorageHealth,
): HealthReport {
  const { identity } = sources;
  const pair = sources.pairMembership.status();
  const host = collectHostFacts(sources, { now, storeStatus, storageHealth });
  return assessHealth({
    ...host,
    clock: sources.timekeeping.view(),
    licenses: licenses.map((license) => ({
      ...license,
      missingHardware: identity.matchHardware(license).missingKinds,
      pairHosts: findPairHosts(license, pair),
    })),
    statements,
    trust,
    sharing,
    movedAwayAt: sources.hostMove.findRetirement()?.at ?? null,
    tokens: sources.access.list().tokens,
    // The data of a demo is not needed again.
    backups: kind === "demo" ? null : host.backups,
  });
}

/** The same of a host of a pair that does not answer for the site now. */
export const createStandbyReport = (sources: HealthSources): HealthReport =>
  assessStandby(
    collectHostFacts(sources, {
      now: sources.timekeeping.view().now,
      storeStatus: sources.applianceStatus.storageStatus(),
      storageHealth: sources.applianceStatus.storageHealth(),
    }),
  );

interface StorageReading {
  readonly now: Instant;
  readonly storeStatus: StorageStatus;
  readonly storageHealth: StorageHealth;
}

function collectHostFacts(
  sources: HealthSources,
  { now, storeStatus, storageHealth: { warnings, freeBytes } }: StorageReading,
): HostFacts {
  const { identity, applianceStatus } = sources;
  const { hardware, weak } = identity.hashHardware();
  const certificate = sources.certificate();
  return {
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
    hardware: { isWeak: weak, components: hardware.map(({ kind }) => kind) },
    access: sources.serverAccess(),
    certificateEndsAt: certificate === null ? null : instant(certificate.endsAt),
    backups: sources.runningServer?.backups.status() ?? null,
    notificationFailures: sources.runningServer?.notifier.failures() ?? [],
    usageError: sources.usageUpdates.error,
    fullCheck: sources.fullCheck(),
    pair: sources.pairMembership.status(),
  };
}

/** Which hosts of the pair a license names. */
function findPairHosts({ grant }: Pick<License, "grant">, pair: PairStatus | null) {
  if (pair === null) return null;
  const ids = grant.hosts?.map(({ hardwareId }) => hardwareId) ?? [grant.hardwareId];
  const isLicensed = ({ hardwareId }: PairHostStatus): boolean =>
    hardwareId !== null && ids.includes(hardwareId);
  const [licensed, others] = [
    pair.hosts.filter(isLicensed),
    pair.hosts.filter((host) => !isLicensed(host)),
  ].map((hosts) => hosts.map(({ name }) => name));
  return { licensed: licensed ?? [], others: others ?? [] };
}
