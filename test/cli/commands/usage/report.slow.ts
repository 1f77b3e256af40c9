import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ReportReply } from "../../../../src/http/routes/usage/report-schema.ts";
import { REPORT_TABLES } from "../../../../src/http/routes/usage/report-csv.ts";
import { runBerth } from "../../../support/run-berth.ts";
import {
  HOSTILE_NAMES,
  IDLE_USERS,
  writeSimulatedMonth,
} from "../../../support/simulated-month.ts";

const PERIOD = ["--last", "12d", "--time-zone", "UTC"];

let folder = "";
let data = "";

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "berth-report-"));
  data = join(folder, "data");
  await writeSimulatedMonth({ folder: data, days: 12 });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const runReport = (...args: readonly string[]) => runBerth(["report", "--data", data, ...args]);

const readReport = async (...args: readonly string[]): Promise<ReportReply> => {
  const { stdout, stderr, code } = await runReport(...PERIOD, "--json", ...args);
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as ReportReply;
};

/** A day, in UTC, on which users were turned away, as on days before it and after it. */
async function findDayOfDenials(): Promise<string> {
  const days = (await readReport()).episodes.map((episode) => episode.first_at.slice(0, 10));
  return days[Math.floor(days.length / 2)] ?? "";
}

describe("berth report", () => {
  test("answers who was turned away on one day, and why", async () => {
    const day = await findDayOfDenials();
    const period = ["--from", day, "--to", day, "--time-zone", "UTC"];
    const { stdout, code } = await runReport(...period, "--table", "episodes");
    const [header = "", ...rows] = stdout.trimEnd().split("\r\n");
    expect([code, header]).toEqual([
      0,
      "first_at,last_at,person,user,peer,product,feature,code,rule,attempts,outcome,waited_seconds",
    ]);
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) {
      expect(row).toStartWith(`${day}T`);
      expect(row).toMatch(/,(?:CAD,|SIM,|CAE,MESH),floating_not_available,,/);
    }
  });

  test("shows use, denials, people and idle holders as text", async () => {
    const { stdout } = await runReport(...PERIOD);
    for (const title of ["SLOTS IN USE", "DENIED EPISODES", "WHO WAS TURNED AWAY", "PEOPLE"])
      expect(stdout).toContain(`\n${title}\n`);
    expect(stdout).toContain("IDLE HOLDERS (no consumption and no feature for 7 days)");
    for (const user of IDLE_USERS) expect(stdout).toContain(`\n${user}`);
    expect(stdout).toMatch(/\nSIM +4, 6 +6 /);
  });

  test("has every table as CSV, with all rows and no formula", async () => {
    const report = await readReport();
    const rowCounts: Readonly<Record<string, number>> = {
      utilisation: 4,
      heatmap: 4 * 7 * 24,
      days: report.days.length,
      episodes: report.episodes.length,
      people: report.people.length,
      idle: IDLE_USERS.length,
      sessions: report.sessions.length,
      consumption: 1,
      borrows: 1,
      ending: 0,
    };
    for (const table of REPORT_TABLES) {
      const { stdout } = await runReport(...PERIOD, "--table", table);
      expect([table, stdout.split("\r\n").length - 2]).toEqual([table, rowCounts[table] ?? -1]);
      expect(stdout).not.toMatch(/(?:^|[,\n])"?[=@]/);
    }
    expect(report.sessions.some(({ user }) => user === HOSTILE_NAMES[1])).toBe(true);
  });

  test("is one HTML file that runs and loads nothing", async () => {
    const out = join(folder, "report.html");
    const { code, stdout } = await runReport(...PERIOD, "--out", out);
    expect([code, stdout]).toEqual([0, `the report is written to ${out}\n`]);
    const page = readFileSync(out, "utf8");
    expect(page).toContain("&lt;img src=x onerror=alert(1)&gt;");
    for (const forbidden of ["<img", "<script", "<link", "@import", "url(", "href=", 'src="'])
      expect([forbidden, page.includes(forbidden)]).toEqual([forbidden, false]);
    expect(page).toContain("default-src 'none'; style-src 'unsafe-inline'");
  });

  test("contains no name, host or address in any format if it is anonymous", async () => {
    const names = [...HOSTILE_NAMES, ...IDLE_USERS, "engineer-", "workstation-", "10.1.2."];
    const formats = [
      ["--format", "html"],
      ["--format", "text"],
      ["--json"],
      ["--table", "sessions"],
      ["--table", "idle"],
    ];
    for (const format of formats) {
      const { stdout } = await runReport(...PERIOD, "--anonymous", ...format);
      expect(stdout).toContain("person-");
      for (const name of names)
        expect([format, name, stdout.includes(name)]).toEqual([format, name, false]);
    }
    const { episodes, people } = await readReport("--anonymous");
    const known = new Set(people.map(({ person }) => person));
    expect(episodes.every(({ person }) => known.has(person))).toBe(true);
  });

  test("does not replace a file", async () => {
    const out = join(folder, "existing.json");
    await Bun.write(out, "{}");
    const { code, stderr } = await runReport(...PERIOD, "--out", out);
    expect([code, stderr]).toEqual([
      1,
      `berth: error: ${out} already exists\nberth: hint: choose a new file name\n`,
    ]);
  });

  test.each([
    [["--month", "2026-13"], 2, "--month must be a month: 2026-13"],
    [["--month", "2026-03", "--last", "7d"], 2, "--from and --to, --month, and --last exclude"],
    [["--last", "soon"], 2, "--last must be a duration: soon"],
    [["--from", "2026-03-10", "--to", "2026-03-09"], 2, "--from must be before --to"],
    [["--from", "2026-02-30"], 2, "--from must be a day or a time: 2026-02-30"],
    [["--from", "2099-01-01"], 2, "--from must be in the past"],
    [["--month", "2099-01"], 2, "--month 2099-01 has not begun yet"],
    [["--last", "100w"], 2, "--last 100w is too long"],
    [["--from", "2020-01-01"], 2, "the time from --from to now is too long"],
    [["--from", "2020-01-01", "--to", "2022-01-01"], 2, "the time from --from to --to is too long"],
    [["--out", "report.pdf"], 2, "--out "],
    [["--time-zone", "Atlantis"], 2, "--time-zone must be a time zone: Atlantis"],
    [["--table", "people", "--format", "html"], 2, "--table is for CSV"],
    [["--json", "--format", "csv"], 2, "--json and --format cannot be combined"],
    [["--idle-days", "0"], 2, "--idle-days must be a whole number from 1 to 366"],
    [["--product", "NONE"], 1, "no license is installed for this product"],
    [["--product", "CAE", "--feature", "NONE"], 1, "the license has no such feature"],
  ])("is refused with %p", async (args, exitCode, message) => {
    const { code, stderr, stdout } = await runReport(...args);
    expect(code).toBe(exitCode);
    if (!args.includes("--json")) expect(stdout).toBe("");
    expect(stderr).toContain(`berth: error: ${message}`);
  });
});
