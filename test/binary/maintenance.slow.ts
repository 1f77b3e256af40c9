import { describe, expect, onTestFinished, test } from "bun:test";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RulesCheckReply } from "../../src/http/routes/rules/rules-reply.ts";
import type { DoctorReply, SettingsReply, VerifyReply } from "../../src/http/running-server.ts";
import { runBinary, startBinary } from "../support/binary.ts";
import { flipBit } from "../support/backup-site.ts";
import {
  ADMIN_API,
  callAdmin,
  getAdminJson,
  listChildProcesses,
  registerUsers,
  listDownloads,
  register,
  serveSite,
  type ServedSite,
} from "../support/served-site.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { startSuspendedJob } from "../support/suspended-job.ts";
import { modeOf, tempFolder } from "../support/temp-folder.ts";
import { waitUntil } from "../support/wait-until.ts";

async function runJson(...args: string[]): Promise<unknown> {
  const { stdout } = await runBinary([...args, "--json"]);
  return JSON.parse(stdout);
}

interface RefusalBody {
  readonly code: string;
  readonly message: string;
}

async function readStatusAndCode(response: Response): Promise<[number, string]> {
  return [response.status, ((await response.json()) as RefusalBody).code];
}

/** Downloads a backup to a file. */
async function downloadBackup(site: ServedSite): Promise<{ file: string; response: Response }> {
  const response = await callAdmin(site, "POST", "/backup");
  expect(response.status).toBe(200);
  const file = join(tempFolder(), "site.berth");
  const bytes = await response.bytes();
  expect(response.headers.get("content-length")).toBe(String(bytes.length));
  writeFileSync(file, bytes);
  return { file, response };
}

const summaryOf = ({ passed_checks }: DoctorReply, check: string): string =>
  passed_checks.find((passed) => passed.check === check)?.summary ?? "";

describe("the admin API", () => {
  test("reports the same checks as berth doctor", async () => {
    const site = await serveSite();
    const listen = new URL(site.server.url).host;
    const reply = await getAdminJson<DoctorReply>(site, "/doctor");
    const commandReply = (await runJson(
      "doctor",
      "--data",
      site.folder,
      "--listen",
      listen,
    )) as DoctorReply;
    // The speed of the disk is measured each time.
    const checks = ({ worst_severity, findings, passed_checks }: DoctorReply) => [
      worst_severity,
      findings,
      passed_checks.filter(({ check }) => check !== "disk_speed"),
    ];
    expect(checks(reply)).toEqual(checks(commandReply));
    expect(summaryOf(reply, "port")).toBe(`The server listens on ${listen}`);
    expect(reply.findings.map(({ code }) => code)).toContain("service_missing");
  });

  test("reports the same as berth verify for an intact folder and for a damaged one", async () => {
    const site = await serveSite();
    await register(site, "ada");
    const { ok: _ok, ...facts } = (await runJson("verify", "--data", site.folder)) as { ok: true };
    expect(await getAdminJson<VerifyReply>(site, "/verify")).toEqual({
      intact: true,
      ...(facts as Omit<Extract<VerifyReply, { intact: true }>, "intact">),
    });
    const state = join(site.folder, "state.json");
    flipBit(state, 40);
    const damaged = await getAdminJson<VerifyReply>(site, "/verify");
    const { code, stderr } = await runBinary(["verify", "--data", site.folder]);
    expect(code).toBe(78);
    const [, finding, remedy] = /^berth: error: (.*)\nberth: hint: (.*)\n$/.exec(stderr) ?? [];
    expect(finding).toContain(state);
    expect(damaged).toEqual({ intact: false, finding: finding ?? "", remedy: remedy ?? "" });
    // No backup is made of a damaged folder.
    const refused = await callAdmin(site, "POST", "/backup");
    const { code: refusalCode, message } = (await refused.json()) as RefusalBody;
    expect([refused.status, refusalCode]).toEqual([503, "maintenance_failed"]);
    expect(message).toContain(state);
    expect(listDownloads(site.folder)).toEqual([]);
  });

  test("reports the same as berth config, by flag and by file, and as berth notices", async () => {
    const folder = join(tempFolder(), "data");
    const config = join(tempFolder(), "berth.toml");
    writeFileSync(
      config,
      `data = "${folder}"\nidentity = "box"\nclient_networks = ["127.0.0.0/8"]\n` +
        `client_auth = "login"\nmax_slots_per_user = 2\n`,
    );
    const args = ["--config", config, "--listen", "127.0.0.1:0", "--names", "a,b"];
    const server = await startBinary("serve", ...args);
    onTestFinished(() => server.kill());
    const site = { folder, server };
    const reply = await getAdminJson<SettingsReply>(site, "/settings");
    const settings = reply.settings.map(({ name, value, source }) => [name, { value, source }]);
    // The command leaves out what is not set, and adds the settings file.
    const { config: _config, ...shown } = (await runJson("config", ...args)) as Record<
      string,
      object
    >;
    expect(Object.fromEntries(settings)).toMatchObject(shown);
    expect(Object.keys(shown)).toContain("max_slots_per_user");
    expect(reply.networks).toEqual({ client: ["127.0.0.0/8"], admin: ["127.0.0.0/8"] });
    const address = new URL(server.url).host;
    expect(reply.listeners).toEqual([{ address, tls: false }]);
    expect(await getAdminJson<unknown>(site, "/notices")).toEqual(await runJson("notices"));
    // Maintenance uses the settings of the running server, even if the file has changed.
    writeFileSync(config, "nonsense");
    const doctor = await getAdminJson<DoctorReply>(site, "/doctor");
    expect(summaryOf(doctor, "port")).toBe(`The server listens on ${address}`);
    expect(summaryOf(doctor, "data")).toStartWith("The data is intact");
    expect((await downloadBackup(site)).response.status).toBe(200);
  });
});

