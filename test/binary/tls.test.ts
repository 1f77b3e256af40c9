import { describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { issueServerCertificate, createAuthority } from "../../src/platform/x509.ts";
import { runBinary } from "../support/binary.ts";
import { bearerHeader, RunningSite, NETWORK_ADDRESS, waitUntil } from "../support/running-site.ts";
import { requestRepeatedly, requestOnce } from "../support/tls-client.ts";
import { modeOf, tempFolder } from "../support/temp-folder.ts";

const STATUS = "/api/admin/v1/status";
const DAY = 24 * 60 * 60 * 1_000;

/** A site with certificates of its own, served over TLS on every address. */
async function openTlsSite(words: readonly string[] = []) {
  const site = await RunningSite.open();
  const made = await site.runCommand(["tls", "init", "--names", "berth.plant7.lan"]);
  const file = (name: string): string =>
    name === "ca.key" ? join(`${site.folder}-ca`, name) : join(site.folder, "tls", name);
  await site.restart([
    "--listen-tls",
    "0.0.0.0:0",
    ...words.map((word) => word.replace("CA", file("ca.pem"))),
  ]);
  const port = Number(/https:\/\/127\.0\.0\.1:(\d+)/.exec(site.server.output)?.[1]);
  return { site, file, port, ca: readFileSync(file("ca.pem"), "utf8"), advice: made.stdout };
}

type TlsFilePath = (name: string) => string;

/** In the place of the server's certificate, one of the same CA that ends when we say. */
function replaceCertificate(file: TlsFilePath, endsAt: number): void {
  const { name, certificate, key } = readSigner(file("ca.key"));
  const issued = issueServerCertificate(
    { name, certificate, key, endsAt },
    ["localhost"],
    endsAt - DAY,
  );
  writeFileSync(file("server.pem"), `${issued.certificate}${certificate}`);
  writeFileSync(file("server.key"), issued.key);
}

/** What a site CA signs with, out of the file that its key is kept in. */
function readSigner(path: string) {
  const blocks = readFileSync(path, "utf8").match(/-----BEGIN [^]+?-----END [A-Z ]+-----\n/g);
  const [key = "", certificate = ""] = blocks ?? [];
  return { name: new X509Certificate(certificate).subject.replace("CN=", ""), key, certificate };
}

const readFingerprint = (file: TlsFilePath): string =>
  new X509Certificate(readFileSync(file("server.pem"))).fingerprint256;

describe("berth tls init", () => {
  test("makes what a strict client accepts, by every name and address it goes by", async () => {
    const { port, ca, file, advice } = await openTlsSite();
    for (const servername of ["localhost", "berth.plant7.lan"]) {
      expect((await requestOnce({ port, ca, servername })).status).toBe(200);
    }
    for (const host of ["127.0.0.1", ...(NETWORK_ADDRESS === null ? [] : [NETWORK_ADDRESS])]) {
      const response = await fetch(`https://${host}:${port}/api/v4/health`, { tls: { ca } });
      expect([host, response.status]).toEqual([host, 200]);
    }
    expect(requestOnce({ port, ca, servername: "other.example" })).rejects.toThrow();
    expect(requestOnce({ port })).rejects.toThrow();
    for (const name of ["ca.key", "ca.pem", "server.key", "server.pem"]) {
      expect([name, modeOf(file(name))]).toEqual([name, "600"]);
    }
    expect([modeOf(file(".")), modeOf(join(file("ca.key"), ".."))]).toEqual(["700", "700"]);
    expect(existsSync(join(file("."), "ca.key"))).toBe(false);
    expect(advice).toContain(new X509Certificate(ca).fingerprint256);
  });

  test("a second time renews the certificate and keeps the CA", async () => {
    const { site, ca, file } = await openTlsSite();
    const [key, before] = [readFileSync(file("ca.key"), "utf8"), readFingerprint(file)];
    expect((await site.runCommand(["tls", "init"])).stdout).toContain("the site CA did not change");
    expect(readFileSync(file("ca.pem"), "utf8")).toBe(ca);
    expect(readFileSync(file("ca.key"), "utf8")).toBe(key);
    expect(readFingerprint(file)).not.toBe(before);
  });

  test("one half of a CA is not replaced by a new one", async () => {
    const { site, file } = await openTlsSite();
    Bun.spawnSync(["rm", file("ca.key")]);
    const refused = await site.runCommand(["tls", "init"]);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/the key of the site CA is not in .*ca\.key\n.*--ca-dir.*--new-ca/),
    ]);
  });

  test("a key that is not the CA's is not used", async () => {
    const { site, file } = await openTlsSite();
    const { key } = createAuthority("another CA", { names: ["x"], addresses: null }, Date.now());
    const text = readFileSync(file("ca.key"), "utf8");
    const other = text.replace(/-----BEGIN PRIVATE KEY[^]+END PRIVATE KEY-----\n/, key);
    for (const damaged of [other, text.slice(0, 200), ""]) {
      writeFileSync(file("ca.key"), damaged);
      const refused = await site.runCommand(["tls", "init"]);
      expect([refused.code, refused.stderr]).toEqual([
        1,
        expect.stringContaining("is not the key of the site CA"),
      ]);
    }
  });

  test.skipIf(Bun.which("curl") === null)("what it says to do with curl works", async () => {
    const { site, port, file, advice } = await openTlsSite();
    expect(advice).toContain("--cacert ca.pem");
    const token = await site.createToken();
    const curl = Bun.spawn(
      ["curl", "-sS", "--cacert", file("ca.pem"), "-H", `Authorization: Bearer ${token}`].concat(
        `https://localhost:${port}${STATUS}`,
      ),
    );
    expect(await curl.stdout.json()).toMatchObject({ kind: "site" });
  });
});

