// Every finding of the server, each provoked by the facts that cause it.
import { describe, expect, test } from "bun:test";
import type { Group } from "../../../src/domain/model/rules/rule-set.ts";
import { assessHealth, type HealthFacts } from "../../../src/operations/health/assess-health.ts";
import type { ServerAccess } from "../../../src/operations/health/exposures.ts";
import {
  capitalize,
  createFinding,
  SERVER_CODES,
  type Finding,
  type Severity,
} from "../../../src/operations/health/finding.ts";
import type { LicenseFacts } from "../../../src/operations/health/licenses.ts";
import { DAY, HOUR, instant, later, type Instant } from "../../../src/domain/time.ts";
import type { StatementStatus } from "../../../src/domain/statements/statement-status.ts";
import { consumptionTerms, terms } from "../../support/scenario.ts";
import { nextStatement } from "../../support/statements.ts";
import { ALPHA, HEALTHY_PAIR, withBeta, withDatabase } from "../../support/pair-status.ts";

const NOW = instant(Date.parse("2026-11-16T09:00:00.000Z"));
const inDays = (days: number) => later(NOW, days * DAY);

const CLOSED: ServerAccess = {
  isClaimed: true,
  isDemo: false,
  clientAuth: "login",
  allowsPlainCredentials: false,
  clientNetworks: [],
  adminNetworks: [],
  plainHost: "127.0.0.1",
  plainAddress: "127.0.0.1:8080",
  hasTls: true,
  metrics: null,
};

const BACKUPS: NonNullable<HealthFacts["backups"]> = {
  schedule: "daily 02:00",
  directory: "/mnt/backups",
  newestAt: inDays(-1),
  newestSize: 1_000,
  nextAt: inDays(1),
  runningSince: null,
  lastFault: null,
  isSameDisk: false,
};

const license = (differing: Parameters<typeof terms>[0], other: Partial<LicenseFacts> = {}) => ({
  id: 1,
  terms: terms({ product: "CAD", slots: 10, ...differing }),
  refusal: null,
  movedUntil: null,
  restoredUntil: null,
  slotsInUse: 0,
  total: 0,
  missingHardware: [],
  pairHosts: null,
  ...other,
});

const HEALTHY: HealthFacts = {
  now: NOW,
  warningDays: 30,
  storage: {
    folder: "/srv/berth",
    fault: null,
    warnings: [],
    freeBytes: 2 ** 33,
    recoveryNotes: [],
    auditFinding: null,
  },
  clock: { now: NOW, systemTime: NOW, state: "ok" },
  licenses: [license({})],
  statements: [],
  trust: { changes: [], retiredLicenses: [] },
  hardware: { isWeak: false, components: ["mac", "disk"] },
  movedAwayAt: null,
  tokens: [],
  access: CLOSED,
  certificateEndsAt: inDays(200),
  backups: BACKUPS,
  notificationFailures: [],
  usageError: null,
  sharing: { rules: null, overReserved: [] },
  fullCheck: null,
  pair: null,
};

const ACCESS_BY_CERTIFICATE = { ...CLOSED, clientAuth: "mtls" as const };

const rulesWith = (facts: Partial<Group>): HealthFacts["sharing"] => ({
  rules: {
    groups: [
      {
        name: "sim",
        users: [],
        hosts: [],
        logins: [],
        certificates: [],
        networks: [],
        ignoreCase: false,
        ...facts,
      },
    ],
    pools: [],
  },
  overReserved: [],
});

type Case = readonly [
  code: Finding["code"],
  severity: Severity,
  summary: string,
  change: Partial<HealthFacts>,
];

const storage = (change: Partial<HealthFacts["storage"]>): Partial<HealthFacts> => ({
  storage: { ...HEALTHY.storage, ...change },
});
const warning = (code: "disk_slow" | "checkpoint_failing" | "checkpoint_slow" | "state_missing") =>
  storage({ warnings: [{ code, message: `the message of ${code}` }] });
