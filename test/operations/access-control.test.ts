import { describe, expect, onTestFinished, spyOn, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AccessControl } from "../../src/operations/access-control.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { AccessFile } from "../../src/store/access-file.ts";
import { FolderRefused } from "../../src/store/refusal.ts";
import { FaultyDisk } from "../support/faulty-disk.ts";
import { unwrap, readJournal, openSite } from "../support/licensed-store.ts";

const PASSWORD = "correct horse battery";

async function opened() {
  const site = await openSite();
  const clock = { now: 1_000_000 };
  const again = () =>
    new AccessControl(site.store, new AccessFile(realDisk, site.folder), () => clock.now);
  return { site, clock, access: again(), again, path: join(site.folder, "access.json") };
}

test("nobody has claimed a new appliance, and the first credential does", async () => {
  const { access, again } = await opened();
  expect(access.isClaimed()).toBe(false);
  unwrap(await access.createToken("ops", null, "test"));
  expect(access.isClaimed()).toBe(true);
  expect(again().isClaimed()).toBe(true);
});

test("a user without the role of an administrator claims nothing", async () => {
  const { access } = await opened();
  unwrap(await access.setUser("ada", "user", PASSWORD, "test"));
  expect(access.isClaimed()).toBe(false);
});

test("neither time nor a slip of the hand opens the door again", async () => {
  const { access, clock } = await opened();
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

test("a name that nobody has costs as much work as a wrong password", async () => {
  const { access } = await opened();
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

describe("a clock that is set back", () => {
  const DAY = 24 * 60 * 60 * 1_000;

  test("does not revive a token that was refused because it had ended", async () => {
    const { access, clock, again } = await opened();
    const { token } = unwrap(await access.createToken("ops", 1, "test"));
    clock.now += 2 * DAY;
    expect(access.identify(token)).toBeNull();
    await access.persistExpiredTokens();
    clock.now -= 2 * DAY;
    expect(access.identify(token)).toBeNull();
    expect(again().identify(token)).toBeNull();
    expect(again().list().tokens).toMatchObject([{ name: "ops", ended: true }]);
  });

  test("does not revive a token that ended before a start", async () => {
    const { access, clock, again } = await opened();
    const { token } = unwrap(await access.createToken("ops", 1, "test"));
    clock.now += 2 * DAY;
    await again().persistExpiredTokens();
    clock.now -= 2 * DAY;
    expect(again().identify(token)).toBeNull();
  });

  test("leaves a token that has not ended as it was, also in the file", async () => {
    const { access, clock, again, path } = await opened();
    const { token } = unwrap(await access.createToken("ops", 3, "test"));
    const before = readFileSync(path, "utf8");
    clock.now += 2 * DAY;
    expect(access.identify(token)).not.toBeNull();
    await access.persistExpiredTokens();
    clock.now -= 2 * DAY;
    expect(again().identify(token)).not.toBeNull();
    expect(readFileSync(path, "utf8")).toBe(before);
  });

  test("ends a login that is later than the clock", async () => {
    const { access, clock } = await opened();
    unwrap(await access.setUser("ada", "user", PASSWORD, "test"));
    const { token } = unwrap(await access.login("ada", PASSWORD, "test"));
    expect(access.identify(token)).not.toBeNull();
    clock.now -= 2 * DAY;
    expect(access.identify(token)).toBeNull();
    clock.now += 2 * DAY;
    expect(access.identify(token)).toBeNull();
  });
});

test("nothing that is kept opens anything, and only its owner may read it", async () => {
  const { access, path } = await opened();
  const { token } = unwrap(await access.createToken("ops", null, "test"));
  unwrap(await access.setUser("ada", "user", PASSWORD, "test"));
  const text = readFileSync(path, "utf8");
  expect(text).not.toContain(token);
  expect(text).not.toContain(PASSWORD);
  expect(text).toContain("$argon2id$");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(JSON.stringify(access.list())).not.toMatch(/argon2|sha256|[0-9a-f]{64}/);
});

test("every change is on record with who made it, and with no secret", async () => {
  const { site, access } = await opened();
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

test("a name is taken once, and one that is not there cannot be revoked", async () => {
  const { access } = await opened();
  unwrap(await access.createToken("ops", null, "test"));
  expect(await access.createToken("ops", null, "test")).toMatchObject({
    fault: { code: "name_taken" },
  });
  expect(await access.revokeToken("nobody", "test")).toMatchObject({
    fault: { code: "unknown_name" },
  });
});

test("a list that cannot be read is refused: it does not mean that everybody may come in", async () => {
  const { access, again, path } = await opened();
  unwrap(await access.createToken("ops", null, "test"));
  const text = readFileSync(path, "utf8");
  for (const damaged of ["", "{}", text.slice(0, -4), text.replace('"access": 1', '"access": 2')]) {
    writeFileSync(path, damaged);
    expect(again).toThrow(FolderRefused);
  }
  writeFileSync(path, text);
  expect(again().isClaimed()).toBe(true);
});

describe("a disk that fails", () => {
  const failing = (code: string): Error => Object.assign(new Error(code), { code });

  async function onFaultyDisk() {
    const { site } = await opened();
    const disk = new FaultyDisk();
    const open = () =>
      new AccessControl(site.store, new AccessFile(disk, site.folder), () => 1_000_000);
    const access = open();
    unwrap(await access.createToken("ops", null, "test"));
    const recorded = () =>
      readJournal(site.folder)
        .flatMap(({ line }) => line.events)
        .filter(({ type }) => type === "AccessChanged").length;
    return { disk, access, open, recorded };
  }

  test.each(["open", "write", "sync"] as const)(
    "without room for %s nothing is changed or on record",
    async (name) => {
      const { disk, access, open, recorded } = await onFaultyDisk();
      disk.beforeCall = (call) => {
        if (call.name === name) throw failing("ENOSPC");
      };
      const refused = await access.createToken("more", null, "test");
      expect(refused).toEqual({ ok: false, fault: { code: "storage_full" } });
      disk.clearFaults();
      expect([recorded(), access.list(), open().list()]).toEqual([1, access.list(), access.list()]);
      expect(access.list().tokens).toHaveLength(1);
      unwrap(await access.createToken("more", null, "test"));
      expect([recorded(), open().list().tokens.length]).toEqual([2, 2]);
    },
  );

  test.each(["rename", "syncFolder"] as const)(
    "when %s fails it goes by what the next start will find",
    async (name) => {
      const { disk, access, open } = await onFaultyDisk();
      disk.beforeCall = (call) => {
        if (call.name === name) throw failing("EIO");
      };
      const refused = await access.createToken("more", null, "test");
      expect(refused).toEqual({ ok: false, fault: { code: "storage_failed" } });
      disk.clearFaults();
      expect(access.list()).toEqual(open().list());
      expect(access.isClaimed()).toBe(true);
    },
  );
});

test("ten thousand logins are kept, the oldest go first, and all end with their user", async () => {
  const { access } = await opened();
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
