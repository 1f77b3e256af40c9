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

const SHARED_FILE_TEXTS: Readonly<Record<string, string>> = {
  access: "tokens, users and sessions",
  keys: "the keys",
  settings: "the edited settings",
};

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
    message: ({ isHanging }) =>
      isHanging === true
        ? "the disk does not answer: the outcome is unknown; try again"
        : "the disk failed: the outcome is unknown; try again",
    hint: "check the disk; berth doctor shows details",
  },
  standby: {
    status: 503,
    message: ({ leader, url }) => {
      if (url !== undefined) return `this host is on standby: another host answers at ${url}`;
      return leader === undefined
        ? "this host is on standby, and no host of the pair is known to lead; try again"
        : `this host is on standby: host ${leader} of the pair answers; call that one`;
    },
    commandLineMessage: ({ leader }) =>
      leader === undefined
        ? "this host is on standby, and it is not known which host of the pair leads"
        : `this host is on standby: host ${leader} leads the pair`,
    hint: ({ leader }) =>
      leader === undefined
        ? "berth pair status shows both hosts"
        : `run the command on host ${leader}; berth pair status shows both hosts`,
  },
  log_unavailable: {
    status: 503,
    message: () => "the database of the pair cannot be used: the outcome is unknown; try again",
    hint: "check the database; berth pair status shows details",
  },
  pair_read_only: {
    status: 409,
    message: ({ leader }) =>
      `this folder belongs to a pair that host ${leader} led last: without the log of the pair, it can only be read`,
    hint: ({ leader }) =>
      `start the server of this host, and run the command on the host that leads: ${leader}, or as berth pair status says`,
    sample: { leader: "alpha" },
  },
  shared_file_too_large: {
    status: 409,
    message: ({ file, bytes }) =>
      `nothing was changed: the file with ${SHARED_FILE_TEXTS[file] ?? file} would be larger than ${bytes} bytes, which a pair cannot copy`,
    hint: "remove tokens, users and sessions that are not used: berth admin user list shows them",
    sample: { file: "access", bytes: 4_194_304 },
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
  too_many_jobs: {
    status: 503,
    message: ({ retryAfterSeconds: seconds }) =>
      `the server is busy with other long jobs; try again in ${seconds === 1 ? "a second" : `${seconds} seconds`}`,
    sample: { retryAfterSeconds: 12 },
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
