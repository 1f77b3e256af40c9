// Runs on the machine that `run.ts` boots: what an operator does with the service, from the first
// installation to its removal. The service is installed before the first test, and each test leaves
// it running, so that `-t` can choose any test.
import { afterAll, beforeAll, describe, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  expectTrue,
  type CommandResult,
  waitForAnswer,
  answersNow,
  callApi,
  DATA_FOLDER,
  listHolders,
  installLicense,
  startLoad,
  readMainPid,
  findMissingUsers,
  runOrThrow,
  run,
  runAsync,
  SERVICE,
  readUnitProperty,
} from "./machine.ts";
import { testBackupFolder } from "./backup-folder-tests.ts";
import { testEvents } from "./event-tests.ts";
import { testUpgrades } from "./upgrade-tests.ts";
import type { DoctorReply } from "../../src/http/running-server.ts";
import { isEventuallyTrue } from "../support/wait-until.ts";

const shared = process.env["BERTH_TEST_BUILDS"] ?? "";
const build = (name: string): string => join(shared, name);
const install = (name: string) => runAsync(build(name), "service", "install");

interface FirstInstallation {
  readonly dryRun: CommandResult;
  /** What the dry run created; it must create nothing. */
  readonly createdByDryRun: readonly string[];
  readonly installed: CommandResult;
  readonly wasReady: boolean;
}

let first: FirstInstallation;

beforeAll(async () => {
  const dryRun = run(build("berth"), "service", "install", "--dry-run");
  const createdByDryRun = ["/usr/local/bin/berth", "/etc/berth"].filter((path) => existsSync(path));
  const installed = await install("berth");
  first = { dryRun, createdByDryRun, installed, wasReady: await answersNow() };
  installLicense(100_000);
  await callApi("/api/v4/register", { product: "CAD", user: "ada" });
  writeFileSync("/root/keys", "apiKey=of-the-cloud\nsharedKey=of-the-cloud\n", { mode: 0o600 });
});

// The last lines of the service's log explain most failures.
afterAll(() => {
  console.log(run("journalctl", "-u", SERVICE, "-n", "40", "--no-pager").output);
});

describe("the first installation", () => {
  test("service install --dry-run lists its steps and changes nothing", () => {
    const { dryRun, createdByDryRun } = first;
    expectTrue(
      dryRun.code === 0 &&
        dryRun.output.includes("to do  the unit: ") &&
        createdByDryRun.length === 0,
      first,
    );
  });

  test("service install installs the service, which is ready when the command ends", () => {
    expectTrue(
      first.installed.code === 0 &&
        first.wasReady &&
        existsSync("/usr/local/share/man/man1/berth.1") &&
        existsSync("/usr/local/share/bash-completion/completions/berth"),
      first,
    );
  });

  test("the service has Type=notify, is enabled, and runs as its own user", () => {
    expectTrue(
      readUnitProperty("Type") === "notify" &&
        run("systemctl", "is-enabled", SERVICE).code === 0 &&
        statSync(`/proc/${readMainPid()}`).uid === statSync(DATA_FOLDER).uid &&
        statSync(DATA_FOLDER).uid !== 0 &&
        (statSync(DATA_FOLDER).mode & 0o777) === 0o700,
      { type: readUnitProperty("Type"), uid: statSync(`/proc/${readMainPid()}`).uid },
    );
  });

  test("the key of the site CA is readable only by root and not in the data folder", () => {
    const key = statSync("/etc/berth/ca/ca.key");
    expectTrue(
      key.uid === 0 &&
        (key.mode & 0o777) === 0o600 &&
        (statSync("/etc/berth/ca").mode & 0o777) === 0o700 &&
        !existsSync(`${DATA_FOLDER}/tls/ca.key`),
      { uid: key.uid, mode: key.mode.toString(8) },
    );
  });

  test("systemd-analyze security rates the service at most 1.5", () => {
    const { output } = run("systemd-analyze", "security", SERVICE, "--no-pager");
    const exposure = /exposure level for berth\.service: ([\d.]+)/.exec(output)?.[1];
    expectTrue(Number(exposure) <= 1.5, exposure);
  });

  test("a license can be installed and a user can register", async () => {
    const registered = await callApi("/api/v4/register", { product: "CAD", user: "ada" });
    expectTrue(registered.status === 200, registered);
  });

  test("a second service install changes nothing and does not restart the service", async () => {
    const pid = readMainPid();
    const token = readFileSync("/etc/berth/admin-token", "utf8");
    const reinstalled = await install("berth");
    expectTrue(
      reinstalled.code === 0 &&
        readMainPid() === pid &&
        readFileSync("/etc/berth/admin-token", "utf8") === token &&
        !reinstalled.output.includes("done "),
      reinstalled.output,
    );
  });
});

