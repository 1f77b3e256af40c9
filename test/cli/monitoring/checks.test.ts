import { describe, expect, test } from "bun:test";
import { CHECKS, formatPluginLine, type CheckName } from "../../../src/cli/monitoring/checks.ts";
import { MetricSamples } from "../../../src/cli/monitoring/parse-metrics.ts";

const NO_LIMITS = { warning: null, critical: null };

const check = (name: CheckName, text: string, limits = {}) =>
  CHECKS[name].run(new MetricSamples(text), { ...NO_LIMITS, ...limits });

const slots = (
  inUse: number,
  total = 10,
) => `berth_license_slots{product="CAD",license="7"} ${total}
berth_license_slots_in_use{product="CAD",license="7"} ${inUse}
`;

const license = (days: number, valid = 1) => `berth_server_time_seconds 1000
berth_license_valid{product="CAD",license="7"} ${valid}
berth_license_end_timestamp_seconds{product="CAD",license="7"} ${1_000 + days * 86_400}
`;

const MIB = 2 ** 20;
const disk = (freeMib: number) => `berth_disk_free_bytes ${freeMib * MIB}
berth_disk_required_bytes ${200 * MIB}
`;

const stateOf = (name: CheckName, text: string, limits = {}): number =>
  Math.max(0, ...check(name, text, limits).findings.map(({ state }) => state));

describe("berth check slots", () => {
  test.each([
    [8, 0],
    [9, 1],
    [10, 2],
    [11, 2],
  ])("with %i of 10 slots in use has the state %i", (inUse, state) => {
    expect(stateOf("slots", slots(inUse))).toBe(state);
  });

  test.each([
    [7, 1],
    [6, 0],
    [8, 2],
  ])("with %i of 10 slots and the limits 70 and 80 has the state %i", (inUse, state) => {
    expect(stateOf("slots", slots(inUse), { warning: 70, critical: 80 })).toBe(state);
  });

  test("prints the figures with limits, minimum and maximum", () => {
    expect(check("slots", slots(3)).perfdata).toEqual(["CAD_7_slots=3;9;10;0;10"]);
  });

  test("does not report a license without slots", () => {
    expect(check("slots", slots(0, 0)).findings).toEqual([]);
  });
});

describe("berth check queue", () => {
  const queue = (waiting: number) => `berth_queue_waiting{product="CAD"} ${waiting}\n`;

  test.each([
    [4, 0],
    [5, 1],
    [9, 1],
    [10, 2],
  ])("with %i waiting users and the limits 5 and 10 has the state %i", (waiting, state) => {
    expect(stateOf("queue", queue(waiting), { warning: 5, critical: 10 })).toBe(state);
  });

  test("without limits shows how many wait, and is never a problem", () => {
    expect(check("queue", queue(1))).toEqual({
      findings: [{ state: 0, text: "CAD: 1 user waiting" }],
      perfdata: ["CAD_waiting=1;;;0"],
    });
    expect(check("queue", queue(0)).findings).toEqual([]);
  });
});

describe("berth check licenses", () => {
  test.each([
    [31, 0],
    [30, 0],
    [29, 1],
    [7, 1],
    [6, 2],
    [-1, 2],
  ])("with %i days left has the state %i", (days, state) => {
    expect(stateOf("licenses", license(days))).toBe(state);
  });

  test("reports a license that refuses as critical, however long it lasts", () => {
    expect(check("licenses", license(900, 0)).findings).toEqual([
      { state: 2, text: "CAD 7 refuses" },
    ]);
  });
});

describe("berth check disk", () => {
  test.each([
    [401, 0],
    [400, 0],
    [399, 1],
    [200, 1],
    [199, 2],
  ])("with %i MiB free, and 200 required, has the state %i", (freeMib, state) => {
    expect(stateOf("disk", disk(freeMib))).toBe(state);
  });
});

describe("berth check backup", () => {
  const backup = (hours: number, failing = 0) =>
    `berth_backup_age_seconds ${hours * 3_600}\nberth_backup_failing ${failing}\n`;

  test("warns of a failed backup", () => {
    expect(stateOf("backup", backup(1, 1))).toBe(1);
  });

  test("compares the age with limits only if there are any", () => {
    expect(stateOf("backup", backup(900))).toBe(0);
    expect(stateOf("backup", backup(26), { warning: 26, critical: 50 })).toBe(1);
    expect(stateOf("backup", backup(50), { warning: 26, critical: 50 })).toBe(2);
    expect(stateOf("backup", "berth_backup_failing 0\n", { warning: 26 })).toBe(2);
  });
});

describe("berth check storage and clock", () => {
  test.each([
    ["storage", "berth_read_only 0\n", 0],
    ["storage", "berth_read_only 1\n", 2],
    ["storage", 'berth_storage_warning{warning="disk_slow"} 1\n', 1],
    ["clock", 'berth_clock_state{state="ok"} 1\nberth_clock_state{state="suspect"} 0\n', 0],
    ["clock", 'berth_clock_state{state="behind"} 1\n', 1],
    ["clock", 'berth_clock_state{state="suspect"} 1\n', 2],
  ] as const)("%s: %p has the state %i", (name, text, state) => {
    expect(stateOf(name, text)).toBe(state);
  });
});

describe("berth check pair", () => {
  const pair = (differing: Readonly<Record<string, number>> = {}) =>
    Object.entries({
      leader: 1,
      ready: 1,
      other_host_age_seconds: 1,
      lines_behind: 0,
      clock_skew_seconds: 0.1,
      database_synchronous: 1,
      ...differing,
    })
      .map(([name, value]) => `berth_pair_${name} ${value}\n`)
      .join("");

  test("finds nothing on a server that is alone", () => {
    expect(check("pair", "berth_read_only 0\n")).toEqual({ findings: [], perfdata: [] });
  });

  test.each([
    ["leader", 1, 0],
    ["leader", 0, 0],
    ["ready", 0, 2],
    ["other_host_age_seconds", 30, 0],
    ["other_host_age_seconds", 31, 1],
    ["clock_skew_seconds", 2, 0],
    ["clock_skew_seconds", 2.5, 1],
    ["lines_behind", 10_000, 0],
    ["lines_behind", 10_001, 1],
    ["database_synchronous", 0, 1],
  ])("with %s %d has the state %i", (name, value, state) => {
    expect(stateOf("pair", pair({ [name]: value }))).toBe(state);
  });

  test("warns if the other host never reported", () => {
    const text = pair().replace(/berth_pair_other_host_age_seconds.*\n/, "");
    expect(stateOf("pair", text)).toBe(1);
  });

  test("says which host it is, and prints the lag", () => {
    const { findings, perfdata } = check("pair", pair({ leader: 0, lines_behind: 3 }));
    expect(findings).toEqual([{ state: 0, text: "this host is on standby" }]);
    expect(perfdata).toEqual(["pair_behind=3;10000;;0"]);
  });
});

test("the line of a plugin has one bar and one line, whatever its texts are", () => {
  const line = formatPluginLine(1, ["a | b\nc", "d"], ["x=1", "y=2"]);
  expect(line).toBe("BERTH WARNING - a   b c; d | x=1 y=2");
  expect(line.split("|").length).toBe(2);
});

test("figures of a product with hostile characters stay one figure", () => {
  const text = `berth_license_slots{product="a 'b'=|;\\"c\\n",license="1"} 1\n`;
  expect(check("slots", text).perfdata).toEqual(['a_b_"c_1_slots=0;0.9;1;0;1']);
});