const access = (change: Partial<ServerAccess>) => ({ access: { ...CLOSED, ...change } });
const backups = (change: Partial<typeof BACKUPS>) => ({ backups: { ...BACKUPS, ...change } });
const clock = (state: HealthFacts["clock"]["state"], days: number) => ({
  clock: { now: NOW, systemTime: inDays(days), state },
});
const token = (name: string, madeDay: number, endDay: number | null) => ({
  name,
  madeAt: inDays(madeDay),
  endsAt: endDay === null ? null : inDays(endDay),
  ended: endDay !== null && endDay <= 0,
});
const reported = (change: Partial<StatementStatus>): StatementStatus => ({
  vendor: "V",
  name: "Acme",
  statements: [],
  acknowledged: null,
  nextFrom: instant(Date.parse("2026-10-01T00:00:00.000Z")),
  unreportedDays: 46,
  everyDays: 30,
  isDue: false,
  ...change,
});
const FAILED_CHECK = { at: NOW, report: null, failure: "out of memory" };

const CASES: readonly Case[] = [
  [
    "disk_full",
    "error",
    "Disk full: no changes are accepted until space is freed on /srv/berth",
    storage({ fault: { code: "storage_full" }, freeBytes: 0 }),
  ],
  [
    "disk_failed",
    "error",
    "The disk of /srv/berth failed: no changes are accepted",
    storage({ fault: { code: "storage_failed" } }),
  ],
  [
    "file_size_limit",
    "error",
    "A file in /srv/berth reached the file size limit: no changes are accepted",
    storage({ fault: { code: "storage_full", isFileLimit: true } }),
  ],
  [
    "disk_low",
    "warning",
    "The disk of /srv/berth has 255 MiB free",
    storage({ freeBytes: 2 ** 28 - 1 }),
  ],
  ["disk_slow", "warning", "The message of disk_slow", warning("disk_slow")],
  [
    "checkpoint_failing",
    "warning",
    "The message of checkpoint_failing",
    warning("checkpoint_failing"),
  ],
  ["checkpoint_slow", "warning", "The message of checkpoint_slow", warning("checkpoint_slow")],
  ["state_missing", "warning", "The message of state_missing", warning("state_missing")],
  [
    "audit_damaged",
    "warning",
    "Line 7 is gone",
    storage({
      warnings: [{ code: "audit_damaged", message: "line 7 is gone; restore it" }],
      auditFinding: { message: "line 7 is gone", hint: "restore it" },
    }),
  ],
  [
    "data_recovered",
    "note",
    "Removed 12 bytes of a torn line",
    storage({ recoveryNotes: ["removed 12 bytes of a torn line"] }),
  ],
  [
    "clock_suspect",
    "error",
    "The system clock is 3 days behind: licenses that expire grant no new slots",
    clock("suspect", -3),
  ],
  [
    "clock_behind",
    "warning",
    "The system clock is 12 hours behind the server time",
    clock("behind", -0.5),
  ],
  [
    "clock_ahead",
    "warning",
    "The system clock is 400 days ahead and is not followed yet",
    clock("ahead", 400),
  ],
  [
    "moved_away",
    "warning",
    "Moved to another host on 2026-11-15T09:00:00.000Z: this folder no longer grants licenses",
    { movedAwayAt: inDays(-1) },
  ],
  ["license_missing", "note", "No license is installed", { licenses: [] }],
  [
    "license_expired",
    "error",
    "CAD: license expired, no slots available",
    { licenses: [license({ validUntil: inDays(-1) }, { refusal: "license_expired" })] },
  ],
  [
    "license_refused",
    "error",
    "CAD: license disabled, no slots available",
    { licenses: [license({ enabled: false }, { refusal: "license_not_enabled" })] },
  ],
  [
    "license_not_started",
    "note",
    "CAD: license 1 starts on 2026-11-18",
    { licenses: [license({ start: inDays(2) }, { refusal: "license_not_active" })] },
  ],
  [
    "license_expiring",
    "warning",
    "CAD expires in 11 days",
    { licenses: [license({ validUntil: inDays(11) })] },
  ],
  [
    "license_moved",
    "warning",
    "CAD was issued for the previous host and expires in 5 days here",
    { licenses: [license({}, { movedUntil: inDays(5), missingHardware: ["mac"] })] },
  ],
  [
    "license_restored",
    "warning",
    "CAD was issued for another machine and expires in 2 days here, where it was restored",
    { licenses: [license({}, { restoredUntil: inDays(2), missingHardware: ["mac"] })] },
  ],
  [
    "license_one_host",
    "warning",
    "CAD: the license is for host alpha, and beta cannot serve it after a takeover",
    { licenses: [license({}, { pairHosts: { licensed: ["alpha"], others: ["beta"] } })] },
  ],
  [
    "hardware_drift",
    "warning",
    "CAD: mac, disk changed since the license was issued",
    { licenses: [license({}, { missingHardware: ["mac", "disk"] })] },
  ],
  [
    "slots_full",
    "note",
    "CAD: all 10 slots are in use",
    { licenses: [license({}, { slotsInUse: 10 })] },
  ],
  [
    "consumption_over",
    "note",
    "CAD: 130 of 100 consumed, 30 more than included",
    { licenses: [license({ consumption: consumptionTerms({ max: 100 }) }, { total: 130 })] },
  ],
  [
    "license_key_retired",
    "warning",
    "CAD: license 7 is signed with a key that Acme has retired",
    { trust: { changes: [], retiredLicenses: [{ license: 7, product: "CAD", vendor: "Acme" }] } },
  ],
  [
    "trust_changed",
    "note",
    "The newest trust document of Acme: it retired the key K1; it no longer licenses CAM",
    {
      trust: {
        changes: [
          {
            vendor: "V",
            name: "Acme",
            at: inDays(-6),
            texts: ["it retired the key K1", "it no longer licenses CAM"],
          },
        ],
        retiredLicenses: [],
      },
    },
  ],
  [
    "statement_due",
    "warning",
    "Acme wants a usage statement every 30 days; the use since 2026-10-01 is not reported",
    { statements: [reported({ isDue: true })] },
  ],
  [
    "statement_unacknowledged",
    "note",
    "Acme has not acknowledged usage statement 1 of 2026-10-17",
    {
      statements: [
        reported({
          statements: [{ ...nextStatement(null, inDays(-30), "statement"), at: inDays(-30) }],
        }),
      ],
    },
  ],
  [
    "rules_over_reserved",
    "warning",
    "Rules reserve 6 slots of CAD, but there are 5: first come, first served",
    {
      sharing: {
        rules: { groups: [], pools: [] },
        overReserved: [{ product: "CAD", feature: null, reserved: 6, slots: 5 }],
      },
    },
  ],
  [
    "rules_unmatched",
    "warning",
    "Rules name logins (sim), but applications do not log in",
    { sharing: rulesWith({ logins: ["ada"] }), access: ACCESS_BY_CERTIFICATE },
  ],
  [
    "rules_advisory",
    "note",
    "Rules go by names that callers choose (sim): they are advisory",
    { sharing: rulesWith({ users: ["ada"] }), access: ACCESS_BY_CERTIFICATE },
  ],
  [
    "weak_binding",
    "note",
    "Weak hardware binding: only mac can be identified",
    { hardware: { isWeak: true, components: ["mac"] } },
  ],
  [
    "certificate_expired",
    "error",
    "The TLS certificate has expired, and clients reject it",
    { certificateEndsAt: NOW },
  ],
  [
    "certificate_expiring",
    "warning",
    "The TLS certificate expires in 29 days",
    { certificateEndsAt: inDays(29) },
  ],
  ["token_expired", "note", "The token ops has expired", { tokens: [token("ops", -365, 0)] }],
  [
    "token_expiring",
    "warning",
    "The token ops expires in 29 days",
    { tokens: [token("ops", -336, 29)] },
  ],
  ["token_no_expiry", "note", "The token ops never expires", { tokens: [token("ops", -9, null)] }],
  [
    "admin_open",
    "warning",
    "Administration is open to everybody on this machine, tunnels and proxies included",
    access({ isClaimed: false }),
  ],
  [
    "clients_open",
    "note",
    "Applications from private networks and this machine's subnets call without a login, in any user's name",
    access({ clientAuth: "open" }),
  ],
  [
    "networks_wide",
    "warning",
    "Applications can connect from 0.0.0.0/0, which is larger than one site",
    access({ clientNetworks: ["10.0.0.0/8", "0.0.0.0/0"] }),
  ],
  [
    "plain_http",
    "note",
    "Plain HTTP on 0.0.0.0:8080: traffic can be read and changed on the network",
    access({ plainHost: "0.0.0.0", plainAddress: "0.0.0.0:8080" }),
  ],
  [
    "plain_credentials",
    "warning",
    "Tokens and passwords from other machines are accepted over plain HTTP",
    access({ allowsPlainCredentials: true }),
  ],
  [
    "metrics_open",
    "warning",
    "Metrics on 0.0.0.0:9109 can be read by every machine that reaches it",
    access({ metrics: { host: "0.0.0.0", address: "0.0.0.0:9109" } }),
  ],
  [
    "backup_none",
    "note",
    "No backup is known, and no schedule is set",
    backups({ schedule: null, newestAt: null, nextAt: null }),
  ],
  [
    "backup_failed",
    "warning",
    "The backup of 2026-11-15 failed: the disk is full",
    backups({ lastFault: { at: inDays(-1), message: "the disk is full" }, nextAt: inDays(-1) }),
  ],
  [
    "backup_overdue",
    "warning",
    "The backup of 2026-11-16 was not made: the newest is of 2026-11-15",
    backups({ nextAt: later(NOW, -HOUR - 1) }),
  ],
  [
    "backup_same_disk",
    "note",
    "Backups in /mnt/backups are on the disk of the data folder, and are lost with it",
    backups({ isSameDisk: true }),
  ],
  [
    "notification_failed",
    "warning",
    "The notification of 2026-11-15 by on_event failed: it exited with code 3",
    {
      notificationFailures: [
        { setting: "on_event", at: inDays(-1), reason: "it exited with code 3" },
      ],
    },
  ],
  [
    "usage_failing",
    "warning",
    "The last update of the usage files failed: no space left",
    { usageError: "no space left" },
  ],
  [
    "pair_log_unreachable",
    "error",
    "This host cannot use the database of the pair: connection refused",
    { pair: { ...HEALTHY_PAIR, problem: "connection refused", isLogAway: true } },
  ],
  [
    "pair_cannot_follow",
    "error",
    "This host can neither lead nor follow: line 7 of the log is damaged",
    { pair: { ...HEALTHY_PAIR, problem: "line 7 of the log is damaged" } },
  ],
  [
    "pair_files_differ",
    "warning",
    "This host does not use the cloud credentials of the other host: ENOSPC",
    { pair: { ...HEALTHY_PAIR, fileProblems: new Map([["keys", "ENOSPC"]]) } },
  ],
  [
    "pair_single_host",
    "warning",
    "The pair has one host only: no other one could take over",
    { pair: { ...HEALTHY_PAIR, hosts: [ALPHA] } },
  ],
  [
    "pair_host_silent",
    "warning",
    "Host beta has never reported: it cannot take over",
    { pair: withBeta({ seenMsAgo: null }) },
  ],
  [
    "pair_host_behind",
    "warning",
    "Host beta is more than 10000 lines behind: a takeover would take long",
    { pair: withBeta({ linesBehind: 12_000 }) },
  ],
  [
    "pair_clock_skew",
    "warning",
    "The clocks of both hosts differ by 4 seconds: after a takeover the time jumps",
    { pair: withBeta({ clockAheadMs: 4_100 }) },
  ],
  [
    "pair_versions_differ",
    "warning",
    "The hosts of the pair have different versions: alpha has 0.2.0, beta has 0.3.0",
    { pair: withBeta({ version: "0.3.0" }) },
  ],
  [
    "pair_database_async",
    "warning",
    "The database has no standby: if its machine is lost, acknowledged changes are lost",
    { pair: withDatabase({ problems: ["not_replicated"] }) },
  ],
  [
    "pair_database_loose",
    "warning",
    "Any program that receives changes counts as the standby of the database",
    { pair: withDatabase({ problems: ["any_standby"] }) },
  ],
  [
    "pair_database_unencrypted",
    "warning",
    "The connection to the database is not encrypted: others can read and change the log",
    { pair: withDatabase({ problems: ["unencrypted"] }) },
  ],
  [
    "pair_same_machine",
    "warning",
    "Hosts alpha and beta have the same hardware: no license can be made for both",
    { pair: withBeta({ hardwareId: ALPHA.hardwareId }) },
  ],
  [
    "pair_leader_changed",
    "note",
    "Host alpha leads the pair now (epoch 3)",
    { pair: { ...HEALTHY_PAIR, leadsSince: NOW } },
  ],
  [
    "check_failed",
    "warning",
    "The last full check could not be run: out of memory",
    { fullCheck: FAILED_CHECK },
  ],
];

