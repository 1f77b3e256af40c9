// Runs on the machine that `systemd.ts` boots: an operator's life with the service, from the first
// installation to the last.
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
  until,
} from "./machine.ts";
import { checkUpgrades } from "./upgrades.ts";

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
  check("everything could be tried", false, `${Bun.inspect(error)}\n${readServiceLog()}`);
}
finish();

/** What the service last said. */
function readServiceLog(): string {
  return run("journalctl", "-u", SERVICE, "-n", "40", "--no-pager").output;
}

async function checkFirstInstallation(): Promise<void> {
  const rehearsed = run(build("berth"), "service", "install", "--dry-run");
  check(
    "a rehearsal says what it would do, and does nothing",
    rehearsed.code === 0 &&
      rehearsed.output.includes("would  the unit: ") &&
      !existsSync("/usr/local/bin/berth") &&
      !existsSync("/etc/berth"),
    rehearsed.output,
  );
  const installed = await install("berth");
  check(
    "one command installs it, and it is ready when the command ends",
    installed.code === 0 &&
      (await answersNow()) &&
      existsSync("/usr/local/share/man/man1/berth.1") &&
      existsSync("/usr/local/share/bash-completion/completions/berth"),
    installed.output,
  );
  check(
    "it is started by notification, enabled, and runs as a user of its own",
    readUnitProperty("Type") === "notify" &&
      run("systemctl", "is-enabled", SERVICE).code === 0 &&
      statSync(`/proc/${readMainPid()}`).uid === statSync(DATA_FOLDER).uid &&
      statSync(DATA_FOLDER).uid !== 0 &&
      (statSync(DATA_FOLDER).mode & 0o777) === 0o700,
    { type: readUnitProperty("Type"), uid: statSync(`/proc/${readMainPid()}`).uid },
  );
  const key = statSync("/etc/berth/ca/ca.key");
  check(
    "the site CA's key is root's alone, and not in the data folder",
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
    `systemd's own judgement of its exposure is at most 1.5 (${exposure})`,
    Number(exposure) <= 1.5,
  );
  installLicense(100_000);
  const registered = await callApi("/api/v4/register", { product: "CAD", user: "ada" });
  check("a license comes in, and a user registers", registered.status === 200, registered);
  const pid = readMainPid();
  const token = readFileSync("/etc/berth/admin-token", "utf8");
  const again = await install("berth");
  check(
    "installed again, nothing is changed, and it is not restarted",
    again.code === 0 &&
      readMainPid() === pid &&
      readFileSync("/etc/berth/admin-token", "utf8") === token &&
      !again.output.includes("done "),
    again.output,
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
    "administration asks for the token that was made, here and over TLS",
    without.status === 401 && withToken.status === 200 && overTls.status === 200,
    [without, withToken.status, overTls.status],
  );
  check(
    "only root may read the token",
    (statSync("/etc/berth/admin-token").mode & 0o777) === 0o600 &&
      statSync("/etc/berth/admin-token").uid === 0,
  );
  writeFileSync("/root/keys", "apiKey=of-the-cloud\nsharedKey=of-the-cloud\n", { mode: 0o600 });
  const set = run("sh", "-c", "berth keys set < /root/keys");
  check(
    "cloud credentials are sealed with a key that is not in the data folder",
    set.code === 0 &&
      existsSync(`${DATA_FOLDER}/credentials.sealed`) &&
      !existsSync(`${DATA_FOLDER}/sealing.key`),
    set.output,
  );
}

/** As it is eleven months after the installation. */
async function checkTokenRenewal(): Promise<void> {
  const path = "/etc/berth/admin-token";
  const before = readFileSync(path, "utf8").trim();
  runOrThrow("systemctl", "stop", SERVICE);
  const list = JSON.parse(readFileSync(`${DATA_FOLDER}/access.json`, "utf8")) as {
    readonly tokens: readonly { readonly name: string; readonly endsAt: number | null }[];
  };
  const isForAYear = list.tokens.every(({ endsAt }) => endsAt !== null);
  const day = 24 * 60 * 60 * 1_000;
  const [madeAt, endsAt] = [Date.now() - 355 * day, Date.now() + 10 * day];
  const tokens = list.tokens.map((token) => ({ ...token, madeAt, endsAt }));
  writeFileSync(`${DATA_FOLDER}/access.json`, JSON.stringify({ ...list, tokens }));
  runOrThrow("systemctl", "start", SERVICE);
  const warned = run("berth", "doctor").output;
  const again = await install("berth");
  const after = readFileSync(path, "utf8").trim();
  const statusWith = async (token: string): Promise<number> =>
    (await callApi("/api/admin/v1/status", null, { headers: { authorization: `Bearer ${token}` } }))
      .status;
  const statuses = [await statusWith(before), await statusWith(after)];
  const later = run("berth", "doctor").output;
  check(
    "the installer's token ends, doctor warns before it does, and installing again renews it",
    isForAYear &&
      warned.includes("the token service ends in ") &&
      again.code === 0 &&
      after !== before &&
      statuses.every((status) => status === 200) &&
      !later.includes("the token "),
    { list, warned, again: again.output, statuses, later },
  );
}

