import { pluralize } from "../../domain/model/event-texts.ts";
import type { MetricSamples } from "./parse-metrics.ts";

/** The states of a monitoring plugin, as its exit code. */
export const PLUGIN_STATES = ["OK", "WARNING", "CRITICAL", "UNKNOWN"] as const;

export const OK = 0;
const WARNING = 1;
export const CRITICAL = 2;
export const UNKNOWN = 3;

/** What one check found. */
export interface CheckFinding {
  readonly state: typeof OK | typeof WARNING | typeof CRITICAL;
  readonly text: string;
}

export interface CheckResult {
  readonly findings: readonly CheckFinding[];
  /** As a plugin prints them: label=value;warning;critical;minimum;maximum */
  readonly perfdata: readonly string[];
}

/** The limits of a check in its own unit; null: those of the check. */
export interface Thresholds {
  readonly warning: number | null;
  readonly critical: number | null;
}

export type Check = (metrics: MetricSamples, thresholds: Thresholds) => CheckResult;

/** Percent of the slots that are in use. */
const checkSlots: Check = (metrics, { warning, critical }) => {
  const [warningPercent, criticalPercent] = [warning ?? 90, critical ?? 100];
  const findings: CheckFinding[] = [];
  const perfdata: string[] = [];
  for (const { labels, value: slots } of metrics.list("berth_license_slots")) {
    const inUse = metrics.find("berth_license_slots_in_use", labels) ?? 0;
    const name = nameLicense(labels);
    const [warningSlots, criticalSlots] = [warningPercent, criticalPercent].map(
      (percent) => (slots * percent) / 100,
    );
    perfdata.push(
      `${labelOf(`${name} slots`)}=${inUse};${warningSlots};${criticalSlots};0;${slots}`,
    );
    if (slots === 0) continue;
    const state = atLeast((100 * inUse) / slots, warningPercent, criticalPercent);
    findings.push({ state, text: `${name}: ${inUse} of ${slots} slots in use` });
  }
  return { findings, perfdata };
};

/** Users who wait for a slot of a product. Without limits they are only shown. */
const checkQueue: Check = (metrics, { warning, critical }) => {
  const findings: CheckFinding[] = [];
  const perfdata: string[] = [];
  const limits = `${warning ?? ""};${critical ?? ""};0`;
  for (const { labels, value: waiting } of metrics.list("berth_queue_waiting")) {
    const product = labels["product"] ?? "";
    perfdata.push(`${labelOf(`${product} waiting`)}=${waiting};${limits}`);
    if (waiting === 0) continue;
    const state = atLeast(waiting, warning ?? Infinity, critical ?? Infinity);
    findings.push({ state, text: `${product}: ${pluralize(waiting, "user")} waiting` });
  }
  return { findings, perfdata };
};

const DAY_SECONDS = 86_400;

/** Days until a license ends. */
const checkLicenses: Check = (metrics, { warning, critical }) => {
  const [warningDays, criticalDays] = [warning ?? 30, critical ?? 7];
  const now = metrics.find("berth_server_time_seconds") ?? 0;
  const findings: CheckFinding[] = [];
  const perfdata: string[] = [];
  for (const { labels, value: isValid } of metrics.list("berth_license_valid")) {
    const name = nameLicense(labels);
    const end = metrics.find("berth_license_end_timestamp_seconds", labels);
    if (isValid === 0) findings.push({ state: CRITICAL, text: `${name} refuses` });
    if (end === null) continue;
    const days = Math.floor((end - now) / DAY_SECONDS);
    perfdata.push(`${labelOf(`${name} days`)}=${days};${warningDays}:;${criticalDays}:`);
    if (isValid === 0) continue;
    findings.push({
      state: atMost(days, warningDays, criticalDays),
      text: `${name} ends in ${days} days`,
    });
  }
  return { findings, perfdata };
};

/** Hours since the newest backup. Without limits, only a failed or overdue backup is reported. */
const checkBackup: Check = (metrics, { warning, critical }) => {
  const age = metrics.find("berth_backup_age_seconds");
  const hours = age === null ? null : Math.round(age / 360) / 10;
  const findings: CheckFinding[] = [];
  if (metrics.find("berth_backup_failing") === 1) {
    findings.push({ state: WARNING, text: "the last backup failed or is overdue" });
  }
  if (hours === null && (warning !== null || critical !== null)) {
    findings.push({ state: CRITICAL, text: "there is no backup" });
  }
  if (hours !== null) {
    const state = atLeast(hours, warning ?? Infinity, critical ?? Infinity);
    findings.push({ state, text: `the newest backup is ${hours} hours old` });
  }
  const limits = `${warning ?? ""};${critical ?? ""};0`;
  return { findings, perfdata: hours === null ? [] : [`backup_age_hours=${hours};${limits}`] };
};

const MIB = 2 ** 20;

