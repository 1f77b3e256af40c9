// For each alert rule: series with which it fires, and series with which it does not.

interface AlertTest {
  readonly fires: Readonly<Record<string, string>>;
  readonly isQuiet: Readonly<Record<string, string>>;
}

const SERVER = 'job="berth",instance="a:1"';
const PRODUCT = `${SERVER},product="CAD"`;
const LICENSE = `${SERVER},product="CAD",license="1"`;
const FEATURE = `${SERVER},product="CAD",feature="RENDER"`;

/** The same value each minute for four hours. */
const constant = (value: number): string => `${value}+0x240`;
/** A value that grows each minute. */
const growing = (step: number): string => `0+${step}x240`;

const ERRORS = `berth_http_request_duration_seconds_count{${SERVER},route="/api/v4/register",status="5xx"}`;
const LEADS = `berth_pair_leader{${SERVER}}`;
const OTHER_LEADS = `berth_pair_leader{job="berth",instance="b:1"}`;

const DAY = 86_400;

const withTime = (series: Readonly<Record<string, string>>): Readonly<Record<string, string>> => ({
  [`berth_server_time_seconds{${SERVER}}`]: constant(0),
  ...series,
});

const disk = (free: number, required: number) => ({
  [`berth_disk_free_bytes{${SERVER}}`]: constant(free),
  [`berth_disk_required_bytes{${SERVER}}`]: constant(required),
});

const used = (kind: string, labels: string, inUse: number, slots: number) => ({
  [`berth_${kind}_slots_in_use{${labels}}`]: constant(inUse),
  [`berth_${kind}_slots{${labels}}`]: constant(slots),
});

/** One sync a second, of which so many in a thousand are slower than half a second. */
const syncs = (slowPerThousand: number) => ({
  [`berth_journal_sync_duration_seconds_bucket{${SERVER},le="0.01"}`]: growing(
    60 * (1 - slowPerThousand / 1_000),
  ),
  [`berth_journal_sync_duration_seconds_bucket{${SERVER},le="0.5"}`]: growing(
    60 * (1 - slowPerThousand / 1_000),
  ),
  [`berth_journal_sync_duration_seconds_bucket{${SERVER},le="1.0"}`]: growing(60),
  [`berth_journal_sync_duration_seconds_bucket{${SERVER},le="+Inf"}`]: growing(60),
});

/** One wait a minute, of which so many in a hundred are longer than an hour. */
const waits = (longPerHundred: number) => ({
  [`berth_queue_wait_duration_seconds_bucket{${PRODUCT},le="1800.0"}`]: growing(
    1 - longPerHundred / 100,
  ),
  [`berth_queue_wait_duration_seconds_bucket{${PRODUCT},le="7200.0"}`]: growing(1),
  [`berth_queue_wait_duration_seconds_bucket{${PRODUCT},le="+Inf"}`]: growing(1),
});

const one = (name: string, labels: string, fires: string, isQuiet: string): AlertTest => ({
  fires: { [`${name}{${labels}}`]: fires },
  isQuiet: { [`${name}{${labels}}`]: isQuiet },
});

const until = (name: string, labels: string, days: number) =>
  withTime({ [`${name}{${labels}}`]: constant(days * DAY) });