/** What the operator's page asks for is done inside the unit's sandbox. */
async function checkMaintenanceOverHttp(): Promise<void> {
  const unix = join(DATA_FOLDER, "berth.sock");
  const at = (path: string) => `http://berth/api/admin/v1/${path}`;
  const examined = (await (await fetch(at("doctor"), { unix })).json()) as {
    readonly findings: readonly { check: string; level: string }[];
  };
  const walked = (await (await fetch(at("verify"), { unix })).json()) as { intact: boolean };
  const backup = await fetch(at("backup"), { unix, method: "POST" });
  writeFileSync("/root/from-afar.tar", await backup.bytes(), { mode: 0o600 });
  const checked = run("berth", "verify", "/root/from-afar.tar");
  check(
    "inside its sandbox the service finds nothing broken, and makes a backup that is whole",
    examined.findings.every(({ level }) => level !== "error") &&
      walked.intact &&
      backup.status === 200 &&
      checked.code === 0,
    { examined, walked, status: backup.status, checked },
  );
}

async function checkRestartAfterKill(): Promise<void> {
  const { registeredUsers, unexpectedReplies, goesOn, stop } = startLoad("killed");
  const rounds = 5;
  const restarted: boolean[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await goesOn();
    // Long enough for a load to be under way, and for another moment of it in each round.
    await Bun.sleep(500);
    const pid = readMainPid();
    process.kill(pid, "SIGKILL");
    restarted.push(
      (await until(() => ![0, pid].includes(readMainPid()))) && (await waitForAnswer()),
    );
    run("systemctl", "reset-failed", SERVICE);
  }
  await stop();
  const lost = findMissingUsers(registeredUsers);
  check(
    `killed ${rounds} times under load, it comes back by itself, with all of ${registeredUsers.size} answered registrations`,
    restarted.every(Boolean) &&
      registeredUsers.size > 0 &&
      lost.length === 0 &&
      unexpectedReplies.length === 0,
    { restarted, lost: lost.slice(0, 5), wrong: unexpectedReplies.slice(0, 5) },
  );
}

/** With the unit's own half minute: on a busy machine less may pass without a fault. */
async function checkWatchdog(): Promise<void> {
  const fedAt = (): number => Number(readUnitProperty("WatchdogTimestampMonotonic"));
  const pid = readMainPid();
  const before = fedAt();
  const fed = (await until(() => fedAt() > before)) && readMainPid() === pid;
  process.kill(pid, "SIGSTOP");
  const restarted = await until(() => ![0, pid].includes(readMainPid()));
  check(
    "one that runs keeps its watchdog fed; one that hangs is started anew",
    fed && restarted && (await waitForAnswer()) && listHolders().has("ada"),
    { fed, pid, now: readMainPid() },
  );
  run("systemctl", "reset-failed", SERVICE);
}

