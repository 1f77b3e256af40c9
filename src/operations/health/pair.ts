import { DAY, HOUR, MINUTE, SECOND, type Instant } from "../../domain/time.ts";
import { MAX_SKEW_MS } from "../pair/clock-skew.ts";
import { KEPT_MS } from "../pair/log-trimmer.ts";
import {
  computeClockSkew,
  findOtherHost,
  type PairHostStatus,
  type PairStatus,
} from "../pair/pair-status.ts";
import type { DatabaseProblem } from "../../store/log/shared-log.ts";
import { createFinding, passedReport, type Finding, type HealthReport } from "./finding.ts";

/** A host reports every few seconds. */
const SILENT_AFTER_MS = 30 * SECOND;
/** More than a host that follows is ever behind, also under load. */
const MAX_LINES_BEHIND = 10_000;
/** From this on the difference is reported. */
const SKEW_WARNING_MS = 2 * SECOND;
/** How long a change of the leader is shown. */
const CHANGE_SHOWN_FOR = 10 * MINUTE;

/** Checks whether the other host could take over, and whether it would lose anything. */
export function checkPair(status: PairStatus | null, now: Instant): HealthReport {
  // Without a server, nothing is known of the other host.
  if (status === null || status.host === null) return { findings: [], passed: [] };
  const findings = [
    ...problemFindings(status),
    ...fileFindings(status),
    ...otherHostFindings(status),
    ...skewFindings(status),
    ...versionFindings(status),
    ...hardwareFindings(status),
    ...databaseFindings(status),
    ...changeFindings(status, now),
  ];
  if (findings.some(({ severity }) => severity !== "note")) return { findings, passed: [] };
  return { findings, passed: passedReport("pair", describePair(status)).passed };
}

function describePair({ host, leader, hosts }: PairStatus): string {
  const others = hosts.filter(({ name }) => name !== leader).map(({ name }) => name);
  const leads = leader === host ? `This host leads` : `Host ${leader ?? "?"} leads`;
  return `${leads}, and ${others.join(", ")} could take over`;
}

function problemFindings({ problem, isLogAway }: PairStatus): Finding[] {
  if (problem === null) return [];
  return [
    isLogAway
      ? createFinding("pair_log_unreachable", "error", {
          summary: `This host cannot use the database of the pair: ${problem}`,
          remedy: "Check the database and the network to it: no host answers without it",
          command: "berth doctor",
        })
      : createFinding("pair_cannot_follow", "error", {
          summary: `This host can neither lead nor follow: ${problem}`,
          remedy:
            "If the other host is newer, upgrade this one; else the troubleshooting of a pair helps",
        }),
  ];
}

const FILE_TEXTS: Readonly<Record<string, string>> = {
  access: "the tokens, users and sessions",
  keys: "the cloud credentials",
  settings: "the edited settings",
};

const fileFindings = ({ fileProblems }: PairStatus): Finding[] =>
  [...fileProblems].map(([file, problem]) =>
    createFinding("pair_files_differ", "warning", {
      summary: `This host does not use ${FILE_TEXTS[file] ?? file} of the other host: ${problem}`,
      remedy:
        "If the other host is newer, upgrade this one; else check its disk, and access to the database",
      subject: file,
    }),
  );

function otherHostFindings(status: PairStatus): Finding[] {
  const other = findOtherHost(status);
  if (other === null) {
    return [
      createFinding("pair_single_host", "warning", {
        summary: "The pair has one host only: no other one could take over",
        remedy: "Admit a second host: berth pair request there, then berth pair admit here",
      }),
    ];
  }
  // Without the log nothing is known of the other host.
  if (status.isLogAway) return [];
  return isSilent(other) ? [silentFinding(other)] : behindFindings(other);
}

const isSilent = ({ seenMsAgo }: Pick<PairHostStatus, "seenMsAgo">): boolean =>
  seenMsAgo === null || seenMsAgo > SILENT_AFTER_MS;

function silentFinding({ name, seenMsAgo }: PairHostStatus): Finding {
  const age = seenMsAgo === null ? "never reported" : `not reported for ${describeAge(seenMsAgo)}`;
  // Younger lines are kept in any case.
  const isNeeded = seenMsAgo !== null && seenMsAgo >= KEPT_MS;
  const growth = isNeeded ? ", and the database keeps all lines for it" : "";
  return createFinding("pair_host_silent", "warning", {
    summary: `Host ${name} has ${age}: it cannot take over${growth}`,
    remedy: isNeeded
      ? `Start the service on ${name}; if it is gone for good, replace it: berth help pair`
      : `Start the service on ${name}, and check its network and its log`,
    command: "berth pair status",
    subject: name,
  });
}

