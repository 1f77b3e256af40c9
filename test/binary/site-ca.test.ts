// What the site's own CA may do, and who can reach its key.
import { describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { readNameConstraints } from "../../src/platform/x509.ts";
import { runBinary } from "../support/binary.ts";
import { modeOf, tempFolder } from "../support/temp-folder.ts";

/** A data folder, without a server: `tls` needs none. */
function makeDataFolder() {
  const root = tempFolder();
  const folder = join(root, "data");
  mkdirSync(folder, { mode: 0o700 });
  const tls = (name: string): string => join(folder, "tls", name);
  const tell = (...words: string[]) => runBinary(["tls", ...words, "--data", folder]);
  return { root, folder, tls, tell, key: join(root, "data-ca", "ca.key") };
}

type DataFolder = ReturnType<typeof makeDataFolder>;

const readSubjectNames = (path: string): string =>
  new X509Certificate(readFileSync(path)).subjectAltName ?? "";

const runOpenssl = (...words: string[]) => Bun.spawnSync(["openssl", ...words]);

/** As older versions made it: a key in the data folder, for any name. */
function makeOldCa({ folder, tls }: DataFolder): void {
  mkdirSync(join(folder, "tls"), { mode: 0o700 });
  const key = ["-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
  const files = ["-keyout", tls("ca.key"), "-out", tls("ca.pem")];
  const limits = ["-addext", "basicConstraints=critical,CA:TRUE,pathlen:0", "-days", "30"];
  const named = ["-subj", "/CN=Berth site CA of old"];
  const made = runOpenssl("req", "-x509", ...key, ...files, ...limits, ...named);
  if (!made.success) throw new Error(made.stderr.toString());
  for (const name of ["ca.key", "ca.pem"]) chmodSync(tls(name), 0o600);
}

describe("the site CA", () => {
  test("may sign for the names it was made for, for five years, and the key is not in the data folder", async () => {
    const { folder, tls, tell, key } = makeDataFolder();
    const { code, stdout } = await tell("init", "--names", "berth.plant7.lan");
    expect([code, stdout]).toEqual([0, expect.stringContaining(key)]);
    const root = readFileSync(tls("ca.pem"), "utf8");
    expect(readNameConstraints(root)?.names).toContain("berth.plant7.lan");
    const years = (Date.parse(new X509Certificate(root).validTo) - Date.now()) / (365 * 86_400_000);
    expect(years).toBeWithin(4.9, 5.1);
    expect([modeOf(key), modeOf(join(key, ".."))]).toEqual(["600", "700"]);
    const files = readdirSync(folder, { recursive: true }).map((name) =>
      join(folder, String(name)),
    );
    const secret = /-----BEGIN PRIVATE KEY-----[^]+?-----END/.exec(readFileSync(key, "utf8"))?.[0];
    const holders = files.filter(
      (path) => statSync(path).isFile() && readFileSync(path, "utf8").includes(secret ?? "none"),
    );
    expect(holders).toEqual([]);
  });

  test("is kept by a renewal, which takes every name it may sign for", async () => {
    const { tls, tell } = makeDataFolder();
    await tell("init", "--names", "berth.plant7.lan,10.77.0.5");
    const root = readFileSync(tls("ca.pem"), "utf8");
    const again = await tell("init");
    expect(again.stdout).toContain("the site CA did not change");
    expect(readFileSync(tls("ca.pem"), "utf8")).toBe(root);
    expect(readSubjectNames(tls("server.pem"))).toContain("DNS:berth.plant7.lan");
    const more = await tell("init", "--names", "10.77.0.6,www.berth.plant7.lan");
    expect(more.code).toBe(0);
    expect(readSubjectNames(tls("server.pem"))).toContain("IP Address:10.77.0.6");
  });

  test("refuses a name it was not made for, and a new one takes it", async () => {
    const { tls, tell } = makeDataFolder();
    await tell("init", "--names", "berth.plant7.lan");
    const [root, server] = [readFileSync(tls("ca.pem"), "utf8"), readFileSync(tls("server.pem"))];
    const refused = await tell("init", "--names", "berth.plant8.lan");
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/may not sign for berth\.plant8\.lan\n.*--new-ca/),
    ]);
    expect(readFileSync(tls("server.pem")).equals(server)).toBe(true);
    const made = await tell("init", "--new-ca", "--names", "berth.plant8.lan");
    expect([made.code, readFileSync(tls("ca.pem"), "utf8") === root]).toEqual([0, false]);
    expect(readSubjectNames(tls("server.pem"))).toContain("DNS:berth.plant8.lan");
    // Made anew once more without a word about names, it has the same ones.
    expect((await tell("init", "--new-ca")).code).toBe(0);
    expect(readSubjectNames(tls("server.pem"))).toContain("DNS:berth.plant8.lan");
  });

  test("may be limited to its addresses as well", async () => {
    const { tls, tell } = makeDataFolder();
    await tell("init", "--names", "berth.plant7.lan,10.77.0.5", "--limit-addresses");
    const permitted = readNameConstraints(readFileSync(tls("ca.pem"), "utf8"));
    expect(permitted?.addresses).toContain("10.77.0.5");
    const refused = await tell("init", "--names", "10.77.0.6");
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("10.77.0.6")]);
    expect((await tell("init")).code).toBe(0);
    expect(readSubjectNames(tls("server.pem"))).toContain("IP Address:10.77.0.5");
  });

  test.skipIf(Bun.which("openssl") === null)(
    "signs for nobody else, whatever is made with its key",
    async () => {
      const { root, tls, tell, key } = makeDataFolder();
      await tell("init", "--names", "berth.plant7.lan");
      const path = (name: string): string => join(root, name);
      const [signer = ""] = /-----BEGIN CERTIFICATE[^]+?-----END CERTIFICATE-----\n/.exec(
        readFileSync(key, "utf8"),
      ) ?? [""];
      writeFileSync(path("signer.pem"), signer);
      writeFileSync(path("ext"), "subjectAltName=DNS:bank.example\n");
      const asked = ["-subj", "/CN=bank.example", "-keyout", path("k"), "-out", path("csr")];
      expect(runOpenssl("req", "-nodes", "-newkey", "rsa:2048", ...asked).success).toBe(true);
      const by = ["-CA", path("signer.pem"), "-CAkey", key, "-CAcreateserial"];
      const signed = ["-in", path("csr"), "-extfile", path("ext"), "-out", path("forged.pem")];
      expect(runOpenssl("x509", "-req", ...by, ...signed, "-days", "5").success).toBe(true);
      const chain = ["-CAfile", tls("ca.pem"), "-untrusted", path("signer.pem")];
      const forged = runOpenssl("verify", ...chain, path("forged.pem"));
      expect(forged.stderr.toString()).toContain("permitted subtree violation");
      expect(runOpenssl("verify", ...chain, tls("server.pem")).success).toBe(true);
    },
  );
});

