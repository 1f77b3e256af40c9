// An operator, a script or a clean-up job removes or replaces files of a running server. No
// acknowledged change may be lost without a message, and no second server may start.
import { describe, expect, onTestFinished, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../src/platform/files/disk.ts";
import { listSegments } from "../../src/store/folder/files.ts";
import { runBinary, startBinary, type ServerProcess } from "../support/binary.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { waitUntil } from "../support/wait-until.ts";

const LISTEN = ["--listen", "127.0.0.1:0"];

interface ServedFolder {
  readonly folder: string;
  readonly server: ServerProcess;
  /** The users whose registration was answered with 200. */
  readonly acknowledged: string[];
}

async function serveWithUsers(): Promise<ServedFolder> {
  const folder = join(tempFolder(), "site");
  await makeLicensedSite(folder, { product: "cad", slots: 100_000, timeoutMinutes: 24 * 60 });
  const server = await serve(folder);
  const acknowledged: string[] = [];
  for (const user of ["ada", "bob", "cem"]) {
    expect(await register(server, user)).toBe(200);
    acknowledged.push(user);
  }
  return { folder, server, acknowledged };
}

async function serve(folder: string): Promise<ServerProcess> {
  const server = await startBinary("serve", "--data", folder, ...LISTEN);
  onTestFinished(() => server.kill());
  return server;
}

/** The status of the reply; null if there was none. */
const register = (server: ServerProcess, user: string): Promise<number | null> =>
  fetch(`${server.url}/api/v4/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ user }),
    keepalive: false,
  }).then(
    ({ status }) => status,
    () => null,
  );

/** Registers one user after the other until the server is gone, and returns all reply statuses. */
async function registerUntilTheEnd({
  server,
  acknowledged,
}: ServedFolder): Promise<Set<number | null>> {
  const statuses = new Set<number | null>();
  for (let n = 1; !statuses.has(null); n += 1) {
    const status = await register(server, `user-${n}`);
    if (status === 200) acknowledged.push(`user-${n}`);
    statuses.add(status);
  }
  return statuses;
}

async function listUsersIn(folder: string): Promise<string[]> {
  const server = await serve(folder);
  const response = await fetch(`${server.url}/api/admin/v1/registrations`);
  const users = ((await response.json()) as { user: string }[]).map(({ user }) => user);
  expect(await server.stop()).toBe(0);
  return users;
}

/** Oldest first. */
const listJournals = (folder: string): string[] =>
  listSegments(realDisk, folder).map(({ path }) => path);

/** The last error on standard error, with its hint. */
const readLastError = (server: ServerProcess): string =>
  [...server.stderr().matchAll(/^berth: error: .*\nberth: hint: .*$/gm)].at(-1)?.[0] ?? "";

describe("a running server whose lock file is removed", () => {
  test("continues, and a second server is refused and names the first", async () => {
    const { folder, server } = await serveWithUsers();
    const path = join(folder, "lock");
    rmSync(path);
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const second = await runBinary(["serve", "--data", folder, ...LISTEN]);
      expect([second.code, second.stderr]).toEqual([
        1,
        expect.stringContaining(`is in use by process ${server.pid} (`),
      ]);
    }
    await waitUntil(() => existsSync(path), "the lock file is created again");
    expect(await register(server, "dua")).toBe(200);
    const { storage } = (await (await fetch(`${server.url}/api/admin/v1/status`)).json()) as {
      storage: { recovery_notes: string[] };
    };
    expect(storage.recovery_notes).toEqual([
      `${path} was removed or replaced, and was created again`,
    ]);
    expect(await server.stop()).toBe(0);
  });
});

describe("a running server whose journal is removed", () => {
  test("ends with a message, and the next start has every acknowledged change", async () => {
    const site = await serveWithUsers();
    const path = listJournals(site.folder).at(-1) ?? "";
    for (const journal of listJournals(site.folder)) rmSync(journal);
    const statuses = await registerUntilTheEnd(site);
    expect([...statuses].filter((status) => ![200, 503, null].includes(status))).toEqual([]);
    expect(await site.server.exited).toBe(1);
    expect(readLastError(site.server)).toContain(
      `${path} was removed while the server was running; it was written again`,
    );
    expect(readLastError(site.server)).toContain("no acknowledged change is lost");
    const users = await listUsersIn(site.folder);
    expect(site.acknowledged.filter((user) => !users.includes(user))).toEqual([]);
  });

  test("ends with the same message on an immediate SIGTERM and loses no acknowledged change", async () => {
    const { folder, server, acknowledged } = await serveWithUsers();
    for (const journal of listJournals(folder)) rmSync(journal);
    expect(await server.stop()).toBe(1);
    expect(readLastError(server)).toContain(
      "was removed while the server was running; it was written again",
    );
    expect(await listUsersIn(folder)).toEqual(acknowledged);
  });
});

test("a running server whose journal is replaced ends, keeps the replacement and writes its own back", async () => {
  const site = await serveWithUsers();
  const path = listJournals(site.folder).at(-1) ?? "";
  // As an editor saves a file.
  copyFileSync(path, `${path}~`);
  renameSync(`${path}~`, path);
  await registerUntilTheEnd(site);
  expect(await site.server.exited).toBe(1);
  expect(readLastError(site.server)).toContain(`${path} was replaced while the server was running`);
  expect(readLastError(site.server)).toContain(`the replacement is kept as ${path}.replaced`);
  expect(existsSync(`${path}.replaced`)).toBe(true);
  const users = await listUsersIn(site.folder);
  expect(site.acknowledged.filter((user) => !users.includes(user))).toEqual([]);
});

describe("a running server whose folder is replaced", () => {
  for (const [how, end] of [
    ["on its own", (site: ServedFolder) => registerUntilTheEnd(site)],
    ["on SIGTERM", ({ server }: ServedFolder) => server.stop()],
  ] as const) {
    test(`ends ${how} and writes nothing into the new folder`, async () => {
      const site = await serveWithUsers();
      const moved = `${site.folder}-moved`;
      renameSync(site.folder, moved);
      mkdirSync(site.folder, { mode: 0o700 });
      await end(site);
      expect(await site.server.exited).toBe(1);
      expect(readLastError(site.server)).toContain(
        `${site.folder} was replaced by another folder while the server was running`,
      );
      expect(readdirSync(site.folder)).toEqual([]);
      const users = await listUsersIn(moved);
      expect(site.acknowledged.filter((user) => !users.includes(user))).toEqual([]);
    });
  }

  test("ends without disturbing a second server in the new folder", async () => {
    const site = await serveWithUsers();
    renameSync(site.folder, `${site.folder}-moved`);
    const second = await serve(site.folder);
    expect(await site.server.exited).toBe(1);
    expect(statSync(join(site.folder, "berth.sock")).isSocket()).toBe(true);
    const status = await runBinary(["status", "--data", site.folder, "--json"]);
    expect(JSON.parse(status.stdout)).toMatchObject({ pid: second.pid });
    expect(await second.stop()).toBe(0);
  });
});

test("a running server whose folder is renamed ends with a message", async () => {
  const site = await serveWithUsers();
  renameSync(site.folder, `${site.folder}-moved`);
  await registerUntilTheEnd(site);
  expect(await site.server.exited).toBe(1);
  expect(readLastError(site.server)).toContain(
    `${site.folder} was removed or renamed while the server was running`,
  );
  expect(existsSync(site.folder)).toBe(false);
});

test("a running server whose state.json is removed makes it again, and its next start has all", async () => {
  const site = await serveWithUsers();
  const path = join(site.folder, "state.json");
  rmSync(path);
  await waitUntil(() => existsSync(path));
  rmSync(path);
  expect(await site.server.stop()).toBe(0);
  expect(await listUsersIn(site.folder)).toEqual(site.acknowledged);
});

test("a running server without any state file names it in health, and at its stop", async () => {
  const { folder, server } = await serveWithUsers();
  const path = join(folder, "state.json");
  for (const name of readdirSync(folder)) {
    if (/^state.*\.json$/.test(name)) rmSync(join(folder, name));
  }
  const isNamed = async (): Promise<boolean> =>
    (await (await fetch(`${server.url}/api/v4/health`)).text()).includes("state_missing");
  await waitUntil(isNamed);
  expect(await server.stop()).toBe(1);
  expect(readLastError(server)).toContain(
    `stopped, but ${path} was removed while the server was running, and no older state is left`,
  );
});
