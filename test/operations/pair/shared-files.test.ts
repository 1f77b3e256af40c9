import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { generateKey } from "../../../src/license/documents/keys.ts";
import { MAX_SHARED_BYTES } from "../../../src/operations/pair/shared-files.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { SharedRevisionsFile } from "../../../src/store/secrets/shared-revisions-file.ts";
import { seal } from "../../../src/platform/crypto/seal.ts";
import { readJournal, unwrap } from "../../support/licensed-store.ts";
import { openPair } from "../../support/pair-of-sites.ts";
import { SharedFilesHost } from "../../support/shared-files-host.ts";

const PASSWORD = "correct horse battery";
const KEYS = { apiKey: "the-api-key", sharedKey: "the-shared-key" };
const CHANGE = { name: "site_name", from: "vm", to: "Plant 4" };

async function openHosts() {
  const { log, alpha: alphaSite, beta: betaSite } = await openPair();
  const key = await generateKey();
  const alpha = new SharedFilesHost(log, alphaSite, "alpha", key);
  const beta = new SharedFilesHost(log, betaSite, "beta", key);
  const countRecorded = (type: string): number =>
    readJournal(alphaSite.folder)
      .flatMap(({ line }) => line.events)
      .filter((event) => event.type === type).length;
  /** The process of a host begins again, beside the old one. */
  const restart = (host: "alpha" | "beta"): SharedFilesHost =>
    new SharedFilesHost(log, host === "alpha" ? alphaSite : betaSite, host, key);
  return { log, alpha, beta, countRecorded, restart };
}

/** Alpha leads, and an administrator made a token. */
async function openWithToken() {
  const hosts = await openHosts();
  await hosts.alpha.lead();
  const { token } = unwrap(await hosts.alpha.access.createToken("ops", null, "test"));
  return { ...hosts, token };
}

const damageRow = ({ log }: Awaited<ReturnType<typeof openHosts>>, content: Uint8Array): void => {
  const version = (log.files.get("access")?.version ?? 0) + 1;
  log.files.set("access", { version, content });
};

describe("a host that takes over", () => {
  test("knows the tokens, users and page sessions that the other one acknowledged", async () => {
    const { alpha, beta, token } = await openWithToken();
    unwrap(await alpha.access.setUser("ada", "admin", PASSWORD, "test"));
    const session = unwrap(await alpha.access.startSession(token, "10.0.0.1"));
    await beta.lead();
    expect(beta.access.identify(token)).toMatchObject({ name: "ops", role: "admin" });
    expect(beta.access.identify(session.token)).toMatchObject({ sessionId: session.id });
    expect(await beta.access.login("ada", PASSWORD, "test")).toMatchObject({ ok: true });
  });

  test("ends the logins of /auth at the other one, which are only in its memory", async () => {
    const { alpha, beta } = await openWithToken();
    unwrap(await alpha.access.setUser("ada", "admin", PASSWORD, "test"));
    const { token } = unwrap(await alpha.access.login("ada", PASSWORD, "test"));
    await beta.lead();
    expect(beta.access.identify(token)).toBeNull();
  });

  test("does not accept a token that the other one revoked a moment before", async () => {
    const { alpha, beta, token } = await openWithToken();
    unwrap(await alpha.access.setUser("ada", "admin", PASSWORD, "test"));
    await beta.files.refresh();
    expect(beta.access.identify(token)).not.toBeNull();
    unwrap(await alpha.access.revokeToken("ops", "test"));
    await beta.lead();
    expect(beta.access.identify(token)).toBeNull();
  });

  test("has the keys, encrypted with its own sealing key", async () => {
    const { alpha, beta } = await openHosts();
    await alpha.lead();
    unwrap(await alpha.credentials.set(KEYS, "test"));
    await beta.lead();
    expect(await beta.credentials.readPair()).toEqual(KEYS);
    const sealingKeys = [alpha, beta].map((host) =>
      readFileSync(host.pathOf("sealing.key"), "hex"),
    );
    expect(new Set(sealingKeys).size).toBe(2);
  });

  test("keeps the key that a change did not name", async () => {
    const { alpha, beta } = await openHosts();
    await alpha.lead();
    unwrap(await alpha.credentials.set(KEYS, "test"));
    unwrap(await alpha.credentials.set({ apiKey: "another", sharedKey: null }, "test"));
    await beta.lead();
    expect(await beta.credentials.readPair()).toEqual({ ...KEYS, apiKey: "another" });
  });

  test("uses the settings that were edited on the other one", async () => {
    const { alpha, beta } = await openHosts();
    await alpha.lead();
    unwrap(await alpha.settings.save({ site_name: "Plant 4" }, [CHANGE], "test"));
    await beta.lead();
    expect([beta.edited, beta.settings.read()]).toEqual([
      { site_name: "Plant 4" },
      { site_name: "Plant 4" },
    ]);
  });

  test("gives the log what it has, if it is the first one that leads", async () => {
    const { log, alpha, beta } = await openHosts();
    await alpha.lead();
    expect([...log.files.keys()]).toEqual(["access", "settings"]);
    unwrap(await alpha.access.createToken("ops", null, "test"));
    await beta.files.refresh();
    // In another log, a host has what it had before.
    log.files.clear();
    await beta.lead();
    await alpha.files.refresh();
    expect(alpha.access.list().tokens).toMatchObject([{ name: "ops" }]);
  });
});

