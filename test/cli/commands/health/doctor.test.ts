import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { exitCodeFor } from "../../../../src/cli/doctor/doctor-report.ts";
import { parseFirewalld, parseUfw, rateFirewall } from "../../../../src/cli/doctor/firewall.ts";
import { checkFileSystem, rateSyncSpeed } from "../../../../src/cli/doctor/folder.ts";
import { checkServiceState } from "../../../../src/cli/doctor/host.ts";
import type { StatusReply } from "../../../../src/http/routes/health/status-schema.ts";
import type { DoctorReply } from "../../../../src/http/running-server.ts";
import { DAY, HOUR, instant } from "../../../../src/domain/time.ts";
import {
  createFinding,
  worstSeverity,
  SERVER_CODES,
  type HealthReport,
} from "../../../../src/operations/health/finding.ts";
import { issueServerCertificate, createAuthority } from "../../../../src/platform/crypto/x509.ts";
import { findFreePort } from "../../../support/free-ports.ts";
import { runBerth, runJsonOrThrow, runOrThrow, startServer } from "../../../support/run-berth.ts";
import { makeLicensedSite } from "../../../support/site-folder.ts";
import { contentsOf, tempFolder } from "../../../support/temp-folder.ts";

/** Returns an address on this machine at which nothing listens. */
const freeAddress = (): string => `127.0.0.1:${findFreePort()}`;

/** Runs berth doctor on a folder and returns its report and exit code. */
async function runDoctor(
  data: string,
  ...words: string[]
): Promise<DoctorReply & { code: number }> {
  const listen = words.includes("--listen") ? [] : ["--listen", freeAddress()];
  const result = await runBerth(["doctor", "--data", data, "--json", ...listen, ...words]);
  expect(result.stderr).toBe("");
  return { ...(JSON.parse(result.stdout) as DoctorReply), code: result.code };
}

type Finding = DoctorReply["findings"][number];

const findingOf = ({ findings }: DoctorReply, code: string): Finding | undefined =>
  findings.find((finding) => finding.code === code);

const passedOf = ({ passed_checks }: DoctorReply, check: string): string | undefined =>
  passed_checks.find((passed) => passed.check === check)?.summary;

async function makeSite(): Promise<string> {
  const data = join(tempFolder(), "data");
  await makeLicensedSite(data, { product: "cad" });
  return data;
}

/** The findings that ask for action, except that test folders may be in memory (tmpfs). */
const problemsIn = ({ findings }: DoctorReply): string[] =>
  findings
    .filter(({ severity, code }) => severity !== "note" && code !== "file_system_unsafe")
    .map(({ code, summary }) => `${code}: ${summary}`);

describe("doctor findings", () => {
  test("set the exit code by their worst severity: note 0, warning 1, error 78", () => {
    const texts = { summary: "", remedy: "" };
    const note = createFinding("service_missing", "note", texts);
    const warning = createFinding("sync_slow", "warning", texts);
    const broken = createFinding("data_damaged", "error", texts);
    for (const [findings, worst, code] of [
      [[], null, 0],
      [[note], "note", 0],
      [[warning, note], "warning", 1],
      [[note, warning, broken], "error", 78],
    ] as const) {
      expect([worstSeverity(findings), exitCodeFor({ findings })]).toEqual([worst, code]);
    }
  });

  const codeOf = ({ findings }: HealthReport): string | undefined => findings[0]?.code;
  const summaryOf = ({ findings, passed }: HealthReport): string | undefined =>
    findings[0]?.summary ?? passed[0]?.summary;

  test("rate file system and sync speed by their figures", () => {
    expect(codeOf(checkFileSystem(0xef53))).toBeUndefined();
    expect(codeOf(checkFileSystem(0x01021994))).toBe("file_system_unsafe");
    expect(summaryOf(checkFileSystem(0x01021994))).toContain(" on tmpfs: ");
    expect(summaryOf(checkFileSystem(0x6969))).toContain(" on NFS: ");
    expect(summaryOf(rateSyncSpeed([1, 500, 2, 600, 3]))).toBe("A sync of the disk takes 3.00 ms");
    expect(codeOf(rateSyncSpeed([100]))).toBeUndefined();
    expect(codeOf(rateSyncSpeed([101]))).toBe("sync_slow");
  });

  test("report a service that does not run as an error, and an unknown state as a note", () => {
    const result = () => "exit-code";
    expect(checkServiceState({ ok: true, output: "active" }, result)).toBeNull();
    const failed = checkServiceState({ ok: false, output: "failed" }, result)?.findings[0];
    expect(failed).toMatchObject({
      code: "service_stopped",
      severity: "error",
      summary: "The service is not running (exit-code)",
    });
    const bus = "Failed to connect to bus: Operation not permitted";
    for (const text of [bus, "systemctl is not installed", ""]) {
      const unknown = checkServiceState({ ok: false, output: text }, result)?.findings[0];
      expect([unknown?.code, unknown?.severity]).toEqual(["service_unknown", "note"]);
    }
  });

  test("name every closed port of a firewall, and the command that allows them all", () => {
    const firewalld = parseFirewalld("443/tcp 8080/tcp 53/udp");
    expect(codeOf(rateFirewall(firewalld, [8080, 443]))).toBeUndefined();
    expect(rateFirewall(firewalld, [8080, 8443, 53]).findings[0]).toMatchObject({
      code: "firewall_closed",
      summary: "firewalld is active and does not allow port 8443, 53",
      command:
        "firewall-cmd --permanent --add-port=8443/tcp --add-port=53/tcp && firewall-cmd --reload",
    });
    const ufw = parseUfw(
      "Status: active\n\nTo    Action\n22/tcp  ALLOW  Anywhere\n8080  ALLOW  Any",
    );
    expect(codeOf(rateFirewall(ufw, [8080]))).toBeUndefined();
    expect(rateFirewall(ufw, [8080, 8443, 9000]).findings[0]?.command).toBe(
      "ufw allow 8443/tcp && ufw allow 9000/tcp",
    );
  });
});