export const ALERT_TESTS: Readonly<Record<string, AlertTest>> = {
  BerthDown: one("up", SERVER, constant(0), constant(1)),
  BerthReadOnly: one("berth_read_only", SERVER, constant(1), constant(0)),
  // Five minutes between two starts, and four hours without one.
  BerthRestartLoop: one(
    "berth_process_start_time_seconds",
    SERVER,
    Array.from({ length: 240 }, (_, minute) => Math.floor(minute / 5) * 300).join(" "),
    constant(7),
  ),
  BerthLicenseInvalid: one("berth_license_valid", LICENSE, constant(0), constant(1)),
  BerthLicenseExpiring: {
    fires: until("berth_license_end_timestamp_seconds", LICENSE, 29),
    isQuiet: until("berth_license_end_timestamp_seconds", LICENSE, 31),
  },
  BerthSlotsFull: {
    fires: used("license", LICENSE, 3, 3),
    isQuiet: { ...used("license", LICENSE, 2, 3), ...used("license", `${LICENSE},x="0"`, 0, 0) },
  },
  BerthFeatureSlotsFull: {
    fires: used("feature", FEATURE, 1, 1),
    isQuiet: used("feature", FEATURE, 0, 1),
  },
  BerthDenials: one("berth_denied_episodes_total", PRODUCT, growing(0.2), growing(0.05)),
  BerthFeatureDenials: one(
    "berth_feature_denied_episodes_total",
    FEATURE,
    growing(0.2),
    growing(0.05),
  ),
  BerthQueueLong: one("berth_queue_waiting", PRODUCT, constant(11), constant(10)),
  BerthQueueSlow: { fires: waits(20), isQuiet: waits(5) },
  BerthConsumptionHigh: {
    fires: {
      [`berth_license_consumption{${LICENSE}}`]: constant(91),
      [`berth_license_consumption_limit{${LICENSE}}`]: constant(100),
    },
    isQuiet: {
      [`berth_license_consumption{${LICENSE}}`]: constant(90),
      [`berth_license_consumption_limit{${LICENSE}}`]: constant(100),
    },
  },
  BerthDiskLow: { fires: disk(3e9, 2e9), isQuiet: disk(5e9, 2e9) },
  BerthSlowSync: { fires: syncs(20), isQuiet: syncs(1) },
  BerthCheckpointFailing: one("berth_checkpoint_failing", SERVER, constant(1), constant(0)),
  BerthBackupFailing: one("berth_backup_failing", SERVER, constant(1), constant(0)),
  BerthBackupOld: one("berth_backup_age_seconds", SERVER, constant(9 * DAY), constant(7 * DAY)),
  BerthClockWrong: {
    fires: {
      [`berth_clock_state{${SERVER},state="ok"}`]: constant(0),
      [`berth_clock_state{${SERVER},state="behind"}`]: constant(1),
    },
    isQuiet: {
      [`berth_clock_state{${SERVER},state="ok"}`]: constant(1),
      [`berth_clock_state{${SERVER},state="behind"}`]: constant(0),
    },
  },
  BerthCertificateExpiring: {
    fires: until("berth_certificate_end_timestamp_seconds", SERVER, 13),
    isQuiet: until("berth_certificate_end_timestamp_seconds", SERVER, 15),
  },
  // A host on standby refuses with 503 what clients send to it first.
  BerthServerErrors: {
    fires: { [ERRORS]: growing(60), [`berth_pair_leader{${SERVER}}`]: constant(1) },
    isQuiet: { [ERRORS]: growing(60), [`berth_pair_leader{${SERVER}}`]: constant(0) },
  },
  BerthPairNoLeader: {
    fires: { [LEADS]: constant(0), [OTHER_LEADS]: constant(0) },
    isQuiet: { [LEADS]: constant(0), [OTHER_LEADS]: constant(1) },
  },
  BerthPairNotReady: one("berth_pair_ready", SERVER, constant(0), constant(1)),
  BerthPairHostSilent: one("berth_pair_other_host_age_seconds", SERVER, constant(61), constant(59)),
  BerthPairBehind: one("berth_pair_lines_behind", SERVER, constant(10_001), constant(10_000)),
  BerthPairClockSkew: one("berth_pair_clock_skew_seconds", SERVER, constant(2.5), constant(2)),
  BerthPairDatabaseAsync: one("berth_pair_database_synchronous", SERVER, constant(0), constant(1)),
  // A change every five minutes, and none.
  BerthPairLeaderChanges: one(
    "berth_pair_epoch",
    SERVER,
    Array.from({ length: 48 }, (_, change) => `${change}+0x4`).join(" "),
    constant(7),
  ),
};

/** The input of `promtool test rules`: whether each alert fires after three hours. */
export const alertTestFile = (ruleFile: string) => ({
  rule_files: [ruleFile],
  evaluation_interval: "1m",
  tests: Object.entries(ALERT_TESTS).flatMap(([alert, { fires, isQuiet }]) =>
    [
      { series: fires, firing: 1 },
      { series: isQuiet, firing: 0 },
    ].map(({ series, firing }) => ({
      interval: "1m",
      name: `${alert} ${firing === 1 ? "fires" : "does not fire"}`,
      input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
      promql_expr_test: [
        {
          expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(0)`,
          eval_time: "3h",
          exp_samples: [{ labels: "{}", value: firing }],
        },
      ],
    })),
  ),
});