describe("a host on standby", () => {
  test("replaces its files when the other one changes them, and only then", async () => {
    const { alpha, beta, token } = await openWithToken();
    await beta.files.refresh();
    expect(beta.access.identify(token)).toMatchObject({ name: "ops" });
    expect(readFileSync(beta.pathOf("access.json"), "utf8")).toBe(
      readFileSync(alpha.pathOf("access.json"), "utf8"),
    );
    beta.disk.calls.length = 0;
    await beta.files.refresh();
    expect(beta.disk.calls).toEqual([]);
  });

  test("writes no uses of its tokens, to its disk or to the log", async () => {
    const { log, beta, token } = await openWithToken();
    await beta.files.refresh();
    const version = log.files.get("access")?.version;
    beta.disk.calls.length = 0;
    for (let hour = 0; hour < 3; hour += 1) {
      const actor = beta.access.identify(token);
      if (actor !== null) beta.access.noteUse(actor, "10.0.0.1");
      beta.clock += 3_600_000;
    }
    await beta.access.close();
    expect([beta.disk.calls, log.files.get("access")?.version]).toEqual([[], version]);
  });

  test("uses a new list although its disk is full, and writes it when there is space", async () => {
    const { alpha, beta, token } = await openWithToken();
    unwrap(await alpha.access.setUser("ada", "admin", PASSWORD, "test"));
    await beta.files.refresh();
    unwrap(await alpha.access.revokeToken("ops", "test"));
    beta.disk.bytesLeft = 0;
    await beta.files.refresh();
    expect(beta.access.identify(token)).toBeNull();
    expect(beta.files.problems.get("access")).toContain("ENOSPC");
    beta.disk.clearFaults();
    await beta.files.refresh();
    expect(beta.files.problems.size).toBe(0);
    expect(readFileSync(beta.pathOf("access.json"), "utf8")).not.toContain("ops");
  });

  test("keeps its settings if it does not know a setting of a newer version", async () => {
    const { alpha, beta } = await openHosts();
    await alpha.lead();
    await beta.files.refresh();
    unwrap(await alpha.settings.save({ unknown: "x" }, [CHANGE], "test"));
    await beta.files.refresh();
    expect([beta.edited, beta.settings.read()]).toEqual([{}, {}]);
    expect(beta.files.problems.get("settings")).toBe("unknown is no editable setting");
  });
});