describe("the key of the site CA", () => {
  test("is kept where --ca-dir says, and looked for there alone", async () => {
    const { root, tls, tell, key } = makeDataFolder();
    const elsewhere = ["--ca-dir", join(root, "stick", "ca")];
    expect((await tell("init", ...elsewhere)).code).toBe(0);
    expect([existsSync(join(root, "stick", "ca", "ca.key")), existsSync(key)]).toEqual([
      true,
      false,
    ]);
    const ca = readFileSync(tls("ca.pem"), "utf8");
    const lost = await tell("init");
    expect([lost.code, lost.stderr]).toEqual([1, expect.stringContaining("--ca-dir DIR")]);
    expect((await tell("init", ...elsewhere)).stdout).toContain("the site CA did not change");
    expect(readFileSync(tls("ca.pem"), "utf8")).toBe(ca);
    const client = ["client", "--name", "ws-17", "--out", join(root, "ws-17.pem")];
    expect((await tell(...client)).code).toBe(1);
    expect((await tell(...client, ...elsewhere)).code).toBe(0);
  });

  test("is never put inside the data folder", async () => {
    const { folder, tell } = makeDataFolder();
    for (const dir of [folder, join(folder, "tls"), join(folder, "x", "y")]) {
      const refused = await tell("init", "--ca-dir", dir);
      expect([refused.code, refused.stderr]).toEqual([
        2,
        expect.stringContaining("must not be inside the data folder"),
      ]);
    }
    expect(readdirSync(folder)).toEqual([]);
  });

  test("is not put into a folder that somebody else may have prepared", async () => {
    const open = makeDataFolder();
    mkdirSync(join(open.key, ".."), { mode: 0o755 });
    const planted = makeDataFolder();
    mkdirSync(join(planted.root, "other"), { mode: 0o700 });
    symlinkSync(join(planted.root, "other"), join(planted.key, ".."));
    for (const { tell, folder, key } of [open, planted]) {
      const refused = await tell("init");
      expect([refused.code, refused.stderr]).toEqual([
        1,
        expect.stringContaining("other users can access"),
      ]);
      expect([existsSync(key), readdirSync(folder)]).toEqual([false, []]);
    }
  });

  test.skipIf(process.getuid?.() !== 0)(
    "is root's, while the certificate is of the user who serves",
    async () => {
      const SERVICE = 65_534;
      const { root, folder, tls, tell, key } = makeDataFolder();
      chmodSync(root, 0o711);
      chownSync(folder, SERVICE, SERVICE);
      expect((await tell("init")).code).toBe(0);
      const owner = (path: string): number => statSync(path).uid;
      expect([owner(key), owner(join(key, ".."))]).toEqual([0, 0]);
      expect(["ca.pem", "server.pem", "server.key"].map((one) => owner(tls(one)))).toEqual(
        Array(3).fill(SERVICE),
      );
      const read = Bun.spawnSync(["cat", key], { uid: SERVICE, gid: SERVICE });
      expect([read.success, read.stdout.length]).toEqual([false, 0]);
    },
  );
});