describe("a backup over HTTP", () => {
  test("under load contains every change that was acknowledged before its request", async () => {
    const site = await serveSite();
    const acknowledged: string[] = [];
    const load = new AbortController();
    const clients = Array.from({ length: 4 }, async (_, client) => {
      for (let turn = 0; !load.signal.aborted; turn += 1) {
        const name = `client-${client}-${turn}`;
        await register(site, name);
        acknowledged.push(name);
      }
    });
    await waitUntil(() => acknowledged.length > 50, "50 registrations");
    const before = [...acknowledged];
    const { file, response } = await downloadBackup(site);
    const countAfter = acknowledged.length;
    load.abort();
    await Promise.all(clients);
    // Registrations were acknowledged during the backup.
    expect(countAfter).toBeGreaterThan(before.length);
    expect(response.headers.get("content-type")).toBe("application/x-tar");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("content-disposition")).toMatch(
      /^attachment; filename="berth-backup-[a-z0-9-]*-?\d{8}T\d{6}Z\.berth"$/,
    );
    const folder = join(tempFolder(), "data");
    mkdirSync(folder, { mode: 0o700 });
    expect(await runBinary(["restore", file, "--data", folder])).toMatchObject({ code: 0 });
    // A copy is not served while its original is.
    expect(await site.server.stop()).toBe(0);
    const other = await serveSite([], folder);
    const registrations = await getAdminJson<{ user: string }[]>(other, "/registrations");
    const users = new Set(registrations.map(({ user }) => user));
    expect(before.filter((name) => !users.has(name))).toEqual([]);
  });

  test("is readable only by its owner while it is written, and is removed after the download", async () => {
    const site = await serveSite();
    await registerUsers(site, 1_000);
    const hasFile = (): boolean => listDownloads(site.folder).length > 0;
    const { reply, resume } = await startSuspendedJob(
      site,
      () => callAdmin(site, "POST", "/backup"),
      hasFile,
    );
    const downloads = join(site.folder, "downloads");
    const [serverFolder = ""] = readdirSync(downloads);
    expect([modeOf(downloads), modeOf(join(downloads, serverFolder))]).toEqual(["700", "700"]);
    for (const name of listDownloads(site.folder))
      expect(modeOf(join(downloads, name))).toBe("600");
    resume();
    expect((await (await reply).bytes()).length).toBeGreaterThan(0);
    await waitUntil(() => listDownloads(site.folder).length === 0, "the backup file is removed");
    const log = site.server.stderr();
    expect(log).toContain(`${ADMIN_API}/backup`);
    expect(log).not.toContain(downloads);
  });

  test("is cancelled with its process and its file when the caller disconnects", async () => {
    const site = await serveSite();
    await registerUsers(site, 1_000);
    const caller = new AbortController();
    // The suspended process could not end on its own.
    const { reply } = await startSuspendedJob(
      site,
      () => callAdmin(site, "POST", "/backup", { signal: caller.signal }),
      () => listDownloads(site.folder).length > 0,
    );
    caller.abort();
    expect(await reply.catch(() => "gone")).toBe("gone");
    await waitUntil(
      () => listChildProcesses(site.server.pid).length === 0,
      "the child process has ended",
    );
    await waitUntil(() => listDownloads(site.folder).length === 0, "the backup file is removed");
    // The next job can run.
    await downloadBackup(site);
  });

  test("leaves no file when the download is cancelled", async () => {
    const site = await serveSite();
    await registerUsers(site, 3_000);
    const caller = new AbortController();
    const response = await callAdmin(site, "POST", "/backup", { signal: caller.signal });
    const length = Number(response.headers.get("content-length"));
    expect(length).toBeGreaterThan(10_000_000);
    const reader = response.body?.getReader();
    await reader?.read();
    caller.abort();
    await waitUntil(() => listDownloads(site.folder).length === 0, "the backup file is removed");
    await downloadBackup(site);
  });

  test("of a killed server is removed at the next start", async () => {
    const site = await serveSite();
    await registerUsers(site, 1_000);
    const hasFile = (): boolean => listDownloads(site.folder).length > 0;
    const { reply, resume } = await startSuspendedJob(
      site,
      () => callAdmin(site, "POST", "/backup"),
      hasFile,
    );
    await site.server.kill();
    expect(await reply.catch(() => "gone")).toBe("gone");
    const again = await serveSite([], site.folder);
    await waitUntil(() => listDownloads(again.folder).length === 0, "the backup file is removed");
    // It stays removed when the process that wrote it continues.
    resume();
    await Bun.sleep(1_000);
    expect(listDownloads(again.folder)).toEqual([]);
  });

  test("does not keep the server from stopping", async () => {
    const site = await serveSite();
    await registerUsers(site, 3_000);
    const download = callAdmin(site, "POST", "/backup").catch(() => "gone");
    await waitUntil(() => listDownloads(site.folder).length > 0, "a backup file exists");
    expect(await site.server.stop()).toBe(0);
    await download;
    expect(listDownloads(site.folder)).toEqual([]);
  });
});

