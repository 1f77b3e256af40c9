import type { Metric } from "../../platform/metrics/metric.ts";

/** The metrics of the server itself: storage, backups, clock, requests and process. */
export const SERVER_METRICS = {
  journalSyncs: {
    name: "berth_journal_sync_duration_seconds",
    type: "histogram",
    unit: "seconds",
    help: "How long the syncs of the journal took. Every change waits for one.",
    labels: [],
  },
  unfinishedSync: {
    name: "berth_journal_unfinished_sync_seconds",
    type: "gauge",
    unit: "seconds",
    help: "For how long the sync of the journal that is under way has not returned, else 0.",
    labels: [],
  },
  journalSize: {
    name: "berth_journal_size_bytes",
    type: "gauge",
    unit: "bytes",
    help: "Size of the open journal file.",
    labels: [],
  },
  checkpointAge: {
    name: "berth_checkpoint_age_seconds",
    type: "gauge",
    unit: "seconds",
    help: "Time since the last checkpoint succeeded, or since the start if none did.",
    labels: [],
  },
  checkpointFailing: {
    name: "berth_checkpoint_failing",
    type: "gauge",
    help: "1 if the last checkpoint failed, else 0.",
    labels: [],
  },
  diskFree: {
    name: "berth_disk_free_bytes",
    type: "gauge",
    unit: "bytes",
    help: "Free space on the disk of the data folder.",
    labels: [],
  },
  diskRequired: {
    name: "berth_disk_required_bytes",
    type: "gauge",
    unit: "bytes",
    help: "Space that the next checkpoint needs, with a reserve.",
    labels: [],
  },
  readOnly: {
    name: "berth_read_only",
    type: "gauge",
    help: "1 while no change can be written, because the disk is full or failed, else 0.",
    labels: [],
  },
  warnings: {
    name: "berth_storage_warning",
    type: "gauge",
    help: "1 for each warning about the data folder that berth status shows, else 0.",
    labels: ["warning"],
  },

  backupAge: {
    name: "berth_backup_age_seconds",
    type: "gauge",
    unit: "seconds",
    help: "Age of the newest scheduled backup. Absent if there is none.",
    labels: [],
  },
  backupFailing: {
    name: "berth_backup_failing",
    type: "gauge",
    help: "1 if the last backup failed or is overdue, else 0.",
    labels: [],
  },
  backupScheduled: {
    name: "berth_backup_scheduled",
    type: "gauge",
    help: "1 if backups are made by a schedule, else 0.",
    labels: [],
  },

  clockState: {
    name: "berth_clock_state",
    type: "gauge",
    help: "1 for the state of the system clock: ok, behind, suspect or ahead; 0 for the others.",
    labels: ["state"],
  },
  clockOffset: {
    name: "berth_clock_offset_seconds",
    type: "gauge",
    unit: "seconds",
    help: "The system clock minus the server time, which licenses follow.",
    labels: [],
  },
  serverTime: {
    name: "berth_server_time_seconds",
    type: "gauge",
    unit: "seconds",
    help: "The server time, which licenses follow, in seconds since 1970.",
    labels: [],
  },
  certificateEnd: {
    name: "berth_certificate_end_timestamp_seconds",
    type: "gauge",
    unit: "seconds",
    help: "When the TLS certificate ends. Absent without TLS.",
    labels: [],
  },

  httpRequests: {
    name: "berth_http_request_duration_seconds",
    type: "histogram",
    unit: "seconds",
    help: "How long requests took, by route and status class.",
    labels: ["route", "status"],
  },

  processCpu: {
    name: "berth_process_cpu_seconds",
    type: "counter",
    unit: "seconds",
    help: "Processor time of the server process.",
    labels: [],
  },
  processMemory: {
    name: "berth_process_resident_memory_bytes",
    type: "gauge",
    unit: "bytes",
    help: "Resident memory of the server process.",
    labels: [],
  },
  processStart: {
    name: "berth_process_start_time_seconds",
    type: "gauge",
    unit: "seconds",
    help: "When the server process started, in seconds since 1970.",
    labels: [],
  },
} as const satisfies Readonly<Record<string, Metric>>;