describe.skipIf(Bun.which("openssl") === null)("a CA of an older version", () => {
  test("still renews, with a warning and the command that moves its key", async () => {
    const site = makeDataFolder();
    makeOldCa(site);
    const root = readFileSync(site.tls("ca.pem"), "utf8");
    const renewed = await site.tell("init", "--names", "berth.plant7.lan");
    expect([renewed.code, renewed.stdout]).toEqual([
      0,
      expect.stringMatching(/the site CA did not change[^]*any name: --new-ca/),
    ]);
    expect(renewed.stderr).toContain(`move it with berth tls move-ca --data ${site.folder}`);
    expect(readFileSync(site.tls("ca.pem"), "utf8")).toBe(root);
    const verified = runOpenssl("verify", "-CAfile", site.tls("ca.pem"), site.tls("server.pem"));
    expect(verified.success).toBe(true);
    expect(existsSync(site.key)).toBe(false);
  });

  test("is moved out of the data folder, and goes on signing from there", async () => {
    const site = makeDataFolder();
    makeOldCa(site);
    const doctor = async (): Promise<string> =>
      (await runBinary(["doctor", "--data", site.folder])).stdout;
    expect(await doctor()).toMatch(
      /warning +site CA +.*ca\.key is in a folder that the server can read/,
    );
    const moved = await site.tell("move-ca");
    expect([moved.code, moved.stdout]).toEqual([0, expect.stringContaining(site.key)]);
    expect([existsSync(site.tls("ca.key")), modeOf(site.key)]).toEqual([false, "600"]);
    expect(await doctor()).not.toContain("is in a folder that the server can read");
    expect(await doctor()).toMatch(/note +site CA +it can sign for any name/);
    const renewed = await site.tell("init");
    expect([renewed.code, renewed.stderr]).toEqual([0, ""]);
    expect(
      runOpenssl("verify", "-CAfile", site.tls("ca.pem"), site.tls("server.pem")).success,
    ).toBe(true);
    const again = await site.tell("move-ca");
    expect([again.code, again.stderr]).toEqual([
      1,
      expect.stringContaining("contains no site CA key"),
    ]);
  });

  test("a move that was interrupted is finished by the next", async () => {
    const site = makeDataFolder();
    makeOldCa(site);
    const old = readFileSync(site.tls("ca.key"));
    expect((await site.tell("move-ca")).code).toBe(0);
    writeFileSync(site.tls("ca.key"), old, { mode: 0o600 });
    expect((await site.tell("move-ca")).code).toBe(0);
    expect(existsSync(site.tls("ca.key"))).toBe(false);
    expect((await site.tell("init")).code).toBe(0);
  });

  test("is replaced by --new-ca, and its key is gone", async () => {
    const site = makeDataFolder();
    makeOldCa(site);
    const made = await site.tell("init", "--new-ca", "--names", "berth.plant7.lan");
    expect([made.code, made.stderr]).toEqual([0, ""]);
    expect([existsSync(site.tls("ca.key")), existsSync(site.key)]).toEqual([false, true]);
    expect(readNameConstraints(readFileSync(site.tls("ca.pem"), "utf8"))?.names).toContain(
      "berth.plant7.lan",
    );
  });
});

describe("a client's certificate", () => {
  test("lasts 90 days unless it is said otherwise, and no longer than a server's may", async () => {
    const { root, tell } = makeDataFolder();
    await tell("init");
    const daysOf = async (...words: string[]): Promise<number> => {
      const out = join(root, `${crypto.randomUUID()}.pem`);
      const { code, stderr } = await tell("client", "--name", "ws-17", "--out", out, ...words);
      if (code !== 0) throw new Error(stderr);
      return (Date.parse(new X509Certificate(readFileSync(out)).validTo) - Date.now()) / 86_400_000;
    };
    expect(Math.round(await daysOf())).toBe(90);
    expect(Math.round(await daysOf("--days", "7"))).toBe(7);
    expect(Math.round(await daysOf("--days", "825"))).toBe(825);
    for (const days of ["0", "826", "x", "1.5", "-1"]) {
      const out = join(root, "no.pem");
      const refused = await tell("client", "--name", "x", "--out", out, `--days=${days}`);
      expect([refused.code, existsSync(out)]).toEqual([2, false]);
    }
  });
});