async function checkStopUnderLoad(): Promise<void> {
  const { registeredUsers, unexpectedReplies, goesOn, stop } = startLoad("stopped");
  await goesOn();
  await Bun.sleep(500);
  const stopped = await runAsync("systemctl", "stop", SERVICE);
  const result = readUnitProperty("Result");
  await stop();
  runOrThrow("systemctl", "start", SERVICE);
  await waitForAnswer();
  const lost = findMissingUsers(registeredUsers);
  check(
    `told to stop under load, it ends well, and none of ${registeredUsers.size} answered registrations is lost`,
    stopped.code === 0 &&
      result === "success" &&
      registeredUsers.size > 0 &&
      lost.length === 0 &&
      unexpectedReplies.length === 0,
    { result, lost: lost.slice(0, 5), wrong: unexpectedReplies.slice(0, 5) },
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
    "a data folder that needs an operator is not tried again and again",
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
  const { registeredUsers, unexpectedReplies, goesOn, stop } = startLoad("reloaded");
  await goesOn();
  const pid = readMainPid();
  runOrThrow("berth", "tls", "init", "--new-ca", "--names", "berth.plant7.lan");
  const reloaded = await runAsync("systemctl", "reload", SERVICE);
  const tls = {
    ca: readFileSync(`${DATA_FOLDER}/tls/ca.pem`, "utf8"),
    serverName: "berth.plant7.lan",
  };
  let answer: { readonly status: number | string } = { status: 0 };
  // The command is over once the server was told; it reads the files a little later.
  await until(async () => {
    answer = await callApi("/api/v4/health", null, { base: "https://127.0.0.1:8443", tls }).catch(
      (error: unknown) => ({ status: String(error) }),
    );
    return answer.status === 200;
  });
  await goesOn();
  await stop();
  check(
    "a new certificate is taken with a reload, while it serves",
    reloaded.code === 0 &&
      readMainPid() === pid &&
      answer.status === 200 &&
      registeredUsers.size > 0 &&
      unexpectedReplies.length === 0,
    { reloaded, answer, wrong: unexpectedReplies.slice(0, 5) },
  );
}

/** Cloud keys that only root may read are handed over like the key that seals them. */
async function checkExternalCloudKeys(): Promise<void> {
  writeFileSync("/etc/berth/api-key", "api-key-from-outside\n", { mode: 0o600 });
  writeFileSync("/etc/berth/shared-key", "shared-key-from-outside\n", { mode: 0o600 });
  const again = await install("berth");
  const apiKey = (): unknown => {
    const words = ["license", "request", "--product", "CAD", "--license-key", "K-1", "--json"];
    const { cloud_payload = "" } = JSON.parse(runOrThrow("berth", ...words)) as {
      readonly cloud_payload?: string;
    };
    const payload = Buffer.from(cloud_payload, "base64").toString() || "{}";
    return (JSON.parse(payload) as { readonly api_key?: string }).api_key;
  };
  const first = apiKey();
  runOrThrow("systemctl", "restart", SERVICE);
  check(
    "cloud keys in /etc/berth are taken once the unit is written again, and after a restart",
    again.code === 0 && first === "api-key-from-outside" && apiKey() === first,
    { again: again.output, first, later: apiKey() },
  );
  runOrThrow("sh", "-c", "berth keys set < /root/keys");
  const set = apiKey();
  runOrThrow("systemctl", "stop", SERVICE);
  const stopped = run("sh", "-c", "berth keys set < /root/keys");
  runOrThrow("systemctl", "start", SERVICE);
  check(
    "keys that the stopped service could not open are not set; what it is handed goes before them",
    set === "api-key-from-outside" &&
      stopped.code === 1 &&
      stopped.output.includes("systemctl start berth") &&
      apiKey() === "api-key-from-outside",
    { set, stopped, later: apiKey() },
  );
}

async function checkDoctorAndSupportBundle(): Promise<void> {
  const well = run("berth", "doctor", "--json");
  const { findings } = JSON.parse(well.output) as {
    readonly findings: readonly { check: string; level: string; finding: string }[];
  };
  const worse = findings.filter(({ level }) => level === "warning" || level === "error");
  // The container's own root is an overlay, which doctor is right to doubt.
  check(
    "doctor finds nothing to do but for what this machine is",
    worse.every(({ check: what }) => what === "file system") &&
      well.code === (worse.length === 0 ? 0 : 1) &&
      findings.some(({ check: what, finding }) => what === "service" && finding === "running") &&
      findings.some(({ check: what, level }) => what === "port 8443" && level === "ok"),
    { code: well.code, findings },
  );
  await callApi("/api/admin/v1/status");
  const inLog = '"path":"/api/admin/v1/status"';
  // The answer may be there before the line that tells of it.
  await until(() => run("journalctl", "-u", SERVICE, "--no-pager").output.includes(inLog));
  const bundled = run("berth", "support-bundle", "/root/support.tar", "--yes");
  const names = run("tar", "-tf", "/root/support.tar").output.trim().split("\n");
  const log = run("tar", "-xOf", "/root/support.tar", "log.txt").output;
  const all = run("tar", "-xOf", "/root/support.tar").output;
  check(
    "the support bundle carries the service's log, and nobody's name",
    bundled.code === 0 &&
      names.includes("log.txt") &&
      log.includes(inLog) &&
      !/\bada\b/.test(all) &&
      (statSync("/root/support.tar").mode & 0o777) === 0o600,
    { bundled: bundled.output, names, log: log.slice(-500) },
  );
  runOrThrow("systemctl", "stop", SERVICE);
  const stopped = run("berth", "doctor");
  runOrThrow("systemctl", "start", SERVICE);
  check(
    "doctor says 78 of a service that should run and does not",
    stopped.code === 78 && stopped.output.includes("not running"),
    stopped,
  );
}