const findingsFor = (change: Partial<HealthFacts>): readonly Finding[] =>
  assessHealth({ ...HEALTHY, ...change }).findings;
const codesFor = (change: Partial<HealthFacts>): string[] =>
  findingsFor(change).map(({ code }) => code);

describe("assessHealth", () => {
  test.each(CASES)("finds %s as %s: %s", (code, severity, summary, change) => {
    const findings = findingsFor(change);
    expect(findings.map((finding) => [finding.code, finding.severity, finding.summary])).toEqual([
      [code, severity, summary],
    ]);
    const [finding] = findings;
    if (severity !== "note") expect(finding?.remedy).toMatch(/^[A-Z]/);
  });

  test("says of a refused license which host of a pair serves it", () => {
    const refusedIn = (other: Partial<LicenseFacts>): (string | undefined)[][] =>
      findingsFor({ licenses: [license({}, other)] }).map(({ code, summary, command }) => [
        code,
        summary,
        command ?? undefined,
      ]);
    const pairHosts = { licensed: ["alpha"], others: ["beta"] };
    expect(refusedIn({ refusal: "hardware_mismatch", pairHosts })).toEqual([
      [
        "license_refused",
        "CAD: license 1 serves only while host alpha leads",
        "berth license request --product CAD --hosts 2",
      ],
    ]);
    expect(refusedIn({ refusal: "needs_pair" })).toEqual([
      [
        "license_refused",
        "CAD: issued for a pair, no slots available",
        "berth license request --product CAD --hosts 1",
      ],
    ]);
  });

  test("has a test for every code of the server", () => {
    expect(CASES.map(([code]) => code).toSorted()).toEqual([...SERVER_CODES].toSorted());
  });

  test("finds that the disk does not answer, instead of a slow sync", () => {
    const slow = { code: "disk_slow", message: "a sync has not returned" } as const;
    const fault = { code: "storage_failed", isHanging: true } as const;
    const { findings } = assessHealth({
      ...HEALTHY,
      storage: { ...HEALTHY.storage, fault, warnings: [slow] },
    });
    expect(findings).toMatchObject([
      {
        code: "disk_failed",
        severity: "error",
        summary: "The disk of /srv/berth does not answer: calls wait, or are refused",
      },
    ]);
  });

  test("finds nothing on a healthy site, and lists every check as passed", () => {
    const { findings, passed } = assessHealth(HEALTHY);
    expect(findings).toEqual([]);
    expect(passed.map(({ check }) => check)).toEqual([
      "storage",
      "clock",
      "licenses",
      "hardware",
      "certificate",
      "exposures",
      "backups",
    ]);
  });

  test("sorts errors before warnings before notes", () => {
    const findings = findingsFor({
      licenses: [],
      ...clock("ahead", 400),
      ...storage({ fault: { code: "storage_full" } }),
    });
    expect(findings.map(({ severity }) => severity)).toEqual(["error", "warning", "note"]);
  });

  test("names the product of a license, and quotes it in the command only if a shell needs it", () => {
    const command = (product: string) =>
      findingsFor({ licenses: [license({ product, validUntil: inDays(3) })] }).map((finding) => [
        finding.subject,
        finding.command,
      ]);
    expect(command("CAD")).toEqual([["CAD", "berth license request --product CAD"]]);
    expect(command("a b'c")).toEqual([["a b'c", `berth license request --product 'a b'\\''c'`]]);
  });
});

