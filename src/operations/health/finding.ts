/** From the most to the least severe. */
export const SEVERITIES = ["error", "warning", "note"] as const;

/**
 * error: something does not work now. warning: something will stop working or is unsafe, and an
 * operator should act. note: worth knowing; no action is needed.
 */
export type Severity = (typeof SEVERITIES)[number];

/** What a running server knows at any time, without reading the whole data folder. */
export const SERVER_CODES = [
  "disk_full",
  "disk_failed",
  "disk_low",
  "disk_slow",
  "file_size_limit",
  "checkpoint_failing",
  "checkpoint_slow",
  "state_missing",
  "audit_damaged",
  "data_recovered",
  "clock_suspect",
  "clock_behind",
  "clock_ahead",
  "moved_away",
  "license_missing",
  "license_expired",
  "license_refused",
  "license_not_started",
  "license_expiring",
  "license_moved",
  "license_restored",
  "license_one_host",
  "license_key_retired",
  "trust_changed",
  "hardware_drift",
  "slots_full",
  "consumption_over",
  "usage_failing",
  "statement_due",
  "statement_unacknowledged",
  "rules_over_reserved",
  "rules_unmatched",
  "rules_advisory",
  "weak_binding",
  "certificate_expired",
  "certificate_expiring",
  "token_expired",
  "token_expiring",
  "token_no_expiry",
  "admin_open",
  "clients_open",
  "networks_wide",
  "plain_http",
  "plain_credentials",
  "metrics_open",
  "backup_none",
  "backup_failed",
  "backup_overdue",
  "backup_same_disk",
  "pair_log_unreachable",
  "pair_cannot_follow",
  "pair_files_differ",
  "pair_single_host",
  "pair_host_silent",
  "pair_host_behind",
  "pair_clock_skew",
  "pair_versions_differ",
  "pair_database_async",
  "pair_database_loose",
  "pair_database_unencrypted",
  "pair_leader_changed",
  "pair_same_machine",
  "notification_failed",
  "check_failed",
] as const;

/** What only the checks of `berth doctor` find: they read the data folder and ask the system. */
export const INSTALLATION_CODES = [
  "settings_invalid",
  "folder_missing",
  "folder_readable",
  "folder_not_writable",
  "backup_dir_unusable",
  "on_event_unusable",
  "file_system_unsafe",
  "sync_slow",
  "data_damaged",
  "usage_outdated",
  "copy_served",
  "server_unreachable",
  "port_closed",
  "port_taken",
  "firewall_closed",
  "certificate_invalid",
  "service_missing",
  "service_other_folder",
  "service_stopped",
  "service_unknown",
  "service_restarted",
  "service_disabled",
  "pair_database_refused",
] as const;

export type FindingCode = (typeof SERVER_CODES)[number] | (typeof INSTALLATION_CODES)[number];

/** Something an operator should know. The code is stable; the texts are for people. */
export interface Finding {
  readonly code: FindingCode;
  readonly severity: Severity;
  readonly summary: string;
  /** What to do about it; empty: nothing. */
  readonly remedy: string;
  /** The command that does it; null: no single command does. */
  readonly command: string | null;
  /** The product, the token, or the like that it is about; null: the server itself. */
  readonly subject: string | null;
}

/** The checks of the server itself; those of the installation have other names. */
const SERVER_CHECKS = [
  "storage",
  "clock",
  "licenses",
  "hardware",
  "certificate",
  "tokens",
  "exposures",
  "backups",
  "pair",
] as const;

/** A check that found nothing that needs an action. */
export interface PassedCheck {
  readonly check:
    | (typeof SERVER_CHECKS)[number]
    | "settings"
    | "permissions"
    | "file_system"
    | "disk_speed"
    | "data"
    | "usage"
    | "port"
    | "firewall"
    | "notifications"
    | "service"
    | "pair_database";
  readonly summary: string;
}

export interface HealthReport {
  readonly findings: readonly Finding[];
  readonly passed: readonly PassedCheck[];
}

type Details = Pick<Finding, "summary" | "remedy"> & Partial<Pick<Finding, "command" | "subject">>;

export const createFinding = (
  code: FindingCode,
  severity: Severity,
  { summary, remedy, command = null, subject = null }: Details,
): Finding => ({ code, severity, summary, remedy, command, subject });

/** The report of one check that found something. */
export const findingReport = (...args: Parameters<typeof createFinding>): HealthReport => ({
  findings: [createFinding(...args)],
  passed: [],
});

/** The report of one check that passed. */
export const passedReport = (check: PassedCheck["check"], summary: string): HealthReport => ({
  findings: [],
  passed: [{ check, summary }],
});

/** The most severe first; among equals, the order in which they were found. */
const sortFindings = (findings: readonly Finding[]): Finding[] =>
  findings.toSorted((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));

const serverCodes = new Set<string>(SERVER_CODES);
const serverChecks = new Set<string>(SERVER_CHECKS);

/** What the server itself knows, without a check of the whole installation. */
export const selectServerPart = ({ findings, passed }: HealthReport): HealthReport => ({
  findings: findings.filter(({ code }) => serverCodes.has(code)),
  passed: passed.filter(({ check }) => serverChecks.has(check)),
});

/** What only a check of the whole installation finds. */
export const selectInstallationPart = ({ findings, passed }: HealthReport): HealthReport => ({
  findings: findings.filter(({ code }) => !serverCodes.has(code)),
  passed: passed.filter(({ check }) => !serverChecks.has(check)),
});

/** Several reports as one. */
export const mergeReports = (reports: readonly HealthReport[]): HealthReport => ({
  findings: sortFindings(reports.flatMap(({ findings }) => findings)),
  passed: reports.flatMap(({ passed }) => passed),
});

/** Null: nothing was found. */
export const worstSeverity = (findings: readonly Pick<Finding, "severity">[]): Severity | null =>
  SEVERITIES.find((severity) => findings.some((finding) => finding.severity === severity)) ?? null;

/**
 * Messages begin in lower case; a summary stands alone, and begins as a sentence does. The name of
 * a setting, a file, a host or of Berth stays as it is.
 */
export const capitalize = (text: string): string =>
  text.replace(/^(?!berth )[a-z](?=[a-z]* )/, (letter) => letter.toUpperCase());
