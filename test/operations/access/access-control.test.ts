import { describe, expect, onTestFinished, spyOn, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AccessControl } from "../../../src/operations/access/access-control.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { AccessFile } from "../../../src/store/secrets/access-file.ts";
import { FolderRefused } from "../../../src/store/folder/refusal.ts";
import { FaultyDisk } from "../../support/faulty-disk.ts";
import { unwrap, readJournal, openSite } from "../../support/licensed-store.ts";

const PASSWORD = "correct horse battery";

async function openAccess() {
  const site = await openSite();
  const clock = { now: 1_000_000 };
  const reopen = () =>
    new AccessControl(site.store, new AccessFile(realDisk, site.folder), () => clock.now);
  return { site, clock, access: reopen(), reopen, path: join(site.folder, "access.json") };
}

test("a new appliance is unclaimed until the first admin credential is created", async () => {
  const { access, reopen } = await openAccess();
  expect(access.isClaimed()).toBe(false);
  unwrap(await access.createToken("ops", null, "test"));
  expect(access.isClaimed()).toBe(true);
  expect(reopen().isClaimed()).toBe(true);
});

test("a user without the admin role does not claim the appliance", async () => {
  const { access } = await openAccess();
  unwrap(await access.setUser("ada", "user", PASSWORD, "test"));
  expect(access.isClaimed()).toBe(false);
});

test("a claimed appliance stays claimed: tokens may expire, but the last credential stays", async () => {
  const { access, clock } = await openAccess();
  const { token } = unwrap(await access.createToken("ops", 1, "test"));
  clock.now += 2 * 24 * 60 * 60 * 1_000;
  expect(access.identify(token)).toBeNull();
  expect(access.isClaimed()).toBe(true);
  expect(await access.revokeToken("ops", "test")).toEqual({
    ok: false,
    fault: { code: "last_credential" },
  });
  unwrap(await access.setUser("root", "admin", PASSWORD, "test"));
  unwrap(await access.revokeToken("ops", "test"));
  expect(await access.setUser("root", "user", PASSWORD, "test")).toMatchObject({ ok: false });
  expect(await access.removeUser("root", "test")).toMatchObject({ ok: false });
});

test("login takes as much work for an unknown name as for a wrong password", async () => {
  const { access } = await openAccess();
  unwrap(await access.setUser("ada", "user", PASSWORD, "test"));
  const verify = spyOn(Bun.password, "verify");
  onTestFinished(() => verify.mockRestore());
  for (const name of ["ada", "bob"]) {
    expect(await access.login(name, "wrong password", "10.0.0.1")).toEqual({
      ok: false,
      fault: { code: "unauthorized" },
    });
  }
  const costs = verify.mock.calls.map(([, hash]) =>
    typeof hash === "string" ? /^\$argon2id\$v=\d+\$[^$]+/.exec(hash)?.[0] : null,
  );
  expect(costs).toEqual([expect.any(String), costs[0]]);
});

describe("setting the clock back", () => {
  const DAY = 24 * 60 * 60 * 1_000;

  test("does not make a token valid that was refused as expired", async () => {
    const { access, clock, reopen } = await openAccess();
    const { token } = unwrap(await access.createToken("ops", 1, "test"));
    clock.now += 2 * DAY;
    expect(access.identify(token)).toBeNull();
    await access.persistExpiries();
    clock.now -= 2 * DAY;
    expect(access.identify(token)).toBeNull();
    expect(reopen().identify(token)).toBeNull();
    expect(reopen().list().tokens).toMatchObject([{ name: "ops", ended: true }]);
  });

  test("does not make a token valid that had expired before a start", async () => {
    const { access, clock, reopen } = await openAccess();
    const { token } = unwrap(await access.createToken("ops", 1, "test"));
    clock.now += 2 * DAY;
    await reopen().persistExpiries();
    clock.now -= 2 * DAY;
    expect(reopen().identify(token)).toBeNull();
  });

  test("leaves a token that has not expired unchanged, also in the file", async () => {
    const { access, clock, reopen, path } = await openAccess();
    const { token } = unwrap(await access.createToken("ops", 3, "test"));
    const before = readFileSync(path, "utf8");
    clock.now += 2 * DAY;
    expect(access.identify(token)).not.toBeNull();
    await access.persistExpiries();
    clock.now -= 2 * DAY;
    expect(reopen().identify(token)).not.toBeNull();
    expect(readFileSync(path, "utf8")).toBe(before);
  });

  test("ends a login that was made later than the new time", async () => {
    const { access, clock } = await openAccess();
    unwrap(await access.setUser("ada", "user", PASSWORD, "test"));
    const { token } = unwrap(await access.login("ada", PASSWORD, "test"));
    expect(access.identify(token)).not.toBeNull();
    clock.now -= 2 * DAY;
    expect(access.identify(token)).toBeNull();
    clock.now += 2 * DAY;
    expect(access.identify(token)).toBeNull();
  });
});

