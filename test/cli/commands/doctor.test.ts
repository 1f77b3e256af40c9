import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import {
  exitCodeFor,
  createFinding,
  okFinding,
  worstLevel,
  type Finding,
} from "../../../src/cli/doctor/finding.ts";
import {
  fileSystemFinding,
  diskSpaceFinding,
  syncSpeedFinding,
} from "../../../src/cli/doctor/folder.ts";
import { serviceStateFinding } from "../../../src/cli/doctor/host.ts";
import { checkSite } from "../../../src/cli/doctor/site.ts";
import type { StatusReply } from "../../../src/http/reply/status.ts";
import type { ClockReply } from "../../../src/http/routes/clock.ts";
import { DAY, HOUR, instant } from "../../../src/domain/time.ts";
import { issueServerCertificate, createAuthority } from "../../../src/platform/crypto/x509.ts";
import { runBerth, runJsonOrThrow, startServer } from "../../support/run-berth.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { contentsOf, tempFolder } from "../../support/temp-folder.ts";

interface DoctorOutput {
  readonly worst_level: string;
  readonly findings: readonly Finding[];
}

/** Returns an address on this machine at which nothing listens. */
function freePort(): string {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  listener.stop(true);
  return `127.0.0.1:${listener.port}`;
}

/** Runs berth doctor on a folder and returns its report and exit code. */
async function runDoctor(
  data: string,
  ...words: string[]
): Promise<DoctorOutput & { code: number }> {
  const listen = words.includes("--listen") ? [] : ["--listen", freePort()];
  const result = await runBerth(["doctor", "--data", data, "--json", ...listen, ...words]);
  expect(result.stderr).toBe("");
  return { ...(JSON.parse(result.stdout) as DoctorOutput), code: result.code };
}

const findingOf = ({ findings }: DoctorOutput, check: string): Finding | undefined =>
  findings.find((finding) => finding.check === check);

async function makeSite(): Promise<string> {
  const data = join(tempFolder(), "data");
  await makeLicensedSite(data, { product: "cad" });
  return data;
}

/** The findings that ask for action, except that test folders may be in memory (tmpfs). */
const problemsIn = ({ findings }: DoctorOutput): string[] =>
  findings
    .filter(({ level, check }) => ["warning", "error"].includes(level) && check !== "file system")
    .map(({ check, finding }) => `${check}: ${finding}`);

describe("doctor findings", () => {
  test("set the exit code by their worst level: note 0, warning 1, error 78", () => {
    const note = createFinding("b", "note", "", "");
    const warning = createFinding("c", "warning", "", "");
    const broken = createFinding("d", "error", "", "");
    expect([worstLevel([]), exitCodeFor([])]).toEqual(["ok", 0]);
    expect([worstLevel([okFinding("a", ""), note]), exitCodeFor([note])]).toEqual(["note", 0]);
    expect([worstLevel([warning, note]), exitCodeFor([warning, note])]).toEqual(["warning", 1]);
    expect([worstLevel([broken, warning]), exitCodeFor([broken, warning])]).toEqual(["error", 78]);
  });

  test("rate file system, disk space and sync speed by their figures", () => {
    expect(fileSystemFinding(0xef53).level).toBe("ok");
    expect(fileSystemFinding(0x01021994)).toMatchObject({ level: "warning" });
    expect(fileSystemFinding(0x01021994).finding).toStartWith("tmpfs: ");
    expect(fileSystemFinding(0x6969).finding).toStartWith("NFS: ");
    expect(diskSpaceFinding(256 * 2 ** 20).level).toBe("ok");
    expect(diskSpaceFinding(256 * 2 ** 20 - 1).level).toBe("warning");
    expect(diskSpaceFinding(0).remedy).toContain("free disk space");
    expect(syncSpeedFinding([1, 500, 2, 600, 3]).finding).toBe("a sync takes 3.00 ms");
    expect(syncSpeedFinding([101]).level).toBe("warning");
  });

  test("report a service that does not run as an error, and an unknown state as a note", () => {
    const result = () => "exit-code";
    expect(serviceStateFinding({ ok: true, output: "active" }, result)).toBeNull();
    const failed = serviceStateFinding({ ok: false, output: "failed" }, result);
    expect(failed).toMatchObject({ level: "error", finding: "not running (exit-code)" });
    const bus = "Failed to connect to bus: Operation not permitted";
    for (const text of [bus, "systemctl is not installed", ""]) {
      expect(serviceStateFinding({ ok: false, output: text }, result)?.level).toBe("note");
    }
  });
});

