import { describe, expect, onTestFinished, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { issueServerCertificate, createAuthority } from "../../src/platform/crypto/x509.ts";
import type { StatusReply } from "../../src/http/routes/health/status-schema.ts";
import { runBinary } from "../support/binary.ts";
import { bearerHeader, RunningSite, NETWORK_ADDRESS } from "../support/running-site.ts";
import { requestRepeatedly, requestOnce } from "../support/tls-client.ts";
import { modeOf, tempFolder } from "../support/temp-folder.ts";
import { waitUntil } from "../support/wait-until.ts";

const STATUS = "/api/admin/v1/status";
const DAY = 24 * 60 * 60 * 1_000;

/** A site with a certificate of its own CA, served over TLS on every address. */
async function openTlsSite(flags: readonly string[] = []) {
  const site = await RunningSite.open();
  const created = await site.runCommand(["tls", "init", "--names", "berth.plant7.lan"]);
  const file = (name: string): string =>
    name === "ca.key" ? join(`${site.folder}-ca`, name) : join(site.folder, "tls", name);
  await site.restart([
    "--listen-tls",
    "0.0.0.0:0",
    ...flags.map((flag) => flag.replace("CA", file("ca.pem"))),
  ]);
  const port = Number(/https:\/\/127\.0\.0\.1:(\d+)/.exec(site.server.output)?.[1]);
  return { site, file, port, ca: readFileSync(file("ca.pem"), "utf8"), advice: created.stdout };
}

type TlsFilePath = (name: string) => string;

/** Replaces the server's certificate with one of the same CA that expires at `endsAt`. */
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

/** Reads the key and the certificate of the site CA from its key file. */
function readSigner(path: string) {
  const blocks = readFileSync(path, "utf8").match(/-----BEGIN [^]+?-----END [A-Z ]+-----\n/g);
  const [key = "", certificate = ""] = blocks ?? [];
  return { name: new X509Certificate(certificate).subject.replace("CN=", ""), key, certificate };
}

const readFingerprint = (file: TlsFilePath): string =>
  new X509Certificate(readFileSync(file("server.pem"))).fingerprint256;

describe("berth tls init", () => {
  test("creates a certificate that a strict client accepts for every name and address of the server", async () => {
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

  test("renews the certificate and keeps the CA when it is run again", async () => {
    const { site, ca, file } = await openTlsSite();
    const [key, before] = [readFileSync(file("ca.key"), "utf8"), readFingerprint(file)];
    expect((await site.runCommand(["tls", "init"])).stdout).toContain("the site CA did not change");
    expect(readFileSync(file("ca.pem"), "utf8")).toBe(ca);
    expect(readFileSync(file("ca.key"), "utf8")).toBe(key);
    expect(readFingerprint(file)).not.toBe(before);
  });

  test("refuses to replace a CA whose key is missing", async () => {
    const { site, file } = await openTlsSite();
    Bun.spawnSync(["rm", file("ca.key")]);
    const refused = await site.runCommand(["tls", "init"]);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/the key of the site CA is not in .*ca\.key\n.*--ca-dir.*--new-ca/),
    ]);
  });

  test("refuses a key file that does not match the CA", async () => {
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

  test.skipIf(Bun.which("curl") === null)(
    "prints a curl option with which curl trusts the server",
    async () => {
      const { site, port, file, advice } = await openTlsSite();
      expect(advice).toContain("--cacert ca.pem");
      const token = await site.createToken();
      const curl = Bun.spawn(
        ["curl", "-sS", "--cacert", file("ca.pem"), "-H", `Authorization: Bearer ${token}`].concat(
          `https://localhost:${port}${STATUS}`,
        ),
      );
      expect(await curl.stdout.json()).toMatchObject({ kind: "site" });
    },
  );
});

test("a TLS server accepts short host names and the default port in the Host header", async () => {
  const { port, ca } = await openTlsSite();
  for (const host of ["a", "vm", "vm:443", "lab", "localhost"]) {
    expect([host, (await requestOnce({ port, ca }, host)).status]).toEqual([host, 200]);
  }
});

test("a TLS server accepts TLS 1.2 and 1.3 and nothing older", async () => {
  const { port, ca } = await openTlsSite();
  for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
    const seen = await requestOnce({ port, ca, minVersion: version, maxVersion: version });
    expect(seen).toMatchObject({ status: 200, protocol: version });
  }
  // This runtime does not support older versions, so openssl tries one.
  if (Bun.which("openssl") === null) return;
  const old = ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0", "-connect", `127.0.0.1:${port}`];
  const child = Bun.spawn(["openssl", "s_client", ...old], { stdin: "ignore", stderr: "pipe" });
  expect(await child.stderr.text()).toContain("alert protocol version");
});

test.skipIf(NETWORK_ADDRESS === null)(
  "another machine can administer over TLS, and not over plain HTTP",
  async () => {
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
    const getOverTls = (headers: Record<string, string>) =>
      fetch(`https://${host}:${port}${STATUS}`, { headers, tls: { ca } });
    expect(await code(await getOverTls({}))).toEqual([401, "unauthorized"]);
    expect(await code(await getOverTls(bearerHeader(token)))).toEqual([200, undefined]);
  },
);

test("with --client-auth mtls, applications need TLS and a certificate of the client CA", async () => {
  const { site, port, ca } = await openTlsSite(["--client-auth", "mtls", "--client-ca", "CA"]);
  for (const name of ["ws-17", "ws-17.plant7.lan", "Ada's laptop"]) {
    const path = join(tempFolder(), "client.pem");
    const created = await site.runCommand(["tls", "client", "--name", name, "--out", path]);
    expect([created.code, created.stdout]).toEqual([
      0,
      expect.stringContaining("cannot be revoked"),
    ]);
    expect(modeOf(path)).toBe("600");
    expect((await site.runCommand(["tls", "client", "--name", name, "--out", path])).code).toBe(1);
    const pem = readFileSync(path, "utf8");
    expect((await requestOnce({ port, ca, cert: pem, key: pem })).status).toBe(200);
  }
  const otherCa = createAuthority("another CA", { names: ["ws-17"], addresses: null }, Date.now());
  const foreign = issueServerCertificate(otherCa, ["ws-17"], Date.now());
  expect(requestOnce({ port, ca, cert: foreign.certificate, key: foreign.key })).rejects.toThrow();
  expect(requestOnce({ port, ca })).rejects.toThrow();
  const plain = await site.post("/api/v4/register", { user: "ada" });
  expect([plain.status, await plain.json()]).toEqual([
    403,
    expect.objectContaining({ code: "tls_required" }),
  ]);
});

describe("SIGHUP to a TLS server", () => {
  test("loads a new certificate, and interrupts each of fifty busy clients at most once", async () => {
    const { site, port, ca, file } = await openTlsSite();
    const end = new AbortController();
    let [replies, reloads, interruptions] = [0, 0, 0];
    const seen = new Set<string>();
    const sendRequests = async (index: number): Promise<void> => {
      if (index % 2 === 0) {
        seen.add((await requestOnce({ port, ca })).certificate);
        replies += 1;
        return;
      }
      // Some clients pause briefly between requests, others while the certificate is replaced.
      await requestRepeatedly({ port, ca }, index % 4 === 1 ? 2 : 300, () => {
        replies += 1;
        return !end.signal.aborted;
      });
    };
    const clients = Array.from({ length: 50 }, async (_, index) => {
      let interruptionsOfClient = 0;
      while (!end.signal.aborted) {
        try {
          await sendRequests(index);
        } catch (error) {
          interruptions += 1;
          interruptionsOfClient += 1;
          // A client that connects again after a reload gets its reply.
          if (interruptionsOfClient > reloads) throw error;
        }
      }
    });
    const all = Promise.all(clients);
    for (let round = 1; round <= 3; round += 1) {
      const before = replies;
      await Promise.race([waitUntil(() => replies >= before + 40, "forty replies"), all]);
      expect((await site.runCommand(["tls", "init"])).code).toBe(0);
      reloads = round;
      site.server.signal("SIGHUP");
      await site.waitForLogLines(round);
      await Promise.race([
        waitUntil(() => seen.has(readFingerprint(file)), "the new certificate"),
        all,
      ]);
    }
    // The server ends kept-alive connections, so that their clients reconnect.
    await Promise.race([waitUntil(() => interruptions > 0, "an ended connection"), all]);
    end.abort();
    await all;
    expect(replies).toBeGreaterThan(100);
    expect(seen.size).toBeGreaterThan(1);
  });

  test("answers a request that is under way with the old certificate", async () => {
    const { site, port, ca } = await openTlsSite();
    const socket = connect({ host: "127.0.0.1", servername: "localhost", port, ca });
    onTestFinished(() => void socket.destroy());
    let reply = "";
    socket.on("data", (part) => void (reply += String(part)));
    const head = "POST /api/v4/register HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    const rest = 'Content-Type: application/json\r\nContent-Length: 14\r\n\r\n{"user"';
    await new Promise((written) => void socket.write(head + rest, written));
    // The server reads the bytes above before it answers this request.
    await requestOnce({ port, ca });
    site.server.signal("SIGHUP");
    await site.waitForLogLines(1);
    await requestOnce({ port, ca });
    socket.write(':"ada"}');
    await waitUntil(() => reply.includes("\r\n\r\n"), "the reply");
    expect(reply).toStartWith("HTTP/1.1 ");
    expect(reply).toContain('"code":"license_not_found"');
  });

  test("keeps the certificate in use and logs an error if the new one is unusable", async () => {
    const { site, port, ca, file } = await openTlsSite();
    const before = readFingerprint(file);
    const keyCopy = join(tempFolder(), "server.key");
    copyFileSync(file("server.key"), keyCopy);
    let lines = 0;
    const expectRefused = async (reason: string): Promise<void> => {
      site.server.signal("SIGHUP");
      lines += 1;
      const line = (await site.waitForLogLines(lines)).at(-1);
      expect(line).toMatchObject({ level: "error" });
      expect(JSON.stringify(line)).toContain(reason);
      expect((await requestOnce({ port, ca })).certificate).toBe(before);
    };
    const text = readFileSync(file("server.pem"), "utf8");
    writeFileSync(file("server.pem"), text.slice(0, 300));
    await expectRefused("is not a certificate");
    await site.runCommand(["tls", "init"]);
    copyFileSync(keyCopy, file("server.key"));
    await expectRefused("is not the key of");
    replaceCertificate(file, Date.now() - DAY);
    await expectRefused("it has expired");
    await site.runCommand(["tls", "init"]);
    site.server.signal("SIGHUP");
    expect((await site.waitForLogLines(lines + 1)).at(-1)).toMatchObject({ level: "info" });
  });
});

describe("an expiring certificate", () => {
  const readCertificateStatus = async (site: RunningSite) => {
    const { stdout } = await site.runCommand(["status"]);
    const { certificate, findings } = JSON.parse(
      (await site.runCommand(["status", "--json"])).stdout,
    ) as Pick<StatusReply, "certificate" | "findings">;
    const finding = findings.find(({ code }) => code.startsWith("certificate_"));
    const isPrinted = finding !== undefined && stdout.includes(finding.summary);
    return { state: certificate?.state, finding: isPrinted ? finding : null };
  };

  test("is reported by berth status before and after it expires, and does not stop the server", async () => {
    const { site, file } = await openTlsSite();
    expect(await readCertificateStatus(site)).toMatchObject({ state: "ok" });
    replaceCertificate(file, Date.now() + 20 * DAY);
    await site.restart();
    await site.waitForStderr("the certificate expires soon");
    expect(await readCertificateStatus(site)).toEqual({
      state: "expiring",
      finding: expect.objectContaining({
        severity: "warning",
        command: expect.stringContaining("tls init"),
      }),
    });
    replaceCertificate(file, Date.now() - 1_000);
    await site.restart();
    await site.waitForStderr("the certificate expired");
    expect(await readCertificateStatus(site)).toEqual({
      state: "expired",
      finding: expect.objectContaining({
        severity: "error",
        command: expect.stringContaining("tls init"),
      }),
    });
    expect((await site.get("/api/v4/health")).status).toBe(200);
  });
});

test("TLS options without the options they require are a usage error", async () => {
  const folder = join(tempFolder(), "data");
  for (const flags of [
    ["--client-ca", "/x"],
    ["--tls-cert", "/x"],
    ["--client-auth", "mtls"],
  ]) {
    const refused = await runBinary([
      "serve",
      "--data",
      folder,
      "--listen",
      "127.0.0.1:0",
      ...flags,
    ]);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringMatching(/requires --(?:listen-tls|client-ca)/),
    ]);
  }
});