describe("assessHealth on licenses", () => {
  test("quotes the product of a license of a retired key in the command", () => {
    const retiredLicenses = [{ license: 7, product: "CAD Pro", vendor: "Acme" }];
    const [finding] = findingsFor({ trust: { changes: [], retiredLicenses } });
    expect(finding?.command).toBe("berth license request --product 'CAD Pro'");
  });

  test("shows what a trust document changed for a week, and not all of many changes", () => {
    const texts = Array.from({ length: 1_000 }, (_, i) => `it no longer licenses P${i}`);
    const change = (at: Instant) => ({ vendor: "V", name: "Acme", at, texts });
    const find = (at: Instant) =>
      findingsFor({ trust: { changes: [change(at)], retiredLicenses: [] } });
    expect(find(inDays(-7))).toEqual([]);
    const [finding] = find(later(inDays(-7), 1));
    expect(finding?.summary).toBe(
      `The newest trust document of Acme: ${texts.slice(0, 8).join("; ")}; 992 more in the audit log`,
    );
  });

  test("does not warn of an end in 30 days, nor of slots of which one is free", () => {
    expect(
      codesFor({ licenses: [license({ validUntil: inDays(30) }, { slotsInUse: 9 })] }),
    ).toEqual([]);
  });

  test("reports an expired license as a note while another one of the product is valid", () => {
    const expired = license({ validUntil: inDays(-1) }, { id: 3, refusal: "license_expired" });
    const [finding] = findingsFor({ licenses: [expired, license({}, { id: 4 })] });
    expect([finding?.severity, finding?.command]).toEqual(["note", "berth license remove 3"]);
    const other = license({ product: "CAE" }, { id: 4 });
    expect(findingsFor({ licenses: [expired, other] })[0]?.severity).toBe("error");
  });

  test("names the end of the grace period of a license that has expired", () => {
    const inGrace = license({ validUntil: inDays(-1), graceHours: 72 });
    expect(findingsFor({ licenses: [inGrace] })[0]?.summary).toBe(
      "CAD has expired; its grace period expires in 2 days",
    );
  });
});

