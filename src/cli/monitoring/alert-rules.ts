/** One alert rule of Prometheus. */
interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: "critical" | "warning" };
  readonly annotations: { readonly summary: string; readonly description: string };
}

const rule = (
  alert: string,
  severity: AlertRule["labels"]["severity"],
  duration: string | null,
  expr: string,
  summary: string,
  description: string,
): AlertRule => ({
  alert,
  expr,
  ...(duration !== null && { for: duration }),
  labels: { severity },
  annotations: { summary, description },
});

const LICENSE = "{{ $labels.product }}, license {{ $labels.license }}";
const FEATURE = "{{ $labels.product }}, feature {{ $labels.feature }}";
const SERVER = "{{ $labels.instance }}";

/** The server time is that of the licenses, also while the clock of Prometheus differs. */
const secondsUntil = (metric: string): string =>
  `${metric} - on (job, instance) group_left () berth_server_time_seconds`;

const DAY = 86_400;

/** Those of the two hosts of a pair; a host that is alone has none of these metrics. */
const PAIR_RULES: readonly AlertRule[] = [
  rule(
    "BerthPairNoLeader",
    "critical",
    "1m",
    "max by (job) (berth_pair_leader) == 0",
    "No host of the pair answers",
    "Applications get no slots. berth pair status on both hosts says why.",
  ),
  rule(
    "BerthPairNotReady",
    "critical",
    "1m",
    "berth_pair_ready == 0",
    `Berth on ${SERVER} can neither lead nor follow`,
    "Check the database of the pair, and run berth doctor on that host.",
  ),
  rule(
    "BerthPairHostSilent",
    "warning",
    "2m",
    "berth_pair_other_host_age_seconds > 60 or berth_pair_hosts < 2",
    `${SERVER} is without the other host of its pair`,
    "If it fails, no host takes over. Look at the service of the other host.",
  ),
  rule(
    "BerthPairBehind",
    "warning",
    "5m",
    "berth_pair_lines_behind > 10000",
    "The host on standby is {{ $value }} lines behind",
    "A takeover would take long. Check the disk and the load of that host.",
  ),
  rule(
    "BerthPairClockSkew",
    "warning",
    "5m",
    "berth_pair_clock_skew_seconds > 2",
    "The clocks of the pair differ by {{ $value }} seconds",
    "Above 10 seconds, handing over is refused. Let both hosts use the same NTP server.",
  ),
  rule(
    "BerthPairDatabaseAsync",
    "warning",
    "5m",
    "berth_pair_database_synchronous == 0",
    "The database of the pair has no strict synchronous standby",
    "If it fails, acknowledged changes are lost. berth status says what to set.",
  ),
  rule(
    "BerthPairLeaderChanges",
    "warning",
    null,
    "changes(berth_pair_epoch[30m]) > 3",
    "The leader of the pair changes again and again",
    "More than three times in half an hour. Check the database and the network to it.",
  ),
];

