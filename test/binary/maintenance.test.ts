import { describe, expect, onTestFinished, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
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
  waitUntil,
  type ServedSite,
} from "../support/served-site.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { modeOf, tempFolder } from "../support/temp-folder.ts";

async function runJson(...words: string[]): Promise<unknown> {
  const { stdout } = await runBinary([...words, "--json"]);
  return JSON.parse(stdout);
}

interface RefusalBody {
  readonly code: string;
  readonly message: string;
}

interface Held {
  readonly answer: Promise<Response>;
  /** Lets the process go on. */
  readonly goOn: () => void;
}

/**
 * Asks for something and stops the process that the server has for it, once that has come so far.
 * Where it was over by then it is asked for again: this process may have had to wait for its turn.
 */
async function askedAndHeld(
  site: ServedSite,
  ask: () => Promise<Response>,
  isFarEnough = (): boolean => true,
): Promise<Held> {
  for (;;) {
    const answer = ask();
    let isOver = false;
    const over = answer.then(
      () => (isOver = true),
      () => (isOver = true),
    );
    const children = (): number[] => listChildProcesses(site.server.pid);
    const isUnderWay = (): boolean => children().length > 0 && isFarEnough();
    await waitUntil("it has begun", () => isOver || isUnderWay());
    const [child, ...more] = children();
    expect(more).toEqual([]);
    if (child !== undefined && (await stop(child))) {
      return { answer, goOn: () => goesOn(child) };
    }
    await over;
  }
}

/** False: it has ended. */
async function stop(pid: number): Promise<boolean> {
  const state = (): string => {
    try {
      return /^\d+ \(.*\) (\w) /.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1] ?? "";
    } catch {
      return "";
    }
  };
  try {
    process.kill(pid, "SIGSTOP");
  } catch {
    return false;
  }
  // T: it is stopped. Z, X or nothing: it has ended.
  await waitUntil("it is stopped or has ended", () => ["T", "Z", "X", ""].includes(state()));
  return state() === "T";
}

/** Unless somebody has ended it. */
function goesOn(pid: number): void {
  try {
    process.kill(pid, "SIGCONT");
  } catch {
    // It is gone.
  }
}

async function readStatusAndCode(response: Response): Promise<[number, string]> {
  return [response.status, ((await response.json()) as RefusalBody).code];
}

/** A backup as a file, with what its answer said. */
async function downloadBackup(site: ServedSite): Promise<{ file: string; response: Response }> {
  const response = await callAdmin(site, "POST", "/backup");
  expect(response.status).toBe(200);
  const file = join(tempFolder(), "site.tar");
  const bytes = await response.bytes();
  expect(response.headers.get("content-length")).toBe(String(bytes.length));
  writeFileSync(file, bytes);
  return { file, response };
}

describe("what the commands tell, the routes tell", () => {
  test("berth doctor", async () => {
    const site = await serveSite();
    const listen = new URL(site.server.url).host;
    const reply = await getAdminJson<DoctorReply>(site, "/doctor");
    const said = (await runJson(
      "doctor",
      "--data",
      site.folder,
      "--listen",
      listen,
    )) as DoctorReply;
    const checks = ({ worst_level, findings }: DoctorReply) => [
      worst_level,
      findings.map(({ check, level }) => [check, level]),
    ];
    expect(checks(reply)).toEqual(checks(said));
    const found = new Map(reply.findings.map((one) => [one.check, one.finding]));
    expect(found.get(`port ${new URL(site.server.url).port}`)).toBe(`served on ${listen}`);
    expect(found.get("service")).toBe("running, but not as a service");
  });

  test("berth verify, of a whole folder and of a damaged one", async () => {
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
    const [, found, advice] = /^berth: error: (.*)\nberth: hint: (.*)\n$/.exec(stderr) ?? [];
    expect(found).toContain(state);
    expect(damaged).toEqual({ intact: false, finding: found ?? "", remedy: advice ?? "" });
    // And no backup is made of it.
    const refused = await callAdmin(site, "POST", "/backup");
    const { code: word, message } = (await refused.json()) as RefusalBody;
    expect([refused.status, word]).toEqual([503, "maintenance_failed"]);
    expect(message).toContain(state);
    expect(listDownloads(site.folder)).toEqual([]);
  });

  test("berth config, by flag and by file, and berth notices", async () => {
    const folder = join(tempFolder(), "data");
    const config = join(tempFolder(), "berth.toml");
    writeFileSync(
      config,
      `data = "${folder}"\nidentity = "box"\nclient_networks = ["127.0.0.0/8"]\n` +
        `client_auth = "login"\nmax_slots_per_user = 2\n`,
    );
    const words = ["--config", config, "--listen", "127.0.0.1:0", "--names", "a,b"];
    const server = await startBinary("serve", ...words);
    onTestFinished(() => server.kill());
    const site = { folder, server };
    const reply = await getAdminJson<SettingsReply>(site, "/settings");
    const shown = reply.settings.map(({ name, value, source }) => [name, { value, source }]);
    expect(Object.fromEntries(shown)).toEqual(await runJson("config", ...words));
    expect(reply.networks).toEqual({ client: ["127.0.0.0/8"], admin: ["127.0.0.0/8"] });
    const address = new URL(server.url).host;
    expect(reply.listeners).toEqual([{ address, tls: false }]);
    expect(await getAdminJson<unknown>(site, "/notices")).toEqual(await runJson("notices"));
    // The same folder, listener and identity for what it has done, whatever the file says by now.
    writeFileSync(config, "nonsense");
    const { findings } = await getAdminJson<DoctorReply>(site, "/doctor");
    const found = new Map(findings.map((one) => [one.check, one.finding]));
    expect(found.get(`port ${new URL(server.url).port}`)).toBe(`served on ${address}`);
    expect(found.get("data")).toStartWith("intact");
    expect((await downloadBackup(site)).response.status).toBe(200);
  });
});

