import type { FaultRows } from "./fault-row.ts";
import type {
  AuditLogDamagedFault,
  AuditMaintenanceFault,
  MaintenanceFault,
  RequestFault,
  UnknownBackupFault,
} from "./fault-types.ts";

type StorageCode =
  | AuditLogDamagedFault["code"]
  | AuditMaintenanceFault["code"]
  | UnknownBackupFault["code"]
  | Exclude<MaintenanceFault["code"], RequestFault["code"]>;

/** The disk, the audit log, and the work of maintenance. */
export const STORAGE_FAULTS: FaultRows<StorageCode> = {
  storage_full: {
    status: 503,
    message: ({ isFileLimit }) =>
      isFileLimit === true
        ? "a file reached the server's file size limit (ulimit -f): nothing was changed; try again"
        : "the disk is full: nothing was changed; try again after space is available",
    hint: "free space on the disk of the data folder",
  },
  storage_failed: {
    status: 503,
    message: () => "the disk failed: the outcome is unknown; try again",
    hint: "check the disk; berth doctor shows details",
  },
  standby: {
    status: 503,
    message: () => "this host is on standby: another host of the pair answers; call that one",
    hint: "berth pair status shows which host leads",
  },
  log_unavailable: {
    status: 503,
    message: () => "the database of the pair cannot be reached: the outcome is unknown; try again",
    hint: "check the database; berth pair status shows details",
  },
  audit_log_damaged: {
    status: 503,
    message: ({ line }) =>
      `line ${line} of the audit log is damaged or missing; before=${line} shows older lines`,
    commandLineMessage: ({ line }) => `line ${line} of the audit log is damaged or missing`,
    hint: "berth verify shows what is damaged; berth audit repair repairs what can be repaired",
    sample: { line: 42 },
  },
  audit_month_empty: {
    status: 400,
    message: () => "the audit log has no lines of that month",
    hint: "berth audit --limit 1 shows the newest entry; months are in UTC",
  },
  audit_month_sealed: { status: 409, message: () => "that month is already sealed" },
  audit_month_damaged: {
    status: 409,
    message: ({ file }) =>
      `${file} of the audit log is damaged or does not match its neighbouring files; repair it first`,
    hint: "repair the audit log with berth audit repair",
    sample: { file: "2026-03.jsonl" },
  },
  audit_maintenance_incomplete: {
    status: 503,
    message: ({ reason }) =>
      `the change to the audit log is incomplete, and nothing is lost: ${reason}; ` +
      "correct that, then repeat the operation",
    hint: "check the disk with berth doctor",
    sample: { reason: "the disk is full" },
  },
  maintenance_failed: {
    status: 503,
    message: ({ reason }) => `the operation failed: ${reason}`,
    sample: { reason: "the disk is full" },
  },
  unknown_backup: {
    status: 400,
    message: () => "the backup folder has no backup of this name",
    field: "backup",
    hint: "berth backup list shows all names",
  },
  request_cancelled: {
    status: 408,
    message: () => "the request was cancelled before it was complete",
  },
};
