import { describe, expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AccessControl } from "../../../src/operations/access/access-control.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { FolderRefused } from "../../../src/store/folder/refusal.ts";
import { AccessFile } from "../../../src/store/secrets/access-file.ts";
import { FaultyDisk } from "../../support/faulty-disk.ts";
import { openSite, readJournal, unwrap } from "../../support/licensed-store.ts";

const PASSWORD = "correct horse battery";
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** An appliance with the token `ops`; `reopen` reads the file as the next start does. */
async function openAccess() {
  const site = await openSite();
  const disk = new FaultyDisk();
  const clock = { now: 1_000_000 };
  const reopen = () =>
    new AccessControl(site.store, new AccessFile(disk, site.folder), () => clock.now);
  const access = reopen();
  const { token } = unwrap(await access.createToken("ops", null, "test"));
  const start = async (credential = token) =>
    unwrap(await access.startSession(credential, "10.0.0.1"));
  const path = join(site.folder, "access.json");
  return { site, disk, clock, access, reopen, token, start, path };
}

describe("a page session", () => {
  test("has the name and role of its token, and ends after 12 hours", async () => {
    const { access, clock, start } = await openAccess();
    const session = await start();
    expect(session).toMatchObject({ name: "ops", role: "admin", endsAt: clock.now + 12 * HOUR });
    clock.now += 12 * HOUR - 1;
    expect(access.identify(session.token)).toMatchObject({
      name: "ops",
      role: "admin",
      credentialType: "token",
      sessionId: session.id,
    });
    clock.now += 1;
    expect(access.identify(session.token)).toBeNull();
    expect(access.list().sessions).toEqual([]);
  });

  test("is still valid after a restart", async () => {
    const { reopen, start } = await openAccess();
    const { token, id } = await start();
    expect(reopen().identify(token)).toMatchObject({ name: "ops", sessionId: id });
  });

  test("ends with its token, not later", async () => {
    const { access, clock, start } = await openAccess();
    const short = unwrap(await access.createToken("short", 1, "test"));
    clock.now += 23 * HOUR;
    const session = await start(short.token);
    expect(session.endsAt).toBe(clock.now + HOUR);
    clock.now += HOUR;
    expect(access.identify(session.token)).toBeNull();
  });

  test("ends when its token is revoked, also in the file, and a new token of that name does not revive it", async () => {
    const { access, reopen, start } = await openAccess();
    const other = unwrap(await access.createToken("other", null, "test"));
    const [session, remaining] = [await start(), await start(other.token)];
    unwrap(await access.revokeToken("ops", "test"));
    expect(access.identify(session.token)).toBeNull();
    unwrap(await access.createToken("ops", null, "test"));
    expect(access.identify(session.token)).toBeNull();
    expect(reopen().identify(session.token)).toBeNull();
    expect(reopen().identify(remaining.token)).toMatchObject({ name: "other" });
  });

  test.each(["removed", "given a new password", "given another role"])(
    "ends when its user is %s",
    async (change) => {
      const { access, reopen, start } = await openAccess();
      unwrap(await access.setUser("ada", "viewer", PASSWORD, "test"));
      const login = unwrap(await access.login("ada", PASSWORD, "10.0.0.1"));
      const session = await start(login.token);
      expect(access.identify(session.token)).toMatchObject({ name: "ada", role: "viewer" });
      if (change === "removed") unwrap(await access.removeUser("ada", "test"));
      else if (change === "given a new password") {
        unwrap(await access.setUser("ada", "viewer", `${PASSWORD}!`, "test"));
      } else unwrap(await access.setUser("ada", "admin", PASSWORD, "test"));
      expect(access.identify(session.token)).toBeNull();
      expect(reopen().identify(session.token)).toBeNull();
      expect(access.list().sessions).toEqual([]);
    },
  );

  test("does not end when a token with the name of its user is revoked", async () => {
    const { access, start } = await openAccess();
    unwrap(await access.setUser("ops", "admin", PASSWORD, "test"));
    const login = unwrap(await access.login("ops", PASSWORD, "10.0.0.1"));
    const session = await start(login.token);
    unwrap(await access.revokeToken("ops", "test"));
    expect(access.identify(session.token)).toMatchObject({ credentialType: "user" });
  });

  test("is not started with a wrong or an expired token", async () => {
    const { access, clock } = await openAccess();
    const { token } = unwrap(await access.createToken("short", 1, "test"));
    clock.now += DAY;
    for (const credential of [token, "berth_wrong", ""]) {
      expect(await access.startSession(credential, "10.0.0.1")).toMatchObject({
        fault: { code: "unauthorized" },
      });
    }
    expect(access.list().sessions).toEqual([]);
  });
});