/** The rules assume that the scrape job is called berth. */
export const ALERT_RULES: readonly AlertRule[] = [
  ...PAIR_RULES,
  rule(
    "BerthDown",
    "critical",
    "5m",
    'up{job="berth"} == 0',
    `Berth on ${SERVER} does not answer`,
    "Applications get no slots. Look at the service: systemctl status berth, journalctl -u berth.",
  ),
  rule(
    "BerthReadOnly",
    "critical",
    "1m",
    "berth_read_only == 1",
    `Berth on ${SERVER} cannot write`,
    "No change is accepted: the disk is full, failed or does not answer. Run berth doctor.",
  ),
  rule(
    "BerthRestartLoop",
    "critical",
    null,
    "changes(berth_process_start_time_seconds[30m]) > 3",
    `Berth on ${SERVER} restarts again and again`,
    "It started more than three times in half an hour. Look at its log: journalctl -u berth.",
  ),
  rule(
    "BerthLicenseInvalid",
    "critical",
    "5m",
    "berth_license_valid == 0",
    `A license refuses: ${LICENSE}`,
    "It has ended, has not begun, or is for other hardware. berth status names the reason.",
  ),
  rule(
    "BerthLicenseExpiring",
    "warning",
    "1h",
    `${secondsUntil("berth_license_end_timestamp_seconds")} < 30 * ${DAY}`,
    `A license ends within 30 days: ${LICENSE}`,
    "Request a renewal: berth license request.",
  ),
  rule(
    "BerthSlotsFull",
    "warning",
    "30m",
    "berth_license_slots_in_use >= berth_license_slots and berth_license_slots > 0",
    `All slots are in use: ${LICENSE}`,
    "They were in use for 30 minutes. berth slots lists the holders.",
  ),
  rule(
    "BerthFeatureSlotsFull",
    "warning",
    "30m",
    "berth_feature_slots_in_use >= berth_feature_slots and berth_feature_slots > 0",
    `All slots of a feature are in use: ${FEATURE}`,
    "They were in use for 30 minutes.",
  ),
  rule(
    "BerthDenials",
    "warning",
    null,
    "increase(berth_denied_episodes_total[1h]) > 5",
    "More than 5 needs for {{ $labels.product }} were not met at once in an hour",
    "berth report shows who was denied, and berth report what-if how many slots are needed.",
  ),
  rule(
    "BerthFeatureDenials",
    "warning",
    null,
    "increase(berth_feature_denied_episodes_total[1h]) > 5",
    `More than 5 needs for a feature were not met at once in an hour: ${FEATURE}`,
    "berth report shows who was denied.",
  ),
  rule(
    "BerthQueueLong",
    "warning",
    "30m",
    "berth_queue_waiting > 10",
    "More than 10 users wait for {{ $labels.product }}",
    "They waited for 30 minutes. berth queue lists them, and berth slots the holders.",
  ),
  rule(
    "BerthQueueSlow",
    "warning",
    "10m",
    "histogram_quantile(0.9, sum by (job, instance, product, le) " +
      "(rate(berth_queue_wait_duration_seconds_bucket[1h]))) > 3600",
    "One of ten users waits more than an hour for {{ $labels.product }}",
    "berth report what-if says how many slots are needed.",
  ),
  rule(
    "BerthConsumptionHigh",
    "warning",
    "10m",
    "berth_license_consumption > 0.9 * berth_license_consumption_limit",
    `More than 90 % of the consumption is used: ${LICENSE}`,
    "Request more from the vendor, before requests are refused.",
  ),
  rule(
    "BerthDiskLow",
    "warning",
    "10m",
    "berth_disk_free_bytes < 2 * berth_disk_required_bytes or berth_disk_free_bytes < 256 * 2^20",
    `The disk of Berth on ${SERVER} has little space`,
    "{{ $value | humanize1024 }}B are free. If it fills up, no change is accepted.",
  ),
  rule(
    "BerthSlowSync",
    "warning",
    "10m",
    "histogram_quantile(0.99, sum by (job, instance, le) " +
      "(rate(berth_journal_sync_duration_seconds_bucket[5m]))) > 0.5",
    `The disk of Berth on ${SERVER} is slow`,
    "One of a hundred syncs takes {{ $value | humanizeDuration }}, and every change waits for one.",
  ),
  rule(
    "BerthCheckpointFailing",
    "warning",
    "15m",
    "berth_checkpoint_failing == 1",
    `Checkpoints of Berth on ${SERVER} fail`,
    "The journal grows until one succeeds. berth status says why.",
  ),
  rule(
    "BerthBackupFailing",
    "warning",
    "1h",
    "berth_backup_failing == 1",
    `Backups of Berth on ${SERVER} fail or are overdue`,
    "berth backup list shows what there is; berth backup now makes one.",
  ),
  rule(
    "BerthBackupOld",
    "warning",
    "1h",
    `berth_backup_age_seconds > 8 * ${DAY}`,
    `The newest backup of Berth on ${SERVER} is old`,
    "It is {{ $value | humanizeDuration }} old.",
  ),
  rule(
    "BerthClockWrong",
    "warning",
    "10m",
    'berth_clock_state{state!="ok"} == 1',
    `The system clock of ${SERVER} is wrong`,
    "Its state is {{ $labels.state }}. berth clock explains it.",
  ),
  rule(
    "BerthCertificateExpiring",
    "warning",
    "1h",
    `${secondsUntil("berth_certificate_end_timestamp_seconds")} < 14 * ${DAY}`,
    `The TLS certificate of ${SERVER} ends within 14 days`,
    "berth tls init makes a new one; see TLS in berth help guide.",
  ),
  rule(
    "BerthServerErrors",
    "warning",
    "5m",
    // A host on standby refuses every request with 503: clients try both hosts.
    "sum by (job, instance) " +
      '(rate(berth_http_request_duration_seconds_count{status="5xx"}[5m])) > 0.1 ' +
      "unless on (job, instance) berth_pair_leader == 0",
    `Berth on ${SERVER} answers with server errors`,
    "{{ $value | humanize }} a second. Look at its log: journalctl -u berth.",
  ),
];

/** The content of a rule file. */
export const ruleFile = () => ({ groups: [{ name: "berth", rules: ALERT_RULES }] });

/** The rules as YAML. A text in double quotes is the same in JSON and in YAML. */
export function formatRules(): string {
  const lines = ["groups:", "  - name: berth", "    rules:"];
  for (const { alert, expr, for: duration, labels, annotations } of ALERT_RULES) {
    lines.push(`      - alert: ${alert}`, `        expr: ${JSON.stringify(expr)}`);
    if (duration !== undefined) lines.push(`        for: ${duration}`);
    lines.push("        labels:", `          severity: ${labels.severity}`);
    lines.push("        annotations:");
    for (const [name, text] of Object.entries(annotations)) {
      lines.push(`          ${name}: ${JSON.stringify(text)}`);
    }
  }
  return lines.join("\n");
}