describe("assessHealth on tokens", () => {
  test("does not warn of a one-year token with 30 days left, nor of a new 7-day token", () => {
    expect(codesFor({ tokens: [token("ops", -335, 30), token("brief", 0, 7)] })).toEqual([]);
    expect(codesFor({ tokens: [token("brief", -6, 1)] })).toEqual(["token_expiring"]);
  });

  test("considers only the newest service token, and names the installer as the remedy", () => {
    const old = token("service", -350, 15);
    expect(findingsFor({ tokens: [old] })[0]?.command).toBe("berth service install");
    expect(codesFor({ tokens: [old, token("service-2026-11-10", -6, 359)] })).toEqual([]);
    const [expired] = findingsFor({ tokens: [token("service", -365, 0)] });
    expect([expired?.code, expired?.severity]).toEqual(["token_expired", "warning"]);
  });
});

describe("assessHealth on storage and backups", () => {
  test("quotes a folder in a command if a shell would split it", () => {
    const command = (folder: string) =>
      findingsFor(storage({ fault: { code: "storage_full" }, freeBytes: 0, folder }))[0]?.command;
    expect(command("/srv/berth")).toBe("df -h /srv/berth");
    expect(command("/srv/Plant 4")).toBe("df -h '/srv/Plant 4'");
  });

  test("does not repeat in a warning what the fault says", () => {
    const warnings = [{ code: "disk_low", message: "the disk has 0 MiB free" }] as const;
    expect(codesFor(storage({ fault: { code: "storage_full" }, warnings, freeBytes: 0 }))).toEqual([
      "disk_full",
    ]);
    expect(codesFor(storage({ warnings, freeBytes: 0 }))).toEqual(["disk_low"]);
    expect(codesFor(storage({ freeBytes: null }))).toEqual([]);
  });

  test("does not call a backup overdue for an hour, nor while it is being made", () => {
    expect(codesFor(backups({ nextAt: later(NOW, -HOUR) }))).toEqual([]);
    expect(codesFor(backups({ nextAt: inDays(-2), runningSince: NOW }))).toEqual([]);
  });
});

describe("assessHealth with a full check", () => {
  const at = inDays(-1);
  const texts = { summary: "x", remedy: "" };

  test("adds only what the server does not know by itself", () => {
    const report = {
      findings: [
        createFinding("service_stopped", "error", texts),
        createFinding("slots_full", "note", texts),
      ],
      passed: [
        { check: "data", summary: "The data is intact" },
        { check: "clock", summary: "outdated" },
      ],
    } as const;
    const health = assessHealth({ ...HEALTHY, fullCheck: { at, report, failure: "" } });
    expect(health.findings.map(({ code }) => code)).toEqual(["service_stopped"]);
    const summaries = health.passed.map(({ summary }) => summary);
    expect(summaries).toContain("The data is intact");
    expect(summaries).not.toContain("outdated");
  });
});

test.each([
  ["the disk is full", "The disk is full"],
  ["set pair_log to the database", "Set pair_log to the database"],
  ["pair_log is not set", "pair_log is not set"],
  ["state.json is missing", "state.json is missing"],
  ["license2 does not answer", "license2 does not answer"],
  ["berth help serve lists the settings", "berth help serve lists the settings"],
])("capitalize makes a summary of a message, and changes no name: %s", (message, summary) => {
  expect(capitalize(message)).toBe(summary);
});