describe("a backup", () => {
  test("taken under load restores to all that was answered before it was asked for", async () => {
    const site = await serveSite();
    const answered: string[] = [];
    const load = new AbortController();
    const clients = Array.from({ length: 4 }, async (_, client) => {
      for (let turn = 0; !load.signal.aborted; turn += 1) {
        const name = `client-${client}-${turn}`;
        await register(site, name);
        answered.push(name);
      }
    });
    await waitUntil("there is some load", () => answered.length > 50);
    const before = [...answered];
    const { file, response } = await downloadBackup(site);
    const seen = answered.length;
    load.abort();
    await Promise.all(clients);
    // Answers went on meanwhile.
    expect(seen).toBeGreaterThan(before.length);
    expect(response.headers.get("content-type")).toBe("application/x-tar");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("content-disposition")).toMatch(
      /^attachment; filename="berth-backup-\d{8}T\d{6}Z\.tar"$/,
    );
    const folder = join(tempFolder(), "data");
    mkdirSync(folder, { mode: 0o700 });
    expect(await runBinary(["restore", file, "--data", folder])).toMatchObject({ code: 0 });
    // A copy is not served beside what it was made of.
    expect(await site.server.stop()).toBe(0);
    const other = await serveSite([], folder);
    const suspendChildProcess = await getAdminJson<{ user: string }[]>(other, "/registrations");
    const users = new Set(suspendChildProcess.map(({ user }) => user));
    expect(before.filter((name) => !users.has(name))).toEqual([]);
  });

  test("is for nobody else while it is made, and leaves nothing when it was taken", async () => {
    const site = await serveSite();
    await registerUsers(site, 1_000);
    const isMade = (): boolean => listDownloads(site.folder).length > 0;
    const { answer, goOn } = await askedAndHeld(
      site,
      () => callAdmin(site, "POST", "/backup"),
      isMade,
    );
    const place = join(site.folder, "downloads");
    const [life = ""] = readdirSync(place);
    expect([modeOf(place), modeOf(join(place, life))]).toEqual(["700", "700"]);
    for (const name of listDownloads(site.folder)) expect(modeOf(join(place, name))).toBe("600");
    goOn();
    expect((await (await answer).bytes()).length).toBeGreaterThan(0);
    await waitUntil("its name is gone", () => listDownloads(site.folder).length === 0);
    const log = site.server.stderr();
    expect(log).toContain(`${ADMIN_API}/backup`);
    expect(log).not.toContain(place);
  });

  test("that nobody waits for is given up, with its process and its file", async () => {
    const site = await serveSite();
    await registerUsers(site, 1_000);
    const caller = new AbortController();
    // It could not end by itself.
    const { answer } = await askedAndHeld(
      site,
      () => callAdmin(site, "POST", "/backup", { signal: caller.signal }),
      () => listDownloads(site.folder).length > 0,
    );
    caller.abort();
    expect(await answer.catch(() => "gone")).toBe("gone");
    await waitUntil("its process is gone", () => listChildProcesses(site.server.pid).length === 0);
    await waitUntil("its file is gone", () => listDownloads(site.folder).length === 0);
    // And the next one has its turn.
    await downloadBackup(site);
  });

  test("broken off while it is taken leaves no file", async () => {
    const site = await serveSite();
    await registerUsers(site, 3_000);
    const caller = new AbortController();
    const response = await callAdmin(site, "POST", "/backup", { signal: caller.signal });
    const length = Number(response.headers.get("content-length"));
    expect(length).toBeGreaterThan(10_000_000);
    const reader = response.body?.getReader();
    await reader?.read();
    caller.abort();
    await waitUntil("its name is gone", () => listDownloads(site.folder).length === 0);
    await downloadBackup(site);
  });

  test("that a killed server began is cleared away by the next start", async () => {
    const site = await serveSite();
    await registerUsers(site, 1_000);
    const isMade = (): boolean => listDownloads(site.folder).length > 0;
    const { answer, goOn } = await askedAndHeld(
      site,
      () => callAdmin(site, "POST", "/backup"),
      isMade,
    );
    await site.server.kill();
    expect(await answer.catch(() => "gone")).toBe("gone");
    const again = await serveSite([], site.folder);
    await waitUntil("its file is gone", () => listDownloads(again.folder).length === 0);
    // Also when the process that made it goes on.
    goOn();
    await Bun.sleep(1_000);
    expect(listDownloads(again.folder)).toEqual([]);
  });

  test("does not keep a server from stopping", async () => {
    const site = await serveSite();
    await registerUsers(site, 3_000);
    const taking = callAdmin(site, "POST", "/backup").catch(() => "gone");
    await waitUntil("a file is made", () => listDownloads(site.folder).length > 0);
    expect(await site.server.stop()).toBe(0);
    await taking;
    expect(listDownloads(site.folder)).toEqual([]);
  });
});