test("a support bundle over HTTP is a file without the names of users", async () => {
  const site = await serveSite();
  await register(site, "ada-lovelace");
  const response = await callAdmin(site, "POST", "/support-bundle");
  expect(response.status).toBe(200);
  expect(response.headers.get("content-disposition")).toMatch(
    /^attachment; filename="berth-support-\d{8}T\d{6}Z\.tar"$/,
  );
  const text = await response.text();
  expect(text).toContain("doctor.json");
  expect(text).toContain('"product": "cad"');
  expect(text).not.toContain("ada-lovelace");
});

test("maintenance jobs run one at a time: eight may wait, and further callers get 503 at once", async () => {
  const site = await serveSite();
  await registerUsers(site, 300);
  let maxChildren = 0;
  const sampling = setInterval(() => {
    maxChildren = Math.max(maxChildren, listChildProcesses(site.server.pid).length);
  }, 2);
  const { reply: first, resume } = await startSuspendedJob(site, () =>
    callAdmin(site, "GET", "/verify"),
  );
  const refused: [number, string][] = [];
  const statusPromises = Array.from({ length: 12 }, async () => {
    const response = await callAdmin(site, "GET", "/verify");
    if (response.status !== 200) refused.push(await readStatusAndCode(response));
    return response.status;
  });
  await waitUntil(() => refused.length === 4, "four are refused");
  expect(refused.every(([, code]) => code === "too_many_jobs")).toBe(true);
  resume();
  const statuses = [
    await first.then(({ status }) => status),
    ...(await Promise.all(statusPromises)),
  ];
  clearInterval(sampling);
  expect(statuses.filter((status) => status === 200)).toHaveLength(9);
  expect(maxChildren).toBe(1);
});

test("a caller that disconnects while it waits for a maintenance job leaves the queue", async () => {
  const site = await serveSite();
  await registerUsers(site, 300);
  const { reply: first, resume } = await startSuspendedJob(site, () =>
    callAdmin(site, "GET", "/verify"),
  );
  const caller = new AbortController();
  const callers = Array.from({ length: 9 }, () =>
    callAdmin(site, "POST", "/backup", { signal: caller.signal }).then(({ status }) => status),
  );
  // The ninth caller is refused, so the other eight are waiting.
  expect(await Promise.race(callers)).toBe(503);
  caller.abort();
  await Promise.allSettled(callers);
  let lateCaller = callAdmin(site, "GET", "/verify");
  // The queue is full until the server notices that they have disconnected.
  for (;;) {
    // A refusal comes before the replies to these later requests.
    const others = async (): Promise<void> => {
      await Bun.sleep(200);
      for (let count = 0; count < 5; count += 1) await getAdminJson(site, "/status");
    };
    const answer = await Promise.race([lateCaller, others()]);
    if (answer === undefined) break;
    expect(answer.status).toBe(429);
    lateCaller = callAdmin(site, "GET", "/verify");
  }
  resume();
  expect([(await first).status, (await lateCaller).status]).toEqual([200, 200]);
  expect(listDownloads(site.folder)).toEqual([]);
});