describe("berth doctor on a data folder", () => {
  test("finds no problem in an intact one and adds only the lock file", async () => {
    const data = await makeSite();
    const before = contentsOf(data);
    const report = await runDoctor(data);
    expect(problemsIn(report)).toEqual([]);
    expect(passedOf(report, "permissions")).toBe("Only the owner of the data folder can read it");
    expect(passedOf(report, "data")).toMatch(/^The data is intact: \d+ changes/);
    expect(passedOf(report, "licenses")).toBe("1 license is valid");
    expect(findingOf(report, "service_missing")?.severity).toBe("note");
    expect(Object.keys(contentsOf(data))).toEqual(Object.keys({ ...before, lock: "" }).toSorted());
  });

  test("warns when other users can read the folder or a file in it", async () => {
    const data = await makeSite();
    chmodSync(data, 0o750);
    const open = await runDoctor(data);
    const command = findingOf(open, "folder_readable")?.command;
    expect([open.code, command]).toEqual([1, `chmod 700 ${data}`]);
    chmodSync(data, 0o700);
    mkdirSync(join(data, "tls"), { mode: 0o700 });
    const key = join(data, "tls", "ca.key");
    writeFileSync(key, "", { mode: 0o644 });
    const deep = await runDoctor(data);
    expect(findingOf(deep, "folder_readable")).toMatchObject({
      severity: "warning",
      command: `chmod go= ${key}`,
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
    expect([report.code, report.worst_severity]).toEqual([78, "error"]);
    const finding = findingOf(report, "data_damaged");
    const refused = await runBerth(["serve", "--data", data, "--listen", "127.0.0.1:0"]);
    expect(refused.code).toBe(78);
    expect(finding?.summary).toContain("state.json");
    expect(refused.stderr.toLowerCase()).toContain(finding?.remedy.toLowerCase() ?? "no remedy");
    const { lock: _after, ...after } = contentsOf(data);
    expect(after).toEqual(before);
    const text = await runBerth(["doctor", "--data", data, "--listen", freeAddress()]);
    expect(text.code).toBe(78);
    expect(text.stdout).toMatch(/^error +\S/);
    expect(text.stdout).toContain("(data_damaged)");
  });

  test("exits with 78 for a missing folder and does not create it", async () => {
    const data = join(tempFolder(), "data");
    const report = await runDoctor(data);
    const remedy = findingOf(report, "folder_missing")?.remedy;
    expect([report.code, remedy]).toEqual([78, "Check --data"]);
    expect(contentsOf(dirname(data))).toEqual({ ".": "700" });
  });
});

describe("berth doctor on the host", () => {
  test("names the process that uses the port", async () => {
    const other = await startServer(["serve", "--data", join(tempFolder(), "data")]);
    const listen = new URL(other.url).host;
    const report = await runDoctor(await makeSite(), "--listen", listen);
    expect(report.code).toBe(1);
    const finding = findingOf(report, "port_taken");
    expect([finding?.severity, finding?.subject]).toEqual(["warning", new URL(other.url).port]);
    expect(finding?.summary).toContain(`in use by process ${other.pid} (`);
  });

  test("accepts the port of the running server and warns about another configured port", async () => {
    const data = await makeSite();
    await runOrThrow(["admin", "token", "--name", "ops", "--data", data]);
    const server = await startServer(["serve", "--data", data]);
    const samePort = await runDoctor(data, "--listen", new URL(server.url).host);
    expect(problemsIn(samePort)).toEqual([]);
    expect(passedOf(samePort, "port")).toBe(`The server listens on ${new URL(server.url).host}`);
    const otherAddress = freeAddress();
    const other = await runDoctor(data, "--listen", otherAddress);
    expect(findingOf(other, "port_closed")?.summary).toContain(`not listen on ${otherAddress}`);
    // Without --listen there is no port to compare with.
    const noPort = JSON.parse(
      (await runBerth(["doctor", "--data", data, "--json"])).stdout,
    ) as DoctorReply;
    expect([passedOf(noPort, "port"), findingOf(noPort, "port_closed")]).toEqual([
      undefined,
      undefined,
    ]);
    expect(findingOf(noPort, "service_missing")?.summary).toContain("does not run as a service");
  });

  test.each([
    ["is valid", 0, undefined, 0],
    ["expires soon", 800, "certificate_expiring", 1],
    ["has expired", 900, "certificate_expired", 78],
  ] as const)("reports a certificate that %s", async (_what, daysAgo, findingCode, code) => {
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
    const finding = report.findings.find(({ code: found }) => found.startsWith("certificate_"));
    expect([finding?.code, passedOf(report, "certificate") === undefined]).toEqual([
      findingCode,
      code !== 0,
    ]);
    if (code !== 0) expect([report.code, finding?.command]).toEqual([code, "berth tls init"]);
  });

  test("reports a certificate file without a certificate as an error", async () => {
    const data = await makeSite();
    mkdirSync(join(data, "tls"), { mode: 0o700 });
    writeFileSync(join(data, "tls", "server.pem"), "no certificate", { mode: 0o600 });
    const report = await runDoctor(data);
    expect([report.code, findingOf(report, "certificate_invalid")?.severity]).toEqual([
      78,
      "error",
    ]);
  });
});

describe("berth doctor on the site", () => {
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
    const report = await runDoctor(data);
    const finding = findingOf(report, "license_expiring");
    expect([finding?.severity, finding?.summary]).toEqual([
      "warning",
      expect.stringMatching(ending),
    ]);
    expect((await runBerth(["status", "--data", data])).stdout).toMatch(ending);
  });

  test("notes usage files that are missing, which verify accepts and a rebuild repairs", async () => {
    const data = await makeSite();
    await runOrThrow(["usage", "rebuild", "--data", data]);
    expect(passedOf(await runDoctor(data), "usage")).toContain("cover the last checkpoint");
    writeFileSync(join(data, "usage", "position.json"), "{");
    const report = await runDoctor(data);
    expect(problemsIn(report)).toEqual([]);
    expect(findingOf(report, "usage_outdated")).toMatchObject({
      severity: "note",
      summary: expect.stringContaining("position.json is missing or cannot be read"),
      command: expect.stringContaining("berth usage rebuild"),
    });
    expect((await runBerth(["verify", "--data", data])).code).toBe(0);
    await runOrThrow(["usage", "rebuild", "--data", data]);
    expect(findingOf(await runDoctor(data), "usage_outdated")).toBeUndefined();
  });

  test("finds what berth status finds, with the same words, with and without a server", async () => {
    const data = await makeSite();
    await runOrThrow(["admin", "token", "--name", "ops", "--days", "never", "--data", data]);
    const codes = new Set<string>(SERVER_CODES);
    for (const isServing of [false, true]) {
      if (isServing) await startServer(["serve", "--data", data, "--allow-plain-credentials"]);
      const status = await runJsonOrThrow<StatusReply>(["status", "--data", data]);
      const doctor = JSON.parse(
        (await runBerth(["doctor", "--data", data, "--json"])).stdout,
      ) as DoctorReply;
      const shared = doctor.findings.filter(({ code }) => codes.has(code));
      expect(shared).toEqual(status.findings);
      expect(shared.map(({ code }) => code)).toContain("token_no_expiry");
      expect(shared.some(({ code }) => code === "plain_credentials")).toBe(isServing);
    }
  });

  test("prints findings and passed checks in at most 100 columns", async () => {
    const data = await makeSite();
    await startServer(["serve", "--data", data, "--client-networks", LONG_NETWORK_LIST]);
    for (const command of ["doctor", "status"]) {
      const { stdout } = await runBerth([command, "--data", data]);
      const lines = stdout.split("\n").map((line) => line.replaceAll(data, "DATA"));
      expect(lines.filter((line) => line.length > 100 && line.trim().includes(" "))).toEqual([]);
      expect(stdout).toContain("(clients_open)");
      // A command that is printed uses the same folder.
      expect(stdout).toContain(` $ berth admin token --name me --data ${data}\n`);
    }
  });
});

const LONG_NETWORK_LIST = Array.from({ length: 20 }, (_, n) => `10.${n}.0.0/16`).join(",");
