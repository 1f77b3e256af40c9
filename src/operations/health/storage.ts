import type { AuditFinding } from "../../store/audit/audit-health.ts";
import {
  isDiskFault,
  isHangingDisk,
  type StorageFault,
} from "../../store/journal/storage-fault.ts";
import type { StoreHealth, StoreWarning } from "../../store/store-health.ts";
import { quoteIfNeeded } from "../../platform/shell-quote.ts";
import { capitalize, createFinding, type Finding, type HealthReport } from "./finding.ts";

export interface StorageFacts extends Pick<StoreHealth, "warnings" | "freeBytes"> {
  readonly folder: string;
  /** Why no change is accepted; null: changes are accepted. */
  readonly fault: StorageFault | null;
  /** What was repaired when the folder was opened. */
  readonly recoveryNotes: readonly string[];
  readonly auditFinding: AuditFinding | null;
}

const MIB = 1024 * 1024;
/** More than a checkpoint needs at most sites: enough time to free space before one fails. */
const LOW_FREE_BYTES = 256 * MIB;

export function checkStorage(facts: StorageFacts): HealthReport {
  const findings = [
    ...faultFindings(facts),
    ...facts.warnings.flatMap((warning) => warningFindings(warning, facts)),
    ...lowSpaceFindings(facts),
    ...facts.recoveryNotes.map((note) =>
      createFinding("data_recovered", "note", {
        summary: capitalize(note),
        remedy: "Nothing: the data folder was repaired; but only berth may change files in it",
      }),
    ),
  ];
  const isHealthy = findings.every(({ severity }) => severity === "note");
  return { findings, passed: isHealthy ? [{ check: "storage", summary: STORAGE_OK }] : [] };
}

const STORAGE_OK = "Changes are written, and the disk has enough free space";

function faultFindings({ fault, folder }: StorageFacts): Finding[] {
  if (fault === null || !isDiskFault(fault)) return [];
  if (fault.isFileLimit === true) {
    return [
      createFinding("file_size_limit", "error", {
        summary: `A file in ${folder} reached the file size limit: no changes are accepted`,
        remedy: "Raise the limit: ulimit -f, or LimitFSIZE= of the service",
      }),
    ];
  }
  if (fault.code === "storage_full") {
    return [
      createFinding("disk_full", "error", {
        summary: `Disk full: no changes are accepted until space is freed on ${folder}`,
        remedy: "Delete files that are not needed from that disk, or make it larger",
        command: `df -h ${quoteIfNeeded(folder)}`,
      }),
    ];
  }
  if (isHangingDisk(fault)) {
    return [
      createFinding("disk_failed", "error", {
        summary: `The disk of ${folder} does not answer: calls wait, or are refused`,
        remedy:
          "Check the disk, or the network to it; the server continues by itself when it answers",
      }),
    ];
  }
  return [
    createFinding("disk_failed", "error", {
      summary: `The disk of ${folder} failed: no changes are accepted`,
      remedy: "Check the disk and the server's log, then restart the server",
    }),
  ];
}

/** The fault says the same, and more. */
const isCoveredByFault = (code: StoreWarning["code"], fault: StorageFault | null): boolean =>
  isDiskFault(fault) &&
  (code === "disk_low" ||
    (code === "disk_slow" && isHangingDisk(fault)) ||
    (code === "file_size_limit" && fault?.isFileLimit === true));

function warningFindings(
  { code, message }: StoreWarning,
  { fault, folder, auditFinding }: StorageFacts,
): Finding[] {
  if (isCoveredByFault(code, fault)) return [];
  if (code === "audit_damaged" && auditFinding !== null) {
    const { message: damage, hint } = auditFinding;
    return [
      createFinding("audit_damaged", "warning", {
        summary: capitalize(damage),
        remedy: capitalize(hint),
      }),
    ];
  }
  const remedies: Readonly<Record<StoreWarning["code"], string>> = {
    disk_low: `Free space on the disk of ${folder}`,
    disk_slow: "Find what else uses the disk, or use a faster one",
    checkpoint_failing: "Remove the cause; the server tries again by itself",
    checkpoint_slow: "Check the disk for errors and for other load",
    state_missing: "Put the file back, or restore a backup: berth restore FILE",
    file_size_limit: "Raise the limit: ulimit -f, or LimitFSIZE= of the service",
    audit_damaged: "Run the integrity check for details",
  };
  return [createFinding(code, "warning", { summary: capitalize(message), remedy: remedies[code] })];
}

function lowSpaceFindings({ fault, warnings, freeBytes, folder }: StorageFacts): Finding[] {
  const isKnown = isDiskFault(fault) || warnings.some(({ code }) => code === "disk_low");
  if (isKnown || freeBytes === null || freeBytes >= LOW_FREE_BYTES) return [];
  return [
    createFinding("disk_low", "warning", {
      summary: `The disk of ${folder} has ${Math.floor(freeBytes / MIB)} MiB free`,
      remedy: "Free space on that disk: on a full disk no changes are accepted",
    }),
  ];
}