test("a server may be called by one letter on port 443", async () => {
  const { port, ca } = await openTlsSite();
  for (const host of ["a", "vm", "vm:443", "lab", "localhost"]) {
    expect([host, (await requestOnce({ port, ca }, host)).status]).toEqual([host, 200]);
  }
});

test("TLS 1.2 and 1.3 are spoken, nothing older", async () => {
  const { port, ca } = await openTlsSite();
  for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
    const seen = await requestOnce({ port, ca, minVersion: version, maxVersion: version });
    expect(seen).toMatchObject({ status: 200, protocol: version });
  }
  // Our own runtime speaks nothing older either.
  if (Bun.which("openssl") === null) return;
  const old = ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0", "-connect", `127.0.0.1:${port}`];
  const child = Bun.spawn(["openssl", "s_client", ...old], { stdin: "ignore", stderr: "pipe" });
  expect(await child.stderr.text()).toContain("alert protocol version");
});

test.skipIf(NETWORK_ADDRESS === null)("other machines administer over TLS alone", async () => {
  const { site, port, ca } = await openTlsSite();
  const token = await site.createToken();
  const host = NETWORK_ADDRESS ?? "";
  const code = async (response: Response) => [
    response.status,
    ((await response.json()) as { code?: string }).code,
  ];
  expect(await code(await site.get(STATUS, {}, host))).toEqual([401, "unauthorized"]);
  expect(await code(await site.get(STATUS, bearerHeader("wrong"), host))).toEqual([
    401,
    "unauthorized",
  ]);
  expect(await code(await site.get(STATUS, bearerHeader(token), host))).toEqual([
    403,
    "tls_required",
  ]);
  expect(await code(await site.get("/auth", {}, host))).toEqual([403, "tls_required"]);
  const over = (headers: Record<string, string>) =>
    fetch(`https://${host}:${port}${STATUS}`, { headers, tls: { ca } });
  expect(await code(await over({}))).toEqual([401, "unauthorized"]);
  expect(await code(await over(bearerHeader(token)))).toEqual([200, undefined]);
});

test("with a client CA, only its certificates get in, and applications not in plain HTTP", async () => {
  const { site, port, ca } = await openTlsSite(["--client-auth", "mtls", "--client-ca", "CA"]);
  for (const name of ["ws-17", "ws-17.plant7.lan", "Ada's laptop"]) {
    const path = join(tempFolder(), "client.pem");
    const made = await site.runCommand(["tls", "client", "--name", name, "--out", path]);
    expect([made.code, made.stdout]).toEqual([0, expect.stringContaining("cannot be revoked")]);
    expect(modeOf(path)).toBe("600");
    expect((await site.runCommand(["tls", "client", "--name", name, "--out", path])).code).toBe(1);
    const own = readFileSync(path, "utf8");
    expect((await requestOnce({ port, ca, cert: own, key: own })).status).toBe(200);
  }
  const foreign = createAuthority("another CA", { names: ["ws-17"], addresses: null }, Date.now());
  const stranger = issueServerCertificate(foreign, ["ws-17"], Date.now());
  expect(
    requestOnce({ port, ca, cert: stranger.certificate, key: stranger.key }),
  ).rejects.toThrow();
  expect(requestOnce({ port, ca })).rejects.toThrow();
  const plain = await site.post("/api/v4/register", { user: "ada" });
  expect([plain.status, await plain.json()]).toEqual([
    403,
    expect.objectContaining({ code: "tls_required" }),
  ]);
});