describe("revoking a page session", () => {
  test("ends it at once and after a restart, and records its owner and the caller", async () => {
    const { site, access, reopen, start } = await openAccess();
    const [revoked, remaining] = [await start(), await start()];
    unwrap(await access.revokeSession(revoked.id, "root@10.0.0.5"));
    for (const control of [access, reopen()]) {
      expect(control.identify(revoked.token)).toBeNull();
      expect(control.identify(remaining.token)).not.toBeNull();
    }
    const events = readJournal(site.folder).flatMap(({ line }) => line.events);
    expect(events.at(-1)).toMatchObject({
      type: "AccessChanged",
      change: "session_revoked",
      name: "ops",
      peer: "root@10.0.0.5",
    });
    expect(JSON.stringify(events)).not.toContain(revoked.token);
  });

  test("refuses an id that no session has", async () => {
    const { access, start } = await openAccess();
    const { id } = await start();
    unwrap(await access.revokeSession(id, "test"));
    expect(await access.revokeSession(id, "test")).toMatchObject({
      fault: { code: "unknown_session" },
    });
  });

  test("ends it although the disk is full, and saves that when the server stops", async () => {
    const { access, disk, reopen, start } = await openAccess();
    const { id, token } = await start();
    failWrites(disk);
    expect(await access.revokeSession(id, "test")).toMatchObject({
      fault: { code: "storage_full" },
    });
    expect(access.identify(token)).toBeNull();
    disk.clearFaults();
    await access.close();
    expect(reopen().identify(token)).toBeNull();
  });
});

describe("setting the clock back", () => {
  test("does not revive a session that has expired", async () => {
    const { access, clock, reopen, start } = await openAccess();
    const { token } = await start();
    clock.now += 13 * HOUR;
    expect(access.identify("berth_other")).toBeNull();
    await access.persistExpiries();
    clock.now -= 10 * HOUR;
    expect(access.identify(token)).toBeNull();
    expect(reopen().identify(token)).toBeNull();
  });

  test("ends a session that was started later than the new time, for good", async () => {
    const { access, clock, reopen, start } = await openAccess();
    const { token } = await start();
    clock.now -= 2 * DAY;
    await access.persistExpiries();
    clock.now += 2 * DAY + HOUR;
    expect(access.identify(token)).toBeNull();
    expect(reopen().identify(token)).toBeNull();
  });

  test("while the server is stopped ends a session at the next start", async () => {
    const { clock, reopen, start } = await openAccess();
    const { token } = await start();
    clock.now -= 2 * DAY;
    await reopen().persistExpiries();
    clock.now += 2 * DAY + HOUR;
    expect(reopen().identify(token)).toBeNull();
  });
});

describe("the number of page sessions", () => {
  test("is limited to 20 of one owner: the oldest ends, and no session of another owner", async () => {
    const { access, clock, start } = await openAccess();
    const other = unwrap(await access.createToken("other", null, "test"));
    const ofOther = await start(other.token);
    const [first, second] = [await start(), await start()];
    for (let count = 2; count <= 20; count += 1) {
      clock.now += MINUTE;
      await start();
    }
    expect(access.identify(first.token)).toBeNull();
    expect(access.identify(second.token)).not.toBeNull();
    expect(access.identify(ofOther.token)).not.toBeNull();
    expect(access.list().sessions).toHaveLength(21);
  });

  test("grows by at most 30 a minute for one owner, and other owners are not affected", async () => {
    const { access, clock, token, start } = await openAccess();
    const other = unwrap(await access.createToken("other", null, "test"));
    for (let count = 0; count < 30; count += 1) await start();
    expect(await access.startSession(token, "10.0.0.1")).toMatchObject({
      fault: { code: "too_many_requests" },
    });
    await start(other.token);
    clock.now += MINUTE;
    await start();
  });
});

test("a session can be started although the disk is full, and works until the server stops", async () => {
  const { access, disk, reopen, start } = await openAccess();
  failWrites(disk);
  const { token } = await start();
  expect(access.identify(token)).not.toBeNull();
  disk.clearFaults();
  expect(reopen().identify(token)).toBeNull();
});

test("the access file holds only the digests of sessions, and only its owner may read it", async () => {
  const { access, path, start } = await openAccess();
  const { token, id } = await start();
  const text = readFileSync(path, "utf8");
  expect(text).toContain(id);
  expect(text).not.toContain(token);
  expect(text).not.toContain(token.slice(6));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(JSON.stringify(access.list())).not.toMatch(/sha256|[0-9a-f]{64}/);
});

describe("an access file", () => {
  test("with a damaged session is refused", async () => {
    const { path, reopen, start } = await openAccess();
    const { id } = await start();
    const text = readFileSync(path, "utf8");
    for (const damaged of [
      text.replace(id, "short"),
      text.replace('"credential": "token"', '"credential": "ghost"'),
      text.replace('"sessions": [', '"sessions": [1,'),
    ]) {
      expect(damaged).not.toBe(text);
      writeFileSync(path, damaged);
      expect(reopen).toThrow(FolderRefused);
    }
  });

  test("with a session whose owner does not exist gives that session no access", async () => {
    const { path, reopen, start } = await openAccess();
    const { token } = await start();
    const text = readFileSync(path, "utf8");
    const owner = '"credential": "token",\n   "name": "ops"';
    expect(text).toContain(owner);
    writeFileSync(path, text.replace(owner, owner.replace("ops", "gone")));
    expect(reopen().identify(token)).toBeNull();
  });
});