test("the access file holds no usable secret, and only its owner may read it", async () => {
  const { access, path } = await openAccess();
  const { token } = unwrap(await access.createToken("ops", null, "test"));
  unwrap(await access.setUser("ada", "user", PASSWORD, "test"));
  const text = readFileSync(path, "utf8");
  expect(text).not.toContain(token);
  expect(text).not.toContain(PASSWORD);
  expect(text).toContain("$argon2id$");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(JSON.stringify(access.list())).not.toMatch(/argon2|sha256|[0-9a-f]{64}/);
});

test("every access change is recorded with its author, and without a secret", async () => {
  const { site, access } = await openAccess();
  const { token } = unwrap(await access.createToken("ops", null, "root@10.0.0.5"));
  unwrap(await access.setUser("ada", "user", PASSWORD, "socket"));
  unwrap(await access.removeUser("ada", "socket"));
  const events = readJournal(site.folder).flatMap(({ line }) => line.events);
  expect(events.filter(({ type }) => type === "AccessChanged")).toMatchObject([
    { change: "token_made", name: "ops", peer: "root@10.0.0.5" },
    { change: "user_set", name: "ada", peer: "socket" },
    { change: "user_removed", name: "ada", peer: "socket" },
  ]);
  expect(JSON.stringify(events)).not.toContain(token);
});

test("createToken refuses a name in use, and revokeToken an unknown name", async () => {
  const { access } = await openAccess();
  unwrap(await access.createToken("ops", null, "test"));
  expect(await access.createToken("ops", null, "test")).toMatchObject({
    fault: { code: "name_taken" },
  });
  expect(await access.revokeToken("nobody", "test")).toMatchObject({
    fault: { code: "unknown_name" },
  });
});

test("a damaged access file is refused at start instead of granting access to everyone", async () => {
  const { access, reopen, path } = await openAccess();
  unwrap(await access.createToken("ops", null, "test"));
  const text = readFileSync(path, "utf8");
  for (const damaged of ["", "{}", text.slice(0, -4), text.replace('"access": 2', '"access": 1')]) {
    writeFileSync(path, damaged);
    expect(reopen).toThrow(FolderRefused);
  }
  writeFileSync(path, text);
  expect(reopen().isClaimed()).toBe(true);
});

describe("AccessControl with a failing disk", () => {
  const makeError = (code: string): Error => Object.assign(new Error(code), { code });

  async function onFaultyDisk() {
    const { site } = await openAccess();
    const disk = new FaultyDisk();
    const open = () =>
      new AccessControl(site.store, new AccessFile(disk, site.folder), () => 1_000_000);
    const access = open();
    unwrap(await access.createToken("ops", null, "test"));
    const countRecorded = () =>
      readJournal(site.folder)
        .flatMap(({ line }) => line.events)
        .filter(({ type }) => type === "AccessChanged").length;
    return { disk, access, open, countRecorded };
  }

  test.each(["open", "write", "sync"] as const)(
    "changes and records nothing when %s fails for lack of disk space",
    async (name) => {
      const { disk, access, open, countRecorded } = await onFaultyDisk();
      disk.beforeCall = (call) => {
        if (call.name === name) throw makeError("ENOSPC");
      };
      const refused = await access.createToken("more", null, "test");
      expect(refused).toEqual({ ok: false, fault: { code: "storage_full" } });
      disk.clearFaults();
      expect([countRecorded(), access.list(), open().list()]).toEqual([
        1,
        access.list(),
        access.list(),
      ]);
      expect(access.list().tokens).toHaveLength(1);
      unwrap(await access.createToken("more", null, "test"));
      expect([countRecorded(), open().list().tokens.length]).toEqual([2, 2]);
    },
  );

  test.each(["rename", "syncFolder"] as const)(
    "uses the same list as the next start when %s fails",
    async (name) => {
      const { disk, access, open } = await onFaultyDisk();
      disk.beforeCall = (call) => {
        if (call.name === name) throw makeError("EIO");
      };
      const refused = await access.createToken("more", null, "test");
      expect(refused).toEqual({ ok: false, fault: { code: "storage_failed" } });
      disk.clearFaults();
      expect(access.list()).toEqual(open().list());
      expect(access.isClaimed()).toBe(true);
    },
  );
});

test("login keeps 10,000 sessions, drops the oldest first, and ends all with their user", async () => {
  const { access } = await openAccess();
  const hash = spyOn(Bun.password, "verify").mockResolvedValue(true);
  try {
    unwrap(await access.setUser("ada", "user", PASSWORD, "test"));
    const login = async () => unwrap(await access.login("ada", PASSWORD, "test")).token;
    const [first, second] = [await login(), await login()];
    for (let count = 2; count <= 10_000; count += 1) await login();
    expect(access.identify(first)).toBeNull();
    expect(access.identify(second)).toMatchObject({ name: "ada", role: "user" });
    unwrap(await access.removeUser("ada", "test"));
    expect(access.identify(second)).toBeNull();
  } finally {
    hash.mockRestore();
  }
});