describe("SIGHUP", () => {
  test("brings a new certificate without dropping any of fifty that hammer it", async () => {
    const { site, port, ca, file } = await openTlsSite();
    const end = new AbortController();
    let [asked, told] = [0, 0];
    const seen = new Set<string>();
    const hammering = Array.from({ length: 50 }, async (_, index) => {
      while (!end.signal.aborted) {
        if (index % 2 === 0) {
          seen.add((await requestOnce({ port, ca })).certificate);
          asked += 1;
        } else {
          // Some hardly rest between two requests, some rest while the certificate is replaced.
          const answers = await requestRepeatedly(
            { port, ca },
            index % 4 === 1 ? 2 : 300,
            () => end.signal.aborted,
          );
          asked += answers;
          if (!end.signal.aborted) told += 1;
        }
      }
    });
    const all = Promise.all(hammering);
    for (let round = 1; round <= 3; round += 1) {
      const before = asked;
      await Promise.race([waitUntil(() => asked >= before + 40, "forty answers"), all]);
      expect((await site.runCommand(["tls", "init"])).code).toBe(0);
      site.server.signal("SIGHUP");
      await site.waitForLogLines(round);
      await Promise.race([
        waitUntil(() => seen.has(readFingerprint(file)), "the new certificate"),
        all,
      ]);
    }
    // Those who keep their connection are told to come again.
    await Promise.race([waitUntil(() => told > 0, "a connection that was ended"), all]);
    end.abort();
    await all;
    expect(asked).toBeGreaterThan(100);
    expect(told).toBeGreaterThan(0);
    expect(seen.size).toBeGreaterThan(1);
  });

  test("a certificate that cannot be used leaves the one in use, and says so", async () => {
    const { site, port, ca, file } = await openTlsSite();
    const before = readFingerprint(file);
    const kept = join(tempFolder(), "server.key");
    copyFileSync(file("server.key"), kept);
    let lines = 0;
    const refusedAs = async (reason: string): Promise<void> => {
      site.server.signal("SIGHUP");
      lines += 1;
      const said = (await site.waitForLogLines(lines)).at(-1);
      expect(said).toMatchObject({ level: "error" });
      expect(JSON.stringify(said)).toContain(reason);
      expect((await requestOnce({ port, ca })).certificate).toBe(before);
    };
    const text = readFileSync(file("server.pem"), "utf8");
    writeFileSync(file("server.pem"), text.slice(0, 300));
    await refusedAs("is not a certificate");
    await site.runCommand(["tls", "init"]);
    copyFileSync(kept, file("server.key"));
    await refusedAs("is not the key of");
    replaceCertificate(file, Date.now() - DAY);
    await refusedAs("it has expired");
    await site.runCommand(["tls", "init"]);
    site.server.signal("SIGHUP");
    expect((await site.waitForLogLines(lines + 1)).at(-1)).toMatchObject({ level: "info" });
  });
});

describe("a certificate that ends", () => {
  const told = async (site: RunningSite) => {
    const { stdout } = await site.runCommand(["status"]);
    const { certificate } = JSON.parse((await site.runCommand(["status", "--json"])).stdout) as {
      certificate: { state: string };
    };
    return { text: /^certificate .*$/m.exec(stdout)?.[0], state: certificate.state };
  };

  test("is told by status, before and after, and does not stop the server", async () => {
    const { site, file } = await openTlsSite();
    expect(await told(site)).toMatchObject({ state: "ok" });
    replaceCertificate(file, Date.now() + 20 * DAY);
    await site.restart();
    await site.waitForStderr("the certificate expires soon");
    expect(await told(site)).toEqual({
      state: "expiring",
      text: expect.stringContaining("tls init"),
    });
    replaceCertificate(file, Date.now() - 1_000);
    await site.restart();
    await site.waitForStderr("the certificate expired");
    expect(await told(site)).toEqual({ state: "expired", text: expect.stringContaining("SIGHUP") });
    expect((await site.get("/api/v4/health")).status).toBe(200);
  });
});

test("what only TLS could keep is not dropped in silence", async () => {
  const folder = join(tempFolder(), "data");
  for (const words of [
    ["--client-ca", "/x"],
    ["--tls-cert", "/x"],
    ["--client-auth", "mtls"],
  ]) {
    const said = await runBinary(["serve", "--data", folder, "--listen", "127.0.0.1:0", ...words]);
    expect([said.code, said.stderr]).toEqual([
      2,
      expect.stringMatching(/requires --(?:listen-tls|client-ca)/),
    ]);
  }
});