test("the admin API requires the installed token, over HTTP and over TLS", async () => {
  const token = readFileSync("/etc/berth/admin-token", "utf8").trim();
  const bearer = { headers: { authorization: `Bearer ${token}` } };
  const tls = { ca: readFileSync(`${DATA_FOLDER}/tls/ca.pem`, "utf8") };
  const path = "/api/admin/v1/status";
  const [without, withToken, overTls] = await Promise.all([
    callApi(path),
    callApi(path, null, bearer),
    callApi(path, null, { ...bearer, base: "https://localhost:8443", tls }),
  ]);
  expectTrue(without.status === 401 && withToken.status === 200 && overTls.status === 200, [
    without,
    withToken.status,
    overTls.status,
  ]);
});

test("only root can read the admin token", () => {
  const { mode, uid } = statSync("/etc/berth/admin-token");
  expectTrue((mode & 0o777) === 0o600 && uid === 0, { mode, uid });
});

test("cloud keys are sealed with a key that is not in the data folder", () => {
  const keysSet = run("sh", "-c", "berth keys set < /root/keys");
  expectTrue(
    keysSet.code === 0 &&
      existsSync(`${DATA_FOLDER}/credentials.sealed`) &&
      !existsSync(`${DATA_FOLDER}/sealing.key`),
    keysSet.output,
  );
});

// Simulates the time shortly before the token expires, a year after the installation.
test("the installed token expires after a year, doctor warns before, and service install renews it", async () => {
  const path = "/etc/berth/admin-token";
  const before = readFileSync(path, "utf8").trim();
  runOrThrow("systemctl", "stop", SERVICE);
  const list = JSON.parse(readFileSync(`${DATA_FOLDER}/access.json`, "utf8")) as {
    readonly tokens: readonly { readonly name: string; readonly endsAt: number | null }[];
  };
  const hasExpiry = list.tokens.every(({ endsAt }) => endsAt !== null);
  const day = 24 * 60 * 60 * 1_000;
  const [madeAt, endsAt] = [Date.now() - 355 * day, Date.now() + 10 * day];
  const tokens = list.tokens.map((token) => ({ ...token, madeAt, endsAt }));
  writeFileSync(`${DATA_FOLDER}/access.json`, JSON.stringify({ ...list, tokens }));
  runOrThrow("systemctl", "start", SERVICE);
  const warned = run("berth", "doctor").output;
  const reinstalled = await install("berth");
  const after = readFileSync(path, "utf8").trim();
  const statusWith = async (token: string): Promise<number> =>
    (await callApi("/api/admin/v1/status", null, { headers: { authorization: `Bearer ${token}` } }))
      .status;
  const statuses = [await statusWith(before), await statusWith(after)];
  const doctorAfter = run("berth", "doctor").output;
  expectTrue(
    hasExpiry &&
      warned.includes("The token service expires in ") &&
      reinstalled.code === 0 &&
      after !== before &&
      statuses.every((status) => status === 200) &&
      !doctorAfter.includes("The token "),
    { list, warned, reinstalled: reinstalled.output, statuses, doctorAfter },
  );
});

/** The key that a license request contains: the one that the service uses. */
function readApiKey(): unknown {
  const args = ["license", "request", "--product", "CAD", "--license-key", "K-1", "--json"];
  const { cloud_payload = "" } = JSON.parse(runOrThrow("berth", ...args)) as {
    readonly cloud_payload?: string;
  };
  const payload = Buffer.from(cloud_payload, "base64").toString() || "{}";
  return (JSON.parse(payload) as { readonly api_key?: string }).api_key;
}