test("a page session has no access if its token or password is newer than it", async () => {
  const { access, clock, path, reopen, start, token } = await openAccess();
  unwrap(await access.setUser("ada", "admin", PASSWORD, "test"));
  const login = unwrap(await access.login("ada", PASSWORD, "10.0.0.1"));
  clock.now += MINUTE;
  const sessions = [await start(token), await start(login.token)];
  for (const session of sessions) expect(reopen().identify(session.token)).not.toBeNull();
  clock.now += MINUTE;
  const file = JSON.parse(readFileSync(path, "utf8")) as {
    tokens: { madeAt: number }[];
    users: { setAt: number }[];
  };
  for (const row of file.tokens) row.madeAt = clock.now;
  for (const row of file.users) row.setAt = clock.now;
  writeFileSync(path, JSON.stringify(file));
  for (const session of sessions) expect(reopen().identify(session.token)).toBeNull();
});

describe("the last use", () => {
  test("of a token, a user and a session is listed with the address", async () => {
    const { access, clock, token, start } = await openAccess();
    unwrap(await access.setUser("ada", "user", PASSWORD, "test"));
    expect(access.list()).toMatchObject({
      tokens: [{ lastUse: null }],
      users: [{ lastUse: null }],
    });
    const session = await start();
    clock.now += 5;
    useToken(access, token, "10.0.0.2");
    unwrap(await access.login("ada", PASSWORD, "10.0.0.3"));
    expect(access.list()).toMatchObject({
      tokens: [{ lastUse: { at: clock.now, address: "10.0.0.2" } }],
      users: [{ lastUse: { at: clock.now, address: "10.0.0.3" } }],
      sessions: [{ lastUse: { at: clock.now - 5, address: "10.0.0.1" } }],
    });
    useToken(access, session.token, "10.0.0.4");
    expect(access.list().sessions).toMatchObject([
      { lastUse: { at: clock.now, address: "10.0.0.4" } },
    ]);
  });

  test("is written once an hour and at the stop, not with each request", async () => {
    const { access, clock, disk, token, reopen } = await openAccess();
    let writes = 0;
    disk.beforeCall = (call) => {
      if (call.name === "rename") writes += 1;
    };
    const start = clock.now;
    for (let second = 0; second < 3_600; second += 1) {
      clock.now = start + second * 1_000;
      useToken(access, token, "10.0.0.2");
    }
    await access.persistExpiries();
    expect(writes).toBe(0);
    clock.now = start + HOUR;
    for (let count = 0; count < 100; count += 1) useToken(access, token, "10.0.0.2");
    await access.persistExpiries();
    expect(writes).toBe(1);
    clock.now += MINUTE;
    useToken(access, token, "10.0.0.3");
    await access.close();
    expect(writes).toBe(2);
    expect(reopen().list().tokens).toMatchObject([
      { lastUse: { at: clock.now, address: "10.0.0.3" } },
    ]);
    await access.close();
    expect(writes).toBe(2);
  });

  test("of a revoked token is not that of a new token with the same name", async () => {
    const { access, token } = await openAccess();
    unwrap(await access.createToken("other", null, "test"));
    useToken(access, token, "10.0.0.2");
    unwrap(await access.revokeToken("ops", "test"));
    unwrap(await access.createToken("ops", null, "test"));
    expect(access.list().tokens).toMatchObject([{ name: "other" }, { name: "ops", lastUse: null }]);
  });
});

describe("a viewer", () => {
  test("does not claim the appliance, and is not an administrator credential", async () => {
    const site = await openSite();
    const access = new AccessControl(
      site.store,
      new AccessFile(realDisk, site.folder),
      () => 1_000_000,
    );
    const viewer = unwrap(await access.createToken("eyes", null, "test", "viewer"));
    unwrap(await access.setUser("ada", "viewer", PASSWORD, "test"));
    expect(access.identify(viewer.token)).toMatchObject({ name: "eyes", role: "viewer" });
    expect(access.isClaimed()).toBe(false);
    unwrap(await access.createToken("ops", null, "test"));
    expect(access.isClaimed()).toBe(true);
    expect(await access.revokeToken("ops", "test")).toMatchObject({
      fault: { code: "last_credential" },
    });
    unwrap(await access.setUser("root", "admin", PASSWORD, "test"));
    unwrap(await access.revokeToken("ops", "test"));
    expect(await access.setUser("root", "viewer", PASSWORD, "test")).toMatchObject({
      fault: { code: "last_credential" },
    });
  });
});

/** As the gate does for an admitted request. */
function useToken(access: AccessControl, token: string, address: string): void {
  const actor = access.identify(token);
  if (actor === null) throw new Error("the token is not valid");
  access.noteUse(actor, address);
}

function failWrites(disk: FaultyDisk): void {
  disk.beforeCall = (call) => {
    if (call.name === "write") throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
  };
}
