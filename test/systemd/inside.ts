// Runs on the machine that `systemd.ts` boots: what an operator does with the service, from the
// first installation to its removal.
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { check, finish } from "../support/suite-harness.ts";
import {
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
import { checkUpgrades } from "./upgrades.ts";
import { isEventuallyTrue } from "../support/wait-until.ts";

const [shared = ""] = process.argv.slice(2);
const build = (name: string): string => join(shared, name);
const install = (name: string) => runAsync(build(name), "service", "install");

try {
  await checkFirstInstallation();
  await checkAccessControl();
  await checkTokenRenewal();
  await checkExternalCloudKeys();
  await checkDoctorAndSupportBundle();
  await checkMaintenanceOverHttp();
  await checkRestartAfterKill();
  await checkWatchdog();
  await checkStopUnderLoad();
  await checkDamagedDataFolder();
  await checkCertificateReload();
  await checkUpgrades(build);
} catch (error) {
  check("all checks ran to the end", false, `${Bun.inspect(error)}\n${readServiceLog()}`);
}
finish();

/** The last lines of the service's log. */
function readServiceLog(): string {
  return run("journalctl", "-u", SERVICE, "-n", "40", "--no-pager").output;
}

async function checkFirstInstallation(): Promise<void> {
  const dryRun = run(build("berth"), "service", "install", "--dry-run");
  check(
    "service install --dry-run lists its steps and changes nothing",
    dryRun.code === 0 &&
      dryRun.output.includes("to do  the unit: ") &&
      !existsSync("/usr/local/bin/berth") &&
      !existsSync("/etc/berth"),
    dryRun.output,
  );
  const installed = await install("berth");
  check(
    "service install installs the service, which is ready when the command ends",
    installed.code === 0 &&
      (await answersNow()) &&
      existsSync("/usr/local/share/man/man1/berth.1") &&
      existsSync("/usr/local/share/bash-completion/completions/berth"),
    installed.output,
  );
  check(
    "the service has Type=notify, is enabled, and runs as its own user",
    readUnitProperty("Type") === "notify" &&
      run("systemctl", "is-enabled", SERVICE).code === 0 &&
      statSync(`/proc/${readMainPid()}`).uid === statSync(DATA_FOLDER).uid &&
      statSync(DATA_FOLDER).uid !== 0 &&
      (statSync(DATA_FOLDER).mode & 0o777) === 0o700,
    { type: readUnitProperty("Type"), uid: statSync(`/proc/${readMainPid()}`).uid },
  );
  const key = statSync("/etc/berth/ca/ca.key");
  check(
    "the key of the site CA is readable only by root and not in the data folder",
    key.uid === 0 &&
      (key.mode & 0o777) === 0o600 &&
      (statSync("/etc/berth/ca").mode & 0o777) === 0o700 &&
      !existsSync(`${DATA_FOLDER}/tls/ca.key`),
    { uid: key.uid, mode: key.mode.toString(8) },
  );
  const exposure = /exposure level for berth\.service: ([\d.]+)/.exec(
    run("systemd-analyze", "security", SERVICE, "--no-pager").output,
  )?.[1];
  check(
    `systemd-analyze security rates the service at most 1.5 (${exposure})`,
    Number(exposure) <= 1.5,
  );
  installLicense(100_000);
  const registered = await callApi("/api/v4/register", { product: "CAD", user: "ada" });
  check(
    "a license can be installed and a user can register",
    registered.status === 200,
    registered,
  );
  const pid = readMainPid();
  const token = readFileSync("/etc/berth/admin-token", "utf8");
  const reinstalled = await install("berth");
  check(
    "a second service install changes nothing and does not restart the service",
    reinstalled.code === 0 &&
      readMainPid() === pid &&
      readFileSync("/etc/berth/admin-token", "utf8") === token &&
      !reinstalled.output.includes("done "),
    reinstalled.output,
  );
}

async function checkAccessControl(): Promise<void> {
  const token = readFileSync("/etc/berth/admin-token", "utf8").trim();
  const bearer = { headers: { authorization: `Bearer ${token}` } };
  const tls = { ca: readFileSync(`${DATA_FOLDER}/tls/ca.pem`, "utf8") };
  const path = "/api/admin/v1/status";
  const [without, withToken, overTls] = await Promise.all([
    callApi(path),
    callApi(path, null, bearer),
    callApi(path, null, { ...bearer, base: "https://localhost:8443", tls }),
  ]);
  check(
    "the admin API requires the installed token, over HTTP and over TLS",
    without.status === 401 && withToken.status === 200 && overTls.status === 200,
    [without, withToken.status, overTls.status],
  );
  check(
    "only root can read the admin token",
    (statSync("/etc/berth/admin-token").mode & 0o777) === 0o600 &&
      statSync("/etc/berth/admin-token").uid === 0,
  );
  writeFileSync("/root/keys", "apiKey=of-the-cloud\nsharedKey=of-the-cloud\n", { mode: 0o600 });
  const keysSet = run("sh", "-c", "berth keys set < /root/keys");
  check(
    "cloud keys are sealed with a key that is not in the data folder",
    keysSet.code === 0 &&
      existsSync(`${DATA_FOLDER}/credentials.sealed`) &&
      !existsSync(`${DATA_FOLDER}/sealing.key`),
    keysSet.output,
  );
}

/** Simulates the time shortly before the token expires, a year after the installation. */
async function checkTokenRenewal(): Promise<void> {
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
  check(
    "the installed token expires after a year, doctor warns before, and service install renews it",
    hasExpiry &&
      warned.includes("the token service expires in ") &&
      reinstalled.code === 0 &&
      after !== before &&
      statuses.every((status) => status === 200) &&
      !doctorAfter.includes("the token "),
    { list, warned, reinstalled: reinstalled.output, statuses, doctorAfter },
  );
}

/** The admin page runs maintenance inside the sandbox of the unit. */
async function checkMaintenanceOverHttp(): Promise<void> {
  const unix = join(DATA_FOLDER, "berth.sock");
  const at = (path: string) => `http://berth/api/admin/v1/${path}`;
  const doctorReport = (await (await fetch(at("doctor"), { unix })).json()) as {
    readonly findings: readonly { check: string; level: string }[];
  };
  const verifyReport = (await (await fetch(at("verify"), { unix })).json()) as { intact: boolean };
  const backup = await fetch(at("backup"), { unix, method: "POST" });
  writeFileSync("/root/from-afar.tar", await backup.bytes(), { mode: 0o600 });
  const verified = run("berth", "verify", "/root/from-afar.tar");
  check(
    "inside its sandbox the service finds no error and makes a complete backup",
    doctorReport.findings.every(({ level }) => level !== "error") &&
      verifyReport.intact &&
      backup.status === 200 &&
      verified.code === 0,
    { doctorReport, verifyReport, status: backup.status, verified },
  );
}

async function checkRestartAfterKill(): Promise<void> {
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
  check(
    `after ${rounds} kills under load the service restarts and keeps all ${registeredUsers.size} acknowledged registrations`,
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
}

/** Uses the unit's timeout of 30 s: a shorter one could expire on a busy machine. */
async function checkWatchdog(): Promise<void> {
  const watchdogTime = (): number => Number(readUnitProperty("WatchdogTimestampMonotonic"));
  const pid = readMainPid();
  const before = watchdogTime();
  const isFed = (await isEventuallyTrue(() => watchdogTime() > before)) && readMainPid() === pid;
  process.kill(pid, "SIGSTOP");
  const restarted = await isEventuallyTrue(() => ![0, pid].includes(readMainPid()));
  check(
    "a running service notifies its watchdog, and a hanging one is restarted",
    isFed && restarted && (await waitForAnswer()) && listHolders().has("ada"),
    { isFed, pid, now: readMainPid() },
  );
  run("systemctl", "reset-failed", SERVICE);
}

async function checkStopUnderLoad(): Promise<void> {
  const { registeredUsers, unexpectedReplies, waitForProgress, stop } = startLoad("stopped");
  await waitForProgress();
  await Bun.sleep(500);
  const stopped = await runAsync("systemctl", "stop", SERVICE);
  const result = readUnitProperty("Result");
  await stop();
  runOrThrow("systemctl", "start", SERVICE);
  await waitForAnswer();
  const missingUsers = findMissingUsers(registeredUsers);
  check(
    `stopped under load, the service ends cleanly and keeps all ${registeredUsers.size} acknowledged registrations`,
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
}

async function checkDamagedDataFolder(): Promise<void> {
  runOrThrow("systemctl", "stop", SERVICE);
  const state = readFileSync(`${DATA_FOLDER}/state.json`);
  const damaged = Buffer.from(state);
  damaged[damaged.length >> 1] = (damaged[damaged.length >> 1] ?? 0) ^ 1;
  writeFileSync(`${DATA_FOLDER}/state.json`, damaged);
  const started = run("systemctl", "start", SERVICE);
  await Bun.sleep(3_000);
  check(
    "a damaged data folder ends the service with status 78 and without restarts",
    started.code !== 0 &&
      readUnitProperty("ExecMainStatus") === "78" &&
      readUnitProperty("NRestarts") === "0",
    {
      code: started.code,
      status: readUnitProperty("ExecMainStatus"),
      restarts: readUnitProperty("NRestarts"),
    },
  );
  writeFileSync(`${DATA_FOLDER}/state.json`, state);
  run("systemctl", "reset-failed", SERVICE);
  runOrThrow("systemctl", "start", SERVICE);
  await waitForAnswer();
}

async function checkCertificateReload(): Promise<void> {
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
  check(
    "systemctl reload loads a new certificate while the service answers requests",
    reloaded.code === 0 &&
      readMainPid() === pid &&
      answer.status === 200 &&
      registeredUsers.size > 0 &&
      unexpectedReplies.length === 0,
    { reloaded, answer, unexpectedReplies: unexpectedReplies.slice(0, 5) },
  );
}

/** systemd passes cloud keys that only root can read to the service, like the sealing key. */
async function checkExternalCloudKeys(): Promise<void> {
  writeFileSync("/etc/berth/api-key", "api-key-from-outside\n", { mode: 0o600 });
  writeFileSync("/etc/berth/shared-key", "shared-key-from-outside\n", { mode: 0o600 });
  const reinstalled = await install("berth");
  const apiKey = (): unknown => {
    const args = ["license", "request", "--product", "CAD", "--license-key", "K-1", "--json"];
    const { cloud_payload = "" } = JSON.parse(runOrThrow("berth", ...args)) as {
      readonly cloud_payload?: string;
    };
    const payload = Buffer.from(cloud_payload, "base64").toString() || "{}";
    return (JSON.parse(payload) as { readonly api_key?: string }).api_key;
  };
  const first = apiKey();
  runOrThrow("systemctl", "restart", SERVICE);
  check(
    "cloud keys in /etc/berth are used after the next service install and after a restart",
    reinstalled.code === 0 && first === "api-key-from-outside" && apiKey() === first,
    { reinstalled: reinstalled.output, first, later: apiKey() },
  );
  runOrThrow("sh", "-c", "berth keys set < /root/keys");
  const keysSet = apiKey();
  runOrThrow("systemctl", "stop", SERVICE);
  const stopped = run("sh", "-c", "berth keys set < /root/keys");
  runOrThrow("systemctl", "start", SERVICE);
  check(
    "keys set is refused while the service is stopped, and cloud keys in /etc/berth take precedence",
    keysSet === "api-key-from-outside" &&
      stopped.code === 1 &&
      stopped.output.includes("systemctl start berth") &&
      apiKey() === "api-key-from-outside",
    { keysSet, stopped, later: apiKey() },
  );
}

async function checkDoctorAndSupportBundle(): Promise<void> {
  const doctor = run("berth", "doctor", "--json");
  const { findings } = JSON.parse(doctor.output) as {
    readonly findings: readonly { check: string; level: string; finding: string }[];
  };
  const problems = findings.filter(({ level }) => level === "warning" || level === "error");
  // The container's root is an overlay file system, about which doctor rightly warns.
  check(
    "doctor has no finding except the container's file system",
    problems.every(({ check: what }) => what === "file system") &&
      doctor.code === (problems.length === 0 ? 0 : 1) &&
      findings.some(({ check: what, finding }) => what === "service" && finding === "running") &&
      findings.some(({ check: what, level }) => what === "port 8443" && level === "ok"),
    { code: doctor.code, findings },
  );
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
  check(
    "the support bundle contains the service's log and no user names",
    bundled.code === 0 &&
      names.includes("log.txt") &&
      log.includes(logText) &&
      !/\bada\b/.test(all) &&
      (statSync("/root/support.tar").mode & 0o777) === 0o600,
    { bundled: bundled.output, names, log: log.slice(-500) },
  );
  runOrThrow("systemctl", "stop", SERVICE);
  const stopped = run("berth", "doctor");
  runOrThrow("systemctl", "start", SERVICE);
  check(
    "doctor exits with 78 for an enabled service that is not running",
    stopped.code === 78 && stopped.output.includes("not running"),
    stopped,
  );
}