// systemd passes cloud keys that only root can read to the service, like the sealing key.
describe("cloud keys in /etc/berth", () => {
  let reinstalled: CommandResult;

  beforeAll(async () => {
    writeFileSync("/etc/berth/api-key", "api-key-from-outside\n", { mode: 0o600 });
    writeFileSync("/etc/berth/shared-key", "shared-key-from-outside\n", { mode: 0o600 });
    reinstalled = await install("berth");
  });

  test("are used after the next service install and after a restart", () => {
    const before = readApiKey();
    runOrThrow("systemctl", "restart", SERVICE);
    const after = readApiKey();
    expectTrue(reinstalled.code === 0 && before === "api-key-from-outside" && after === before, {
      reinstalled: reinstalled.output,
      before,
      after,
    });
  });

  test("take precedence, and keys set is refused while the service is stopped", () => {
    runOrThrow("sh", "-c", "berth keys set < /root/keys");
    const keysSet = readApiKey();
    runOrThrow("systemctl", "stop", SERVICE);
    const stopped = run("sh", "-c", "berth keys set < /root/keys");
    runOrThrow("systemctl", "start", SERVICE);
    const later = readApiKey();
    expectTrue(
      keysSet === "api-key-from-outside" &&
        stopped.code === 1 &&
        stopped.output.includes("systemctl start berth") &&
        later === "api-key-from-outside",
      { keysSet, stopped, later },
    );
  });
});

test("doctor has no finding except the container's file system", () => {
  const doctor = run("berth", "doctor", "--json");
  const { findings, passed_checks: passed } = JSON.parse(doctor.output) as DoctorReply;
  const problems = findings.filter(({ severity }) => severity !== "note");
  // The container's root is an overlay file system, about which doctor rightly warns.
  expectTrue(
    problems.every(({ code }) => code === "file_system_unsafe") &&
      doctor.code === (problems.length === 0 ? 0 : 1) &&
      passed.some(({ summary }) => summary === "The service is running") &&
      passed.some(({ summary }) => /^The server listens on .*:8443$/.test(summary)),
    { code: doctor.code, findings, passed },
  );
});

test("the support bundle contains the service's log and no user names", async () => {
  await callApi("/api/admin/v1/status");
  const logText = '"path":"/api/admin/v1/status"';
  // The answer may arrive before its log line.
  await isEventuallyTrue(() =>
    run("journalctl", "-u", SERVICE, "--no-pager").output.includes(logText),
  );
  const bundled = run("berth", "support-bundle", "/root/support.tar", "--yes");
  const names = run("tar", "-tf", "/root/support.tar").output.trim().split("\n");
  const log = run("tar", "-xOf", "/root/support.tar", "log.txt").output;
  const all = run("tar", "-xOf", "/root/support.tar").output;
  expectTrue(
    bundled.code === 0 &&
      names.includes("log.txt") &&
      log.includes(logText) &&
      !/\bada\b/.test(all) &&
      (statSync("/root/support.tar").mode & 0o777) === 0o600,
    { bundled: bundled.output, names, log: log.slice(-500) },
  );
});

test("doctor exits with 78 for an enabled service that is not running", () => {
  runOrThrow("systemctl", "stop", SERVICE);
  const stopped = run("berth", "doctor");
  runOrThrow("systemctl", "start", SERVICE);
  expectTrue(stopped.code === 78 && stopped.output.includes("not running"), stopped);
});

// The admin page runs maintenance inside the sandbox of the unit.
test("inside its sandbox the service finds no error and makes a complete backup", async () => {
  const unix = join(DATA_FOLDER, "berth.sock");
  const at = (path: string) => `http://berth/api/admin/v1/${path}`;
  const doctorReport = (await (await fetch(at("doctor"), { unix })).json()) as DoctorReply;
  const verifyReport = (await (await fetch(at("verify"), { unix })).json()) as { intact: boolean };
  const backup = await fetch(at("backup"), { unix, method: "POST" });
  writeFileSync("/root/from-afar.tar", await backup.bytes(), { mode: 0o600 });
  const verified = run("berth", "verify", "/root/from-afar.tar");
  expectTrue(
    doctorReport.findings.every(({ severity }) => severity !== "error") &&
      verifyReport.intact &&
      backup.status === 200 &&
      verified.code === 0,
    { doctorReport, verifyReport, status: backup.status, verified },
  );
});

test("after five kills under load the service restarts and keeps all acknowledged registrations", async () => {
  const { registeredUsers, unexpectedReplies, waitForProgress, stop } = startLoad("killed");
  const rounds = 5;
  const restarted: boolean[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await waitForProgress();
    // Long enough for the load to run, so that each round kills the server at another point.
    await Bun.sleep(500);
    const pid = readMainPid();
    process.kill(pid, "SIGKILL");
    restarted.push(
      (await isEventuallyTrue(() => ![0, pid].includes(readMainPid()))) && (await waitForAnswer()),
    );
    run("systemctl", "reset-failed", SERVICE);
  }
  await stop();
  const missingUsers = findMissingUsers(registeredUsers);
  expectTrue(
    restarted.every(Boolean) &&
      registeredUsers.size > 0 &&
      missingUsers.length === 0 &&
      unexpectedReplies.length === 0,
    {
      restarted,
      missingUsers: missingUsers.slice(0, 5),
      unexpectedReplies: unexpectedReplies.slice(0, 5),
    },
  );
});

