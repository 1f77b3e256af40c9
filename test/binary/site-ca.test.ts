// What the site's CA may sign, and who can read its key.
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
import { readNameConstraints } from "../../src/platform/crypto/name-constraints.ts";
import { runBinary } from "../support/binary.ts";
import { runBerth } from "../support/run-berth.ts";
import { modeOf, tempFolder } from "../support/temp-folder.ts";

/** A data folder without a server: `berth tls` needs none. */
function makeDataFolder() {
  const root = tempFolder();
  const folder = join(root, "data");
  mkdirSync(folder, { mode: 0o700 });
  const tls = (name: string): string => join(folder, "tls", name);
  const runTls = (...args: string[]) => runBerth(["tls", ...args, "--data", folder]);
  return { root, folder, tls, runTls, key: join(root, "data-ca", "ca.key") };
}

const readSubjectNames = (path: string): string =>
  new X509Certificate(readFileSync(path)).subjectAltName ?? "";

const runOpenssl = (...args: string[]) => Bun.spawnSync(["openssl", ...args]);

describe("the site CA", () => {
  test("signs for its names, for five years, and its key is not in the data folder", async () => {
    const { folder, tls, runTls, key } = makeDataFolder();
    const { code, stdout } = await runTls("init", "--names", "berth.plant7.lan");
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

  test("is kept by a renewal, whose certificate has every name of the CA", async () => {
    const { tls, runTls } = makeDataFolder();
    await runTls("init", "--names", "berth.plant7.lan,10.77.0.5");
    const root = readFileSync(tls("ca.pem"), "utf8");
    const again = await runTls("init");
    expect(again.stdout).toContain("the site CA did not change");
    expect(readFileSync(tls("ca.pem"), "utf8")).toBe(root);
    expect(readSubjectNames(tls("server.pem"))).toContain("DNS:berth.plant7.lan");
    const more = await runTls("init", "--names", "10.77.0.6,www.berth.plant7.lan");
    expect(more.code).toBe(0);
    expect(readSubjectNames(tls("server.pem"))).toContain("IP Address:10.77.0.6");
  });

  test("refuses a name it was not created for, and --new-ca accepts it", async () => {
    const { tls, runTls } = makeDataFolder();
    await runTls("init", "--names", "berth.plant7.lan");
    const [root, server] = [readFileSync(tls("ca.pem"), "utf8"), readFileSync(tls("server.pem"))];
    const refused = await runTls("init", "--names", "berth.plant8.lan");
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/cannot sign for berth\.plant8\.lan\n.*--new-ca/),
    ]);
    expect(readFileSync(tls("server.pem")).equals(server)).toBe(true);
    const created = await runTls("init", "--new-ca", "--names", "berth.plant8.lan");
    expect([created.code, readFileSync(tls("ca.pem"), "utf8") === root]).toEqual([0, false]);
    expect(readSubjectNames(tls("server.pem"))).toContain("DNS:berth.plant8.lan");
    // Without --names, a new CA has the same names.
    expect((await runTls("init", "--new-ca")).code).toBe(0);
    expect(readSubjectNames(tls("server.pem"))).toContain("DNS:berth.plant8.lan");
  });

  test("can be limited to its addresses with --limit-addresses", async () => {
    const { tls, runTls } = makeDataFolder();
    await runTls("init", "--names", "berth.plant7.lan,10.77.0.5", "--limit-addresses");
    const permitted = readNameConstraints(readFileSync(tls("ca.pem"), "utf8"));
    expect(permitted?.addresses).toContain("10.77.0.5");
    const refused = await runTls("init", "--names", "10.77.0.6");
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("10.77.0.6")]);
    expect((await runTls("init")).code).toBe(0);
    expect(readSubjectNames(tls("server.pem"))).toContain("IP Address:10.77.0.5");
  });

  test.skipIf(Bun.which("openssl") === null)(
    "cannot certify another name, even when its key signs one with openssl",
    async () => {
      const { root, tls, runTls, key } = makeDataFolder();
      await runTls("init", "--names", "berth.plant7.lan");
      const path = (name: string): string => join(root, name);
      const [signer = ""] = /-----BEGIN CERTIFICATE[^]+?-----END CERTIFICATE-----\n/.exec(
        readFileSync(key, "utf8"),
      ) ?? [""];
      writeFileSync(path("signer.pem"), signer);
      writeFileSync(path("ext"), "subjectAltName=DNS:bank.example\n");
      const request = ["-subj", "/CN=bank.example", "-keyout", path("k"), "-out", path("csr")];
      expect(runOpenssl("req", "-nodes", "-newkey", "rsa:2048", ...request).success).toBe(true);
      const signWith = ["-CA", path("signer.pem"), "-CAkey", key, "-CAcreateserial"];
      const certificateFlags = [
        "-in",
        path("csr"),
        "-extfile",
        path("ext"),
        "-out",
        path("forged.pem"),
      ];
      expect(
        runOpenssl("x509", "-req", ...signWith, ...certificateFlags, "-days", "5").success,
      ).toBe(true);
      const chain = ["-CAfile", tls("ca.pem"), "-untrusted", path("signer.pem")];
      const forged = runOpenssl("verify", ...chain, path("forged.pem"));
      expect(forged.stderr.toString()).toContain("permitted subtree violation");
      expect(runOpenssl("verify", ...chain, tls("server.pem")).success).toBe(true);
    },
  );
});