describe("a change on the host that leads", () => {
  test("is refused, and changes nothing, if another host leads meanwhile", async () => {
    const { log, alpha, beta, countRecorded } = await openWithToken();
    const before = log.files.get("access")?.version;
    // The term of alpha has ended; its store has not noticed it yet.
    const writing = alpha.access.createToken("late", null, "test");
    log.leader = { ...log.leader, epoch: log.leader.epoch + 1, holder: "beta" };
    expect(await writing).toEqual({ ok: false, fault: { code: "standby" } });
    expect([log.files.get("access")?.version, countRecorded("AccessChanged")]).toEqual([before, 1]);
    await beta.files.refresh();
    expect(beta.access.list().tokens).toHaveLength(1);
  });

  test("is refused if only the file could not be written by this host any more", async () => {
    const { log, alpha } = await openWithToken();
    const { leader } = log;
    const publisher = alpha.files.publisherOf("access");
    log.leader = { ...leader, epoch: leader.epoch + 1, holder: "beta" };
    let isCommitted = false;
    const published = await publisher.publish(Buffer.from("late"), async () => {
      isCommitted = true;
    });
    expect([published, isCommitted]).toEqual([{ ok: false, fault: { code: "standby" } }, false]);
  });

  test.each([
    ["lost", ["ops"]],
    ["answer lost", ["ops", "second"]],
  ] as const)(
    "whose write is %s has an unknown outcome, until the log is read again",
    async (fault, names) => {
      const { alpha } = await openWithToken();
      alpha.writeFault = fault;
      const unknown = { ok: false, fault: { code: "log_unavailable" } } as const;
      expect(await alpha.access.createToken("second", null, "test")).toEqual(unknown);
      // A change now could undo the one before.
      expect(await alpha.access.createToken("third", null, "test")).toEqual(unknown);
      await alpha.files.refresh();
      expect(alpha.access.list().tokens.map(({ name }) => name)).toEqual([...names]);
      unwrap(await alpha.access.createToken("third", null, "test"));
    },
  );

  test("counts on this host too, after a disk error, when the log is read again", async () => {
    const { alpha, beta } = await openWithToken();
    alpha.disk.beforeCall = ({ name, path }) => {
      if (name === "rename" && path.includes("access.json")) {
        throw Object.assign(new Error("EIO"), { code: "EIO" });
      }
    };
    expect(await alpha.access.createToken("second", null, "test")).toEqual({
      ok: false,
      fault: { code: "storage_failed" },
    });
    alpha.disk.clearFaults();
    await alpha.files.refresh();
    await beta.files.refresh();
    for (const { access } of [alpha, beta]) {
      expect(access.list().tokens.map(({ name }) => name)).toEqual(["ops", "second"]);
    }
  });

  test("is refused before the audit log names it, if the file is too large to copy", async () => {
    const { alpha, countRecorded } = await openWithToken();
    const values = { site_name: "x".repeat(MAX_SHARED_BYTES) };
    expect(await alpha.settings.save(values, [CHANGE], "test")).toEqual({
      ok: false,
      fault: { code: "shared_file_too_large", file: "settings", bytes: MAX_SHARED_BYTES },
    });
    expect(countRecorded("SettingChanged")).toBe(0);
    expect(existsSync(alpha.pathOf("settings.json.new"))).toBe(false);
  });
});