// Uses the unit's timeout of 30 s: a shorter one could expire on a busy machine.
test("a running service notifies its watchdog, and a hanging one is restarted", async () => {
  const watchdogTime = (): number => Number(readUnitProperty("WatchdogTimestampMonotonic"));
  const pid = readMainPid();
  const before = watchdogTime();
  const isFed = (await isEventuallyTrue(() => watchdogTime() > before)) && readMainPid() === pid;
  process.kill(pid, "SIGSTOP");
  const restarted = await isEventuallyTrue(() => ![0, pid].includes(readMainPid()));
  expectTrue(isFed && restarted && (await waitForAnswer()) && listHolders().has("ada"), {
    isFed,
    pid,
    now: readMainPid(),
  });
  run("systemctl", "reset-failed", SERVICE);
});

test("stopped under load, the service ends cleanly and keeps all acknowledged registrations", async () => {
  const { registeredUsers, unexpectedReplies, waitForProgress, stop } = startLoad("stopped");
  await waitForProgress();
  await Bun.sleep(500);
  const stopped = await runAsync("systemctl", "stop", SERVICE);
  const result = readUnitProperty("Result");
  await stop();
  runOrThrow("systemctl", "start", SERVICE);
  await waitForAnswer();
  const missingUsers = findMissingUsers(registeredUsers);
  expectTrue(
    stopped.code === 0 &&
      result === "success" &&
      registeredUsers.size > 0 &&
      missingUsers.length === 0 &&
      unexpectedReplies.length === 0,
    {
      result,
      missingUsers: missingUsers.slice(0, 5),
      unexpectedReplies: unexpectedReplies.slice(0, 5),
    },
  );
});

test("a damaged data folder ends the service with status 78 and without restarts", async () => {
  runOrThrow("systemctl", "stop", SERVICE);
  const state = readFileSync(`${DATA_FOLDER}/state.json`);
  const damaged = Buffer.from(state);
  damaged[damaged.length >> 1] = (damaged[damaged.length >> 1] ?? 0) ^ 1;
  writeFileSync(`${DATA_FOLDER}/state.json`, damaged);
  const { code } = run("systemctl", "start", SERVICE);
  await Bun.sleep(3_000);
  const status = readUnitProperty("ExecMainStatus");
  const restarts = readUnitProperty("NRestarts");
  writeFileSync(`${DATA_FOLDER}/state.json`, state);
  run("systemctl", "reset-failed", SERVICE);
  runOrThrow("systemctl", "start", SERVICE);
  await waitForAnswer();
  expectTrue(code !== 0 && status === "78" && restarts === "0", { code, status, restarts });
});

test("systemctl reload loads a new certificate while the service answers requests", async () => {
  const { registeredUsers, unexpectedReplies, waitForProgress, stop } = startLoad("reloaded");
  await waitForProgress();
  const pid = readMainPid();
  runOrThrow("berth", "tls", "init", "--new-ca", "--names", "berth.plant7.lan");
  const reloaded = await runAsync("systemctl", "reload", SERVICE);
  const tls = {
    ca: readFileSync(`${DATA_FOLDER}/tls/ca.pem`, "utf8"),
    serverName: "berth.plant7.lan",
  };
  let answer: { readonly status: number | string } = { status: 0 };
  // The command returns when the signal is sent; the server reads the files a little later.
  await isEventuallyTrue(async () => {
    answer = await callApi("/api/v4/health", null, { base: "https://127.0.0.1:8443", tls }).catch(
      (error: unknown) => ({ status: String(error) }),
    );
    return answer.status === 200;
  });
  await waitForProgress();
  await stop();
  expectTrue(
    reloaded.code === 0 &&
      readMainPid() === pid &&
      answer.status === 200 &&
      registeredUsers.size > 0 &&
      unexpectedReplies.length === 0,
    { reloaded, answer, unexpectedReplies: unexpectedReplies.slice(0, 5) },
  );
});

testBackupFolder(() => install("berth"));
testEvents();
testUpgrades(build);
