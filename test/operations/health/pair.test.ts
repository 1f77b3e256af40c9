import { describe, expect, test } from "bun:test";
import { instant, later, MINUTE, SECOND } from "../../../src/domain/time.ts";
import { checkPair } from "../../../src/operations/health/pair.ts";
import type { PairStatus } from "../../../src/operations/pair/pair-status.ts";
import {
  ALPHA,
  HEALTHY_PAIR as HEALTHY,
  withBeta,
  withDatabase,
} from "../../support/pair-status.ts";

const NOW = instant(Date.parse("2026-11-17T09:00:00Z"));

const findingsOf = (differing: Partial<PairStatus>) =>
  checkPair({ ...HEALTHY, ...differing }, NOW).findings;
const codesOf = (differing: Partial<PairStatus>) =>
  findingsOf(differing).map(({ code, severity }) => `${severity} ${code}`);

describe("the findings of a pair", () => {
  test("are none for a host that is alone", () => {
    expect(checkPair(null, NOW)).toEqual({ findings: [], passed: [] });
  });

  test("are none for a folder whose server does not run", () => {
    const stopped = { ...HEALTHY, host: null, role: null, leader: null, hosts: [ALPHA] };
    expect(checkPair(stopped, NOW)).toEqual({ findings: [], passed: [] });
  });

  test("are none for two hosts in order: the check has passed", () => {
    const summary = "This host leads, and beta could take over";
    expect(checkPair(HEALTHY, NOW)).toEqual({
      findings: [],
      passed: [{ check: "pair", summary }],
    });
  });

  test("name the leader on the standby", () => {
    const { passed } = checkPair({ ...HEALTHY, host: "beta", role: "standby" }, NOW);
    expect(passed[0]?.summary).toBe("Host alpha leads, and beta could take over");
  });

  test("say that the database cannot be used, and nothing of the other host", () => {
    const away = { problem: "connection refused", isLogAway: true, leader: null };
    const silent = withBeta({ seenMsAgo: 90 * SECOND });
    expect(codesOf({ ...silent, ...away })).toEqual(["error pair_log_unreachable"]);
    expect(findingsOf(away)[0]?.summary).toContain("connection refused");
  });

  test("say why a host does not follow, if the database answers", () => {
    const problem = "line 7 of the log has an event of a newer version: SlotShared";
    const findings = findingsOf({ host: "beta", role: "standby", problem });
    expect(findings.map(({ code }) => code)).toEqual(["pair_cannot_follow"]);
    expect(findings[0]?.summary).toContain(problem);
  });

  test("name each file of the pair that this host does not use, and why", () => {
    const fileProblems = new Map([
      ["access", "the log's copy is damaged"],
      ["settings", "x is no editable setting"],
    ]);
    const findings = findingsOf({ fileProblems });
    expect(findings.map(({ code, summary }) => `${code}: ${summary}`)).toEqual([
      "pair_files_differ: This host does not use the tokens, users and sessions of the other host: " +
        "the log's copy is damaged",
      "pair_files_differ: This host does not use the edited settings of the other host: " +
        "x is no editable setting",
    ]);
  });

  test("say that only one host was admitted", () => {
    expect(codesOf({ hosts: [ALPHA] })).toEqual(["warning pair_single_host"]);
  });

  test.each([
    [29 * SECOND, []],
    [31 * SECOND, ["warning pair_host_silent"]],
    [null, ["warning pair_host_silent"]],
  ])("of a host that reported %p milliseconds ago are %p", (seenMsAgo, expected) => {
    expect(codesOf(withBeta({ seenMsAgo }))).toEqual(expected);
  });

  test.each([
    [31 * SECOND, "more than 30 seconds"],
    [59 * SECOND, "more than 30 seconds"],
    [3 * MINUTE, "3 minutes"],
    [5 * 60 * MINUTE, "5 hours"],
    [72 * 60 * MINUTE, "3 days"],
  ])(
    "describe a silence of %i milliseconds as %p, so that the text rarely changes",
    (age, text) => {
      const [finding] = findingsOf(withBeta({ seenMsAgo: age }));
      expect(finding?.summary).toBe(`Host beta has not reported for ${text}: it cannot take over`);
      expect(finding?.subject).toBe("beta");
    },
  );

  test("say after a week of silence that the database keeps all lines for that host", () => {
    const at = (days: number) => findingsOf(withBeta({ seenMsAgo: days * 24 * 60 * MINUTE }))[0];
    expect(at(6)?.summary).toBe("Host beta has not reported for 6 days: it cannot take over");
    expect(at(7)?.summary).toBe(
      "Host beta has not reported for 7 days: it cannot take over, and the database keeps all lines for it",
    );
    expect(at(7)?.remedy).toContain("replace it: berth help pair");
  });

  test("say that both hosts have the same hardware", () => {
    expect(codesOf(withBeta({ hardwareId: ALPHA.hardwareId }))).toEqual([
      "warning pair_same_machine",
    ]);
    expect(codesOf(withBeta({ hardwareId: null }))).toEqual([]);
  });

  test.each([
    [10_000, []],
    [10_001, ["warning pair_host_behind"]],
    [null, []],
  ])("of a host that is %p lines behind are %p", (linesBehind, expected) => {
    expect(codesOf(withBeta({ linesBehind }))).toEqual(expected);
  });

  test.each([
    [2_010, []],
    [2_011, ["warning pair_clock_skew"]],
    [-1_990, []],
    [-1_991, ["warning pair_clock_skew"]],
    [null, []],
  ])("of a host whose clock is %p ms ahead are %p", (clockAheadMs, expected) => {
    expect(codesOf(withBeta({ clockAheadMs }))).toEqual(expected);
  });

  test("say from 10 seconds on that handing over is not possible", () => {
    const summaryAt = (clockAheadMs: number) => findingsOf(withBeta({ clockAheadMs }))[0]?.summary;
    expect(summaryAt(10_000)).toContain("after a takeover the time jumps");
    expect(summaryAt(10_011)).toContain("neither joining nor handing over is possible");
  });

  test("say which host has which version", () => {
    const [finding] = findingsOf(withBeta({ version: "0.2.1" }));
    expect(finding?.code).toBe("pair_versions_differ");
    expect(finding?.summary).toContain("alpha has 0.2.0, beta has 0.2.1");
    expect(codesOf(withBeta({ version: null }))).toEqual([]);
  });

  test.each([
    ["not_replicated", "pair_database_async"],
    ["asynchronous", "pair_database_async"],
    ["any_standby", "pair_database_loose"],
    ["unencrypted", "pair_database_unencrypted"],
  ] as const)("of a database that is %s are %s", (problem, code) => {
    expect(codesOf(withDatabase({ problems: [problem] }))).toEqual([`warning ${code}`]);
  });

  test.each([
    [9 * MINUTE, ["note pair_leader_changed"]],
    [10 * MINUTE, []],
  ])("of a leader that began %i milliseconds ago are %p", (age, expected) => {
    expect(codesOf({ leadsSince: later(NOW, -age) })).toEqual(expected);
  });

  test("do not report the first leader as a change", () => {
    expect(codesOf({ leadsSince: NOW, epoch: 1 })).toEqual([]);
  });
});