test("a support bundle is a file, without the name of whoever holds a slot", async () => {
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

test("one at a time; eight may wait, and more are told to come again at once", async () => {
  const site = await serveSite();
  await registerUsers(site, 300);
  const most = { children: 0 };
  const watch = setInterval(() => {
    most.children = Math.max(most.children, listChildProcesses(site.server.pid).length);
  }, 2);
  const { answer: first, goOn } = await askedAndHeld(site, () => callAdmin(site, "GET", "/verify"));
  const refused: [number, string][] = [];
  const answers = Array.from({ length: 12 }, async () => {
    const response = await callAdmin(site, "GET", "/verify");
    if (response.status !== 200) refused.push(await readStatusAndCode(response));
    return response.status;
  });
  await waitUntil("four are refused", () => refused.length === 4);
  expect(refused.every(([, code]) => code === "too_many_requests")).toBe(true);
  goOn();
  const statuses = [await first.then(({ status }) => status), ...(await Promise.all(answers))];
  clearInterval(watch);
  expect(statuses.filter((status) => status === 200)).toHaveLength(9);
  expect(most.children).toBe(1);
});

test("whoever waits for a turn and goes away takes none", async () => {
  const site = await serveSite();
  await registerUsers(site, 300);
  const { answer: first, goOn } = await askedAndHeld(site, () => callAdmin(site, "GET", "/verify"));
  const caller = new AbortController();
  const crowded = Array.from({ length: 9 }, () =>
    callAdmin(site, "POST", "/backup", { signal: caller.signal }).then(({ status }) => status),
  );
  // One too many: then the others are waiting.
  expect(await Promise.race(crowded)).toBe(429);
  caller.abort();
  await Promise.allSettled(crowded);
  let late = callAdmin(site, "GET", "/verify");
  // Until it is seen that they have gone there is no place for another one.
  for (;;) {
    // Whoever is refused is refused before these, which are asked for later.
    const others = async (): Promise<void> => {
      await Bun.sleep(200);
      for (let count = 0; count < 5; count += 1) await getAdminJson(site, "/status");
    };
    const answer = await Promise.race([late, others()]);
    if (answer === undefined) break;
    expect(answer.status).toBe(429);
    late = callAdmin(site, "GET", "/verify");
  }
  goOn();
  expect([(await first).status, (await late).status]).toEqual([200, 200]);
  expect(listDownloads(site.folder)).toEqual([]);
});

test("with a credential only, once there is one", async () => {
  const site = await serveSite();
  const made = await callAdmin(site, "POST", "/access/tokens", {
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "ops" }),
  });
  const { token } = (await made.json()) as { token: string };
  expect(await readStatusAndCode(await callAdmin(site, "POST", "/backup"))).toEqual([
    401,
    "unauthorized",
  ]);
  const headers = { authorization: `Bearer ${token}` };
  expect((await callAdmin(site, "POST", "/backup", { headers })).status).toBe(200);
  expect(site.server.stderr()).not.toContain(token);
});

describe("without room", () => {
  /** On a disk of so many KiB, where there can be one. */
  async function runOnSmallDisk(folder: string, kibibytes: number, work: () => Promise<void>) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const words = ["mount", "-t", "tmpfs", "-o", `size=${kibibytes}k,mode=700`, "berth", folder];
    if (Bun.which("mount") === null || !Bun.spawnSync(words).success) {
      process.stderr.write("skipped: no file system can be mounted here\n");
      return;
    }
    try {
      await work();
    } finally {
      Bun.spawnSync(["umount", "-l", folder]);
    }
  }

  test("a file that does not fit is storage_full, and what there is of it goes", async () => {
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

  test("a backup that would take what the server needs is not begun", async () => {
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