describe("the key of the site CA", () => {
  test("is written to --ca-dir and read only from there", async () => {
    const { root, tls, runTls, key } = makeDataFolder();
    const elsewhere = ["--ca-dir", join(root, "stick", "ca")];
    expect((await runTls("init", ...elsewhere)).code).toBe(0);
    expect([existsSync(join(root, "stick", "ca", "ca.key")), existsSync(key)]).toEqual([
      true,
      false,
    ]);
    const ca = readFileSync(tls("ca.pem"), "utf8");
    const lost = await runTls("init");
    expect([lost.code, lost.stderr]).toEqual([1, expect.stringContaining("--ca-dir DIR")]);
    expect((await runTls("init", ...elsewhere)).stdout).toContain("the site CA did not change");
    expect(readFileSync(tls("ca.pem"), "utf8")).toBe(ca);
    const client = ["client", "--name", "ws-17", "--out", join(root, "ws-17.pem")];
    expect((await runTls(...client)).code).toBe(1);
    expect((await runTls(...client, ...elsewhere)).code).toBe(0);
  });

  test("is never written inside the data folder", async () => {
    const { folder, runTls } = makeDataFolder();
    for (const caFolder of [folder, join(folder, "tls"), join(folder, "x", "y")]) {
      const refused = await runTls("init", "--ca-dir", caFolder);
      expect([refused.code, refused.stderr]).toEqual([
        2,
        expect.stringContaining("must not be inside the data folder"),
      ]);
    }
    expect(readdirSync(folder)).toEqual([]);
  });

  test("is not written into a folder that another user may have prepared", async () => {
    const open = makeDataFolder();
    mkdirSync(join(open.key, ".."), { mode: 0o755 });
    const planted = makeDataFolder();
    mkdirSync(join(planted.root, "other"), { mode: 0o700 });
    symlinkSync(join(planted.root, "other"), join(planted.key, ".."));
    for (const { runTls, folder, key } of [open, planted]) {
      const refused = await runTls("init");
      expect([refused.code, refused.stderr]).toEqual([
        1,
        expect.stringContaining("other users can access"),
      ]);
      expect([existsSync(key), readdirSync(folder)]).toEqual([false, []]);
    }
  });

  test.skipIf(process.getuid?.() !== 0)(
    "belongs to root, while the certificate belongs to the service's user",
    async () => {
      const SERVICE = 65_534;
      const { root, folder, tls, key } = makeDataFolder();
      chmodSync(root, 0o711);
      chownSync(folder, SERVICE, SERVICE);
      // A process of its own, because the command takes the rights of that user.
      expect((await runBinary(["tls", "init", "--data", folder])).code).toBe(0);
      const owner = (path: string): number => statSync(path).uid;
      expect([owner(key), owner(join(key, ".."))]).toEqual([0, 0]);
      expect(["ca.pem", "server.pem", "server.key"].map((name) => owner(tls(name)))).toEqual(
        Array(3).fill(SERVICE),
      );
      const read = Bun.spawnSync(["cat", key], { uid: SERVICE, gid: SERVICE });
      expect([read.success, read.stdout.length]).toEqual([false, 0]);
    },
  );
});

describe("a client certificate", () => {
  test("is valid for 90 days by default, and for 825 days at most", async () => {
    const { root, runTls } = makeDataFolder();
    await runTls("init");
    const daysOf = async (...args: string[]): Promise<number> => {
      const out = join(root, `${crypto.randomUUID()}.pem`);
      const { code, stderr } = await runTls("client", "--name", "ws-17", "--out", out, ...args);
      if (code !== 0) throw new Error(stderr);
      return (Date.parse(new X509Certificate(readFileSync(out)).validTo) - Date.now()) / 86_400_000;
    };
    expect(Math.round(await daysOf())).toBe(90);
    expect(Math.round(await daysOf("--days", "7"))).toBe(7);
    expect(Math.round(await daysOf("--days", "825"))).toBe(825);
    for (const days of ["0", "826", "x", "1.5", "-1"]) {
      const out = join(root, "no.pem");
      const refused = await runTls("client", "--name", "x", "--out", out, `--days=${days}`);
      expect([refused.code, existsSync(out)]).toEqual([2, false]);
    }
  });
});