/** Free MiB on the disk of the data folder. */
const checkDisk: Check = (metrics, { warning, critical }) => {
  const free = metrics.find("berth_disk_free_bytes");
  const required = (metrics.find("berth_disk_required_bytes") ?? 0) / MIB;
  if (free === null) return { findings: [], perfdata: [] };
  const freeMib = Math.floor(free / MIB);
  const warningMib = Math.ceil(warning ?? Math.max(256, 2 * required));
  const criticalMib = Math.ceil(critical ?? required);
  const state = atMost(freeMib, warningMib, criticalMib);
  return {
    findings: [{ state, text: `${freeMib} MiB free on the disk` }],
    perfdata: [`disk_free=${freeMib}MB;${warningMib}:;${criticalMib}:;0`],
  };
};

const checkStorage: Check = (metrics) => {
  const findings: CheckFinding[] = [];
  if (metrics.find("berth_read_only") === 1) {
    findings.push({ state: CRITICAL, text: "no change can be written" });
  }
  for (const { labels, value } of metrics.list("berth_storage_warning")) {
    if (value === 1) findings.push({ state: WARNING, text: labels["warning"] ?? "" });
  }
  return { findings, perfdata: [] };
};

const checkClock: Check = (metrics) => {
  const offset = Math.round(metrics.find("berth_clock_offset_seconds") ?? 0);
  const states = metrics.list("berth_clock_state").filter(({ value }) => value === 1);
  const findings = states.flatMap(({ labels }): CheckFinding[] => {
    const state = labels["state"] ?? "";
    if (state === "ok") return [];
    const text = `the system clock is ${state}, by ${Math.abs(offset)} seconds`;
    return [{ state: state === "suspect" ? CRITICAL : WARNING, text }];
  });
  return { findings, perfdata: [`clock_offset=${offset}s`] };
};

/** As the findings of a pair have them. */
const SILENT_SECONDS = 30;
const MAX_SKEW_SECONDS = 2;
const MAX_LINES_BEHIND = 10_000;

/** The other host of a pair, and the database; nothing of a host that is alone. */
const checkPair: Check = (metrics) => {
  const isLeader = metrics.find("berth_pair_leader");
  if (isLeader === null) return { findings: [], perfdata: [] };
  const findings: CheckFinding[] = [
    { state: OK, text: isLeader === 1 ? "this host leads" : "this host is on standby" },
  ];
  if (metrics.find("berth_pair_ready") === 0) {
    findings.push({ state: CRITICAL, text: "this host can neither lead nor follow" });
  }
  const age = metrics.find("berth_pair_other_host_age_seconds");
  const skew = metrics.find("berth_pair_clock_skew_seconds") ?? 0;
  const behind = metrics.find("berth_pair_lines_behind") ?? 0;
  if (age === null || age > SILENT_SECONDS) {
    findings.push({ state: WARNING, text: "the other host does not report" });
  }
  if (skew > MAX_SKEW_SECONDS) {
    findings.push({ state: WARNING, text: `the clocks differ by ${Math.round(skew)} seconds` });
  }
  if (behind > MAX_LINES_BEHIND) {
    findings.push({ state: WARNING, text: `the host on standby is ${behind} lines behind` });
  }
  if (metrics.find("berth_pair_database_synchronous") === 0) {
    findings.push({ state: WARNING, text: "the database has no strict synchronous standby" });
  }
  return { findings, perfdata: [`pair_behind=${behind};${MAX_LINES_BEHIND};;0`] };
};

/** The checks by their names, and whether they have limits. */
export const CHECKS = {
  slots: { run: checkSlots, unit: "percent" },
  queue: { run: checkQueue, unit: "users" },
  licenses: { run: checkLicenses, unit: "days" },
  backup: { run: checkBackup, unit: "hours" },
  disk: { run: checkDisk, unit: "MiB" },
  storage: { run: checkStorage, unit: null },
  clock: { run: checkClock, unit: null },
  pair: { run: checkPair, unit: null },
} as const satisfies Readonly<Record<string, { run: Check; unit: string | null }>>;

export type CheckName = keyof typeof CHECKS;

/** For a value that must stay low. */
function atLeast(value: number, warning: number, critical: number): CheckFinding["state"] {
  return value >= critical ? CRITICAL : value >= warning ? WARNING : OK;
}

/** For a value that must stay high. */
function atMost(value: number, warning: number, critical: number): CheckFinding["state"] {
  return value < critical ? CRITICAL : value < warning ? WARNING : OK;
}

const nameLicense = ({ product, license }: Readonly<Record<string, string>>): string =>
  `${product ?? ""} ${license ?? ""}`;

/** Quotes and equals signs separate the parts of a plugin's line. */
const labelOf = (text: string): string => text.replaceAll(/[\s'=|;]+/g, "_");

/** The line of a monitoring plugin. A vertical bar begins the figures, so texts have none. */
export function formatPluginLine(
  state: number,
  texts: readonly string[],
  perfdata: readonly string[],
): string {
  const text = texts.join("; ").replaceAll(/[|\r\n]+/g, " ");
  const figures = perfdata.length === 0 ? "" : ` | ${perfdata.join(" ")}`;
  return `BERTH ${PLUGIN_STATES[state] ?? "UNKNOWN"} - ${text}${figures}`;
}