/** Coarse, so that the text does not change every second. */
function describeAge(age: number): string {
  if (age >= 2 * DAY) return `${Math.floor(age / DAY)} days`;
  if (age >= 2 * HOUR) return `${Math.floor(age / HOUR)} hours`;
  if (age >= 2 * MINUTE) return `${Math.floor(age / MINUTE)} minutes`;
  return "more than 30 seconds";
}

function behindFindings({ name, linesBehind }: PairHostStatus): Finding[] {
  if ((linesBehind ?? 0) <= MAX_LINES_BEHIND) return [];
  return [
    createFinding("pair_host_behind", "warning", {
      summary: `Host ${name} is more than ${MAX_LINES_BEHIND} lines behind: a takeover would take long`,
      remedy: `Check the disk and the load of ${name}`,
      command: "berth pair status",
      subject: name,
    }),
  ];
}

function skewFindings(status: PairStatus): Finding[] {
  const skew = computeClockSkew(status);
  if (skew === null || skew <= SKEW_WARNING_MS) return [];
  const difference = `The clocks of both hosts differ by ${Math.round(skew / SECOND)} seconds`;
  return [
    createFinding("pair_clock_skew", "warning", {
      summary:
        skew > MAX_SKEW_MS
          ? `${difference}: neither joining nor handing over is possible`
          : `${difference}: after a takeover the time jumps`,
      remedy: "Let both hosts take their time from the same NTP server",
      command: "timedatectl",
    }),
  ];
}

function versionFindings({ hosts }: PairStatus): Finding[] {
  const known = hosts.filter(({ version }) => version !== null);
  if (new Set(known.map(({ version }) => version)).size < 2) return [];
  const list = known.map(({ name, version }) => `${name} has ${version}`).join(", ");
  return [
    createFinding("pair_versions_differ", "warning", {
      summary: `The hosts of the pair have different versions: ${list}`,
      remedy: "Finish the upgrade: the standby first, then hand over, then the other host",
      command: "berth pair hand-over",
    }),
  ];
}

/** A license of one of them would serve on the other one too; one of both could not be made. */
function hardwareFindings({ hosts }: PairStatus): Finding[] {
  const known = hosts.flatMap(({ hardwareId }) => (hardwareId === null ? [] : [hardwareId]));
  if (new Set(known).size === known.length) return [];
  const names = hosts.map(({ name }) => name).join(" and ");
  return [
    createFinding("pair_same_machine", "warning", {
      summary: `Hosts ${names} have the same hardware: no license can be made for both`,
      remedy:
        "Run them on two machines; give a copied machine its own machine id and serial numbers",
    }),
  ];
}

/** A failover of the database decides whether acknowledged changes survive. */
export const databaseFindings = ({ database }: Pick<PairStatus, "database">): Finding[] =>
  (database?.problems ?? []).map((problem) => DATABASE_FINDINGS[problem]);

const DATABASE_FINDINGS: Readonly<Record<DatabaseProblem, Finding>> = {
  not_replicated: createFinding("pair_database_async", "warning", {
    summary: "The database has no standby: if its machine is lost, acknowledged changes are lost",
    remedy: "Add a standby of the database, and name it in synchronous_standby_names",
  }),
  asynchronous: createFinding("pair_database_async", "warning", {
    summary: "The standby of the database is asynchronous: a failover loses acknowledged changes",
    remedy: "Name the standby in synchronous_standby_names of the database",
  }),
  any_standby: createFinding("pair_database_loose", "warning", {
    summary: "Any program that receives changes counts as the standby of the database",
    remedy: "Name the standby in synchronous_standby_names, instead of *",
  }),
  unencrypted: createFinding("pair_database_unencrypted", "warning", {
    summary: "The connection to the database is not encrypted: others can read and change the log",
    remedy:
      "Set ssl = on in the database, and sslmode=verify-full, or at least require, in pair_log",
  }),
};

function changeFindings({ leader, epoch, leadsSince }: PairStatus, now: Instant): Finding[] {
  if (leader === null || leadsSince === null || now - leadsSince >= CHANGE_SHOWN_FOR) return [];
  // The first leader formed the pair: nothing changed.
  if (epoch === null || epoch <= 1) return [];
  return [
    createFinding("pair_leader_changed", "note", {
      summary: `Host ${leader} leads the pair now (epoch ${epoch})`,
      remedy: "Nothing, if the change was planned; the log of the other host says why it ended",
      command: "berth pair status",
      subject: leader,
    }),
  ];
}