describe("berth doctor on a data folder", () => {
  test("finds no problem in an intact one and adds only the lock file", async () => {
    const data = await makeSite();
    const before = contentsOf(data);
    const report = await runDoctor(data);
    expect(problemsIn(report)).toEqual([]);
    expect(findingOf(report, "permissions")?.level).toBe("ok");
    expect(findingOf(report, "data")?.finding).toMatch(/^intact: \d+ changes/);
    expect(report.findings.find(({ check }) => check.startsWith("license "))?.level).toBe("ok");
    expect(findingOf(report, "service")?.level).toBe("note");
    expect(Object.keys(contentsOf(data))).toEqual(Object.keys({ ...before, lock: "" }).toSorted());
  });

  test("warns when other users can read the folder or a file in it", async () => {
    const data = await makeSite();
    chmodSync(data, 0o750);
    const open = await runDoctor(data);
    expect([open.code, findingOf(open, "permissions")?.remedy]).toEqual([1, `chmod 700 ${data}`]);
    chmodSync(data, 0o700);
    mkdirSync(join(data, "tls"), { mode: 0o700 });
    const key = join(data, "tls", "ca.key");
    writeFileSync(key, "", { mode: 0o644 });
    const deep = await runDoctor(data);
    expect(findingOf(deep, "permissions")).toMatchObject({
      level: "warning",
      remedy: `chmod go= ${key}`,
    });
  });

  test("exits with 78 for damage, with the hint that serve gives, and changes nothing", async () => {
    const data = await makeSite();
    const path = join(data, "state.json");
    const bytes = readFileSync(path);
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
    writeFileSync(path, bytes);
    const { lock: _before, ...before } = contentsOf(data);
    const report = await runDoctor(data);
    expect([report.code, report.worst_level]).toEqual([78, "error"]);
    const finding = findingOf(report, "data");
    const refused = await runBerth(["serve", "--data", data, "--listen", "127.0.0.1:0"]);
    expect(refused.code).toBe(78);
    expect(finding?.finding).toContain("state.json");
    expect(refused.stderr).toContain(finding?.remedy ?? "no advice");
    const { lock: _after, ...after } = contentsOf(data);
    expect(after).toEqual(before);
    const text = await runBerth(["doctor", "--data", data, "--listen", freePort()]);
    expect(text.code).toBe(78);
    expect(text.stdout).toMatch(/^error +data /m);
    expect(text.stdout).toContain(`remedy`);
  });

  test("exits with 78 for a missing folder and does not create it", async () => {
    const data = join(tempFolder(), "data");
    const report = await runDoctor(data);
    expect([report.code, findingOf(report, "data folder")?.remedy]).toEqual([78, "check --data"]);
    expect(contentsOf(dirname(data))).toEqual({ ".": "700" });
  });
});

describe("berth doctor on the host", () => {
  test("names the process that uses the port", async () => {
    const other = await startServer(["serve", "--data", join(tempFolder(), "data")]);
    const listen = new URL(other.url).host;
    const report = await runDoctor(await makeSite(), "--listen", listen);
    expect(report.code).toBe(1);
    const finding = findingOf(report, `port ${new URL(other.url).port}`);
    expect(finding?.level).toBe("warning");
    expect(finding?.finding).toContain(`in use by process ${other.pid} (`);
  });

  test("accepts the port of the running server and warns about another configured port", async () => {
    const data = await makeSite();
    const server = await startServer(["serve", "--data", data]);
    const samePort = await runDoctor(data, "--listen", new URL(server.url).host);
    expect(problemsIn(samePort)).toEqual([]);
    expect(findingOf(samePort, `port ${new URL(server.url).port}`)?.level).toBe("ok");
    const otherAddress = freePort();
    const other = await runDoctor(data, "--listen", otherAddress);
    expect(findingOf(other, `port ${otherAddress.split(":")[1]}`)?.finding).toContain(
      "does not listen",
    );
    // Without --listen there is no port to compare with.
    const { findings } = JSON.parse(
      (await runBerth(["doctor", "--data", data, "--json"])).stdout,
    ) as DoctorOutput;
    expect(findings.filter(({ check }) => check.startsWith("port "))).toEqual([]);
    expect(findingOf({ worst_level: "", findings }, "service")?.finding).toBe(
      "running, but not as a service",
    );
  });

  test.each([
    ["is valid", 0, "ok", 0],
    ["expires soon", 800, "warning", 1],
    ["has expired", 900, "error", 78],
  ] as const)("reports a certificate that %s", async (_what, daysAgo, level, code) => {
    const data = await makeSite();
    mkdirSync(join(data, "tls"), { mode: 0o700 });
    const createdAt = Date.now() - daysAgo * DAY;
    const { certificate } = issueServerCertificate(
      createAuthority("CA", { names: [hostname()], addresses: null }, createdAt),
      [hostname()],
      createdAt,
    );
    writeFileSync(join(data, "tls", "server.pem"), certificate, { mode: 0o600 });
    const report = await runDoctor(data);
    expect(findingOf(report, "certificate")?.level).toBe(level);
    if (code !== 0) expect(report.code).toBe(code);
    if (code !== 0) expect(findingOf(report, "certificate")?.remedy).toContain("berth tls init");
  });

  test("reports a certificate file without a certificate as an error", async () => {
    const data = await makeSite();
    mkdirSync(join(data, "tls"), { mode: 0o700 });
    writeFileSync(join(data, "tls", "server.pem"), "no certificate", { mode: 0o600 });
    const report = await runDoctor(data);
    expect([report.code, findingOf(report, "certificate")?.level]).toEqual([78, "error"]);
  });
});