test("a backup over HTTP requires a credential once one exists", async () => {
  const site = await serveSite();
  const created = await callAdmin(site, "POST", "/access/tokens", {
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "ops", role: "admin" }),
  });
  const { token } = (await created.json()) as { token: string };
  expect(await readStatusAndCode(await callAdmin(site, "POST", "/backup"))).toEqual([
    401,
    "unauthorized",
  ]);
  const headers = { authorization: `Bearer ${token}` };
  expect((await callAdmin(site, "POST", "/backup", { headers })).status).toBe(200);
  expect(site.server.stderr()).not.toContain(token);
});

describe("without enough disk space", () => {
  /** Runs `work` with a disk of this size mounted on the folder, if this machine allows mounts. */
  async function runOnSmallDisk(folder: string, kibibytes: number, work: () => Promise<void>) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const args = ["mount", "-t", "tmpfs", "-o", `size=${kibibytes}k,mode=700`, "berth", folder];
    if (Bun.which("mount") === null || !Bun.spawnSync(args).success) {
      process.stderr.write("skipped: no file system can be mounted here\n");
      return;
    }
    try {
      await work();
    } finally {
      Bun.spawnSync(["umount", "-l", folder]);
    }
  }

  test("a support bundle or backup that does not fit is refused as storage_full, and its file is removed", async () => {
    const site = await serveSite();
    await runOnSmallDisk(join(site.folder, "downloads"), 8, async () => {
      for (const path of ["/support-bundle", "/backup"]) {
        expect(await readStatusAndCode(await callAdmin(site, "POST", path))).toEqual([
          503,
          "storage_full",
        ]);
        expect(listDownloads(site.folder)).toEqual([]);
      }
      await register(site, "ada");
    });
  });

  test("a backup that would use the space the server needs is refused as storage_full", async () => {
    const folder = join(tempFolder(), "small");
    await runOnSmallDisk(folder, 16 * 1024, async () => {
      await makeLicensedSite(join(folder, "data"), { product: "cad" });
      const site = await serveSite([], join(folder, "data"));
      expect(await readStatusAndCode(await callAdmin(site, "POST", "/backup"))).toEqual([
        503,
        "storage_full",
      ]);
      expect((await getAdminJson<VerifyReply>(site, "/verify")).intact).toBe(true);
      await register(site, "ada");
    });
  });
});

describe("a long text of sharing rules is read in a process beside the server", () => {
  const names = Array.from({ length: 5_000 }, (_, index) => `"user-${index}"`).join(", ");
  const TEXT = `[groups.team]
users = [${names}]
[[rule]]
product = "cad"
limit = { groups = { team = 2 } }
[[rule]]
product = "cat"
deny = ["team"]
`;
  const send = (site: ServedSite, method: string, path: string, init: RequestInit = {}) =>
    callAdmin(site, method, `/rules${path}`, {
      ...init,
      headers: { "content-type": "application/json", "if-match": "*" },
      body: JSON.stringify({ text: TEXT }),
    });

  test("while others are answered, and changes of the rules do not wait for checks", async () => {
    const site = await serveSite();
    const { reply, resume } = await startSuspendedJob(site, () => send(site, "POST", "/check"));
    await register(site, "ada");
    const waiting = send(site, "POST", "/check");
    const applied = await send(site, "PUT", "");
    expect([applied.status, await applied.json()]).toEqual([
      200,
      expect.objectContaining({ groups: 1, pools: 2 }),
    ]);
    expect(listChildProcesses(site.server.pid)).toHaveLength(1);
    resume();
    for (const response of [await reply, await waiting]) {
      const { findings, preview } = (await response.json()) as RulesCheckReply;
      expect(findings.map(({ line }) => line)).toEqual([1, 7]);
      expect(findings[1]?.message).toBe('no license is installed for product "cat"');
      expect(preview?.map(({ product }) => product)).toEqual(["cad"]);
    }
  });

  test("which ends when the caller disconnects", async () => {
    const site = await serveSite();
    const caller = new AbortController();
    const { reply, hasEnded } = await startSuspendedJob(site, () =>
      send(site, "POST", "/check", { signal: caller.signal }),
    );
    caller.abort();
    expect(await reply.catch(() => "gone")).toBe("gone");
    await hasEnded();
    expect((await send(site, "POST", "/check")).status).toBe(200);
  });
});