describe("the copies in the log", () => {
  test("contain no secret, no digest of one and no name that can be read", async () => {
    const { log, alpha, token } = await openWithToken();
    unwrap(await alpha.access.setUser("ada", "admin", PASSWORD, "test"));
    unwrap(await alpha.credentials.set(KEYS, "test"));
    unwrap(await alpha.settings.save({ site_name: "Plant 4" }, [CHANGE], "test"));
    const bytes = Buffer.concat([...log.files.values()].map(({ content }) => content)).toString(
      "latin1",
    );
    const access = readFileSync(alpha.pathOf("access.json"), "utf8");
    const { tokens, users } = JSON.parse(access) as {
      readonly tokens: readonly { readonly sha256: string }[];
      readonly users: readonly { readonly argon2id: string }[];
    };
    const digests = [...tokens.map(({ sha256 }) => sha256), ...users.map((user) => user.argon2id)];
    const texts = [token, PASSWORD, ...Object.values(KEYS), ...digests, "ops", "ada", "Plant 4"];
    expect(digests).toHaveLength(2);
    expect(log.files.size).toBe(3);
    for (const text of texts) expect(bytes).not.toContain(text);
    const again = log.files.get("keys")?.content;
    unwrap(await alpha.credentials.set({ ...KEYS, apiKey: "b" }, "test"));
    unwrap(await alpha.credentials.set(KEYS, "test"));
    expect(log.files.get("keys")?.content).not.toEqual(again);
  });

  test.each([
    ["is empty", () => new Uint8Array(0)],
    ["was damaged", () => Buffer.alloc(100, 1)],
    ["was encrypted with another key", () => seal(Buffer.from("{}"), Buffer.alloc(32), "x")],
  ] as const)(
    "never count as an empty list: a host keeps its own if the copy %s",
    async (_what, makeContent) => {
      const hosts = await openWithToken();
      const { log, alpha, beta, token } = hosts;
      await beta.files.refresh();
      damageRow(hosts, makeContent());
      await beta.files.refresh();
      expect(beta.access.identify(token)).toMatchObject({ name: "ops" });
      expect(beta.files.problems.get("access")).toMatch(
        /^the log's copy is (?:incomplete|damaged)$/,
      );
      // The host that leads next writes its own.
      await beta.lead();
      expect(beta.files.problems.size).toBe(0);
      expect(log.files.get("access")?.content).not.toEqual(makeContent());
      await alpha.files.refresh();
      expect(alpha.access.identify(token)).toMatchObject({ name: "ops" });
    },
  );

  test("are not accepted under the name of another file", async () => {
    const hosts = await openWithToken();
    const { log, beta } = hosts;
    await beta.files.refresh();
    damageRow(hosts, log.files.get("settings")?.content ?? new Uint8Array(0));
    await beta.files.refresh();
    expect(beta.files.problems.get("access")).toBe("the log's copy is damaged");
  });

  test("are not used again after a newer one, although the database has them again", async () => {
    const hosts = await openWithToken();
    const { log, alpha, beta, token, restart } = hosts;
    unwrap(await alpha.access.setUser("ada", "admin", PASSWORD, "test"));
    const old = log.files.get("access")?.content ?? new Uint8Array(0);
    unwrap(await alpha.access.revokeToken("ops", "test"));
    await beta.files.refresh();
    damageRow(hosts, old);
    // Neither a host that runs nor one that was started again.
    const restarted = restart("beta");
    for (const host of [alpha, beta, restarted]) {
      await host.files.refresh();
      expect(host.access.identify(token)).toBeNull();
      expect(host.files.problems.get("access")).toContain("older than one that this host had");
    }
    // The host that leads next writes its own.
    await beta.lead();
    await alpha.files.refresh();
    expect([alpha.files.problems.size, beta.files.problems.size]).toEqual([0, 0]);
    expect(alpha.access.identify(token)).toBeNull();
    expect(alpha.access.list().users).toMatchObject([{ name: "ada" }]);
  });

  test("count anew in another log", async () => {
    const { log, alpha } = await openWithToken();
    unwrap(await alpha.access.createToken("second", null, "test"));
    const { folder } = alpha;
    const read = (id: string) => new SharedRevisionsFile(realDisk, folder, id).read();
    expect(read("simulated log").get("access")).toBeGreaterThan(1);
    expect(read("another log").size).toBe(0);
    expect(log.files.size).toBeGreaterThan(0);
  });
});