describe("berth doctor on the site", () => {
  /** The status and clock replies of a server, for tests to modify. */
  async function readReplies(): Promise<{ status: StatusReply; clock: ClockReply }> {
    const data = await makeSite();
    const status = await runJsonOrThrow<StatusReply>(["status", "--data", data]);
    return { status, clock: await runJsonOrThrow<ClockReply>(["clock", "--data", data]) };
  }

  const levelOf = (findings: readonly Finding[], check: RegExp): string | undefined =>
    findings.find((finding) => check.test(finding.check))?.level;

  test("shows the time of day when a license ends within hours, as berth status does", async () => {
    const data = join(tempFolder(), "data");
    const end = new Date(Date.now() + 2 * HOUR).toISOString();
    await makeLicensedSite(data, {
      product: "cad",
      type: "time-limited",
      validUntil: instant(Date.parse(end)),
    });
    // Two hours later may be tomorrow.
    const ending = new RegExp(`expires (?:today|tomorrow) at ${end.slice(11, 16)} UTC`);
    const { findings } = await runDoctor(data);
    const finding = findings.find(({ check }) => check.startsWith("license "));
    expect([finding?.level, finding?.finding]).toEqual(["warning", expect.stringMatching(ending)]);
    expect((await runBerth(["status", "--data", data])).stdout).toMatch(ending);
  });

  test("rates licenses, hardware, disk and clock by the server's replies", async () => {
    const { status, clock } = await readReplies();
    const [license] = status.licenses;
    if (license === undefined) throw new Error("the site has no license");
    const ending = (days: number) => {
      const validity_period = new Date(Date.parse(status.now) + days * DAY).toISOString();
      return checkSite({ ...status, licenses: [{ ...license, validity_period }] }, clock);
    };
    expect(levelOf(ending(31), /^license/)).toBe("ok");
    expect(levelOf(ending(29), /^license/)).toBe("warning");
    const refused = { ...license, refusal: "license_expired" };
    expect(levelOf(checkSite({ ...status, licenses: [refused] }, clock), /^license/)).toBe(
      "warning",
    );
    const full = { ...license, floating_slots_in_use: license.floating_users };
    expect(levelOf(checkSite({ ...status, licenses: [full] }, clock), /^license/)).toBe("note");
    expect(levelOf(checkSite({ ...status, licenses: [] }, clock), /^licenses/)).toBe("note");
    const drifted = { ...license, hardware_drift: ["machine_id"] };
    const drift = checkSite({ ...status, licenses: [drifted] }, clock);
    expect(drift.filter(({ level }) => level === "warning").map(({ check }) => check)).toEqual([
      "hardware",
    ]);
    // A license signed for another host is reported once, with the end of its validity here.
    const moved = { ...drifted, moved_until: "2030-01-01T00:00:00Z" };
    const movedFindings = checkSite({ ...status, licenses: [moved] }, clock);
    expect(
      movedFindings.filter(({ level }) => level === "warning").map(({ finding }) => finding),
    ).toEqual([
      `${license.product} is signed for the host it was moved from and valid here until 2030-01-01T00:00:00Z`,
    ]);
    const away = checkSite({ ...status, moved_away_at: "2030-01-01T00:00:00Z" }, clock);
    expect(away.map(({ check, level }) => [check, level])).toEqual([["moved", "warning"]]);
    const storage = { ...status.storage, fault: "storage_full" };
    expect(levelOf(checkSite({ ...status, storage }, clock), /^disk$/)).toBe("error");
    for (const [state, level] of [
      ["ok", "ok"],
      ["ahead", "warning"],
      ["behind", "warning"],
    ] as const) {
      expect(levelOf(checkSite(status, { ...clock, state }), /^clock/)).toBe(level);
    }
  });
});
