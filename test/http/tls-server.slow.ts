// Connections of the TLS listener: those that were opened before its certificate or its client CA
// was replaced, and those whose client certificate expires meanwhile.
import { describe, expect, onTestFinished, test } from "bun:test";
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls";
import { listenTls, type Certificate } from "../../src/http/tls-server.ts";
import {
  createAuthority,
  issueClientCertificate,
  issueServerCertificate,
  type SiteAuthority,
} from "../../src/platform/crypto/x509.ts";
import { expectOk, openAppliance, OPEN_POLICY } from "../support/appliance.ts";
import { waitUntil } from "../support/wait-until.ts";

const POLICY = { ...OPEN_POLICY, adminOpen: true };

const createCa = (): SiteAuthority =>
  createAuthority("Plant 4", { names: ["localhost"], addresses: null }, Date.now());

function createServerCertificate(
  ca: SiteAuthority,
  clientCa: SiteAuthority | null = null,
): Certificate {
  const { certificate, key } = issueServerCertificate(ca, ["localhost"], Date.now());
  const clientRoots = clientCa && `${clientCa.certificate}${clientCa.root}`;
  return { cert: `${certificate}${ca.certificate}`, key, clientCa: clientRoots };
}

/** The options of a client with a certificate that ends at `endsAt`. */
function clientOptions(ca: SiteAuthority, clientCa: SiteAuthority, endsAt: number) {
  const issued = issueClientCertificate({ ...clientCa, endsAt }, "ws-17", {
    now: Date.now(),
    days: 1,
  });
  return { ca: ca.root, cert: `${issued.certificate}${clientCa.certificate}`, key: issued.key };
}

const HOUR = 60 * 60_000;

/** A listener of a site whose two slots are taken. */
async function startServer(certificate: Certificate, maxConnectionMs?: number) {
  const site = await openAppliance();
  for (const user of ["ada", "ben"]) expectOk(await site.register({ user }));
  const options = { services: site.services, host: "127.0.0.1", port: 0, policy: POLICY };
  const listener = listenTls(options, certificate, maxConnectionMs);
  onTestFinished(() => listener.stop());
  return { site, listener, port: Number(new URL(listener.address).port) };
}

class TlsClient {
  readonly socket: TLSSocket;
  received = "";
  session: Buffer | null = null;
  isClosed = false;
  #isConnected = false;

  constructor(options: ConnectionOptions) {
    this.socket = connect({ host: "127.0.0.1", servername: "localhost", ...options }, () => {
      this.#isConnected = true;
    });
    this.socket.on("data", (part) => void (this.received += String(part)));
    this.socket.on("session", (session: Buffer) => void (this.session = session));
    this.socket.on("close", () => void (this.isClosed = true));
    // A refused handshake; the connection is closed then.
    this.socket.on("error", () => {});
    onTestFinished(() => void this.socket.destroy());
  }

  /** Waits until the handshake is complete; false: it was refused. */
  async connects(): Promise<boolean> {
    await waitUntil(() => this.#isConnected || this.isClosed, "a handshake");
    return this.#isConnected && !this.isClosed;
  }

  async send(text: string): Promise<void> {
    await this.connects();
    this.socket.write(text);
  }

  /** The reply to a request on this connection; null: the connection was closed without one. */
  async get(path: string): Promise<string | null> {
    this.received = "";
    await this.send(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    return this.#waitForReply();
  }

  async #waitForReply(): Promise<string | null> {
    await waitUntil(() => this.isClosed || this.received.includes("\r\n\r\n"), "a reply");
    return this.received === "" ? null : this.received;
  }
}

const HEALTH = "/api/v4/health";
const CLOSING = /^connection: close\r?$/im;

/** A registration that waits for a slot of a product whose slots are taken. */
const waitingRequest = (seconds: number): string =>
  `POST /api/v4/register HTTP/1.1\r\nHost: localhost\r\nPrefer: wait=${seconds}\r\n` +
  'Content-Type: application/json\r\nContent-Length: 14\r\n\r\n{"user":"eve"}';

async function isWaiting(site: Awaited<ReturnType<typeof startServer>>["site"]): Promise<boolean> {
  return JSON.stringify(expectOk(await site.get("/api/admin/v1/queue"))).includes("eve");
}

describe("a connection that was opened before the certificate was replaced", () => {
  test("is closed with the reply to its request under way", async () => {
    const ca = createCa();
    const { listener, port } = await startServer(createServerCertificate(ca));
    const client = new TlsClient({ port, ca: ca.root });
    expect(await client.get(HEALTH)).not.toMatch(CLOSING);
    client.received = "";
    await client.send(
      "POST /api/v4/register HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
        'Content-Length: 14\r\n\r\n{"user"',
    );
    // The server reads the bytes above before it answers this request.
    await new TlsClient({ port, ca: ca.root }).get(HEALTH);
    listener.replaceCertificate(createServerCertificate(ca));
    await client.send(':"ada"}');
    await waitUntil(() => client.isClosed, "the end of the connection");
    expect(client.received).toStartWith("HTTP/1.1 200");
    expect(client.received).toMatch(CLOSING);
  });

  test("is closed after a few seconds if the client CA is another one", async () => {
    const [ca, clientCa] = [createCa(), createCa()];
    const { site, listener, port } = await startServer(createServerCertificate(ca, clientCa));
    const client = new TlsClient({ port, ...clientOptions(ca, clientCa, Date.now() + HOUR) });
    await client.send(waitingRequest(30));
    await waitUntil(() => isWaiting(site), "a place in the queue");
    listener.replaceCertificate(createServerCertificate(ca, clientCa));
    listener.replaceCertificate(createServerCertificate(ca, createCa()));
    await waitUntil(() => client.isClosed, "the end of the connection", { patience: 60_000 });
    expect(client.received).toBe("");
  });

  test("is used until its request is answered if the client CA is the same", async () => {
    const [ca, clientCa] = [createCa(), createCa()];
    const certificate = createServerCertificate(ca, clientCa);
    const { site, listener, port } = await startServer(certificate);
    const client = new TlsClient({ port, ...clientOptions(ca, clientCa, Date.now() + HOUR) });
    await client.send(waitingRequest(7));
    await waitUntil(() => isWaiting(site), "a place in the queue");
    const { cert, key } = createServerCertificate(ca);
    listener.replaceCertificate({ ...certificate, cert, key });
    await waitUntil(() => client.isClosed, "the end of the connection", { patience: 60_000 });
    expect(client.received).toContain('"code":"floating_not_available"');
    expect(client.received).toMatch(CLOSING);
  });
});

describe("a client certificate that has expired", () => {
  test("admits no request after the longest time of a connection", async () => {
    const [ca, clientCa] = [createCa(), createCa()];
    const { port } = await startServer(createServerCertificate(ca, clientCa), 4_000);
    const endsAt = Date.now() + 3_000;
    const options = { port, ...clientOptions(ca, clientCa, endsAt) };
    const client = new TlsClient(options);
    expect(await client.get(HEALTH)).not.toMatch(CLOSING);
    let lastReply: string | null = null;
    await waitUntil(async () => {
      lastReply = (await client.get(HEALTH)) ?? lastReply;
      return client.isClosed;
    }, "the end of a connection in use");
    expect(lastReply).toStartWith("HTTP/1.1 200");
    expect(lastReply).toMatch(CLOSING);
    expect(Date.now()).toBeGreaterThan(endsAt);
    expect(await new TlsClient(options).get(HEALTH)).toBeNull();
  });

  test("keeps no status stream open", async () => {
    const [ca, clientCa] = [createCa(), createCa()];
    const { port } = await startServer(createServerCertificate(ca, clientCa), 2_000);
    const options = clientOptions(ca, clientCa, Date.now() + HOUR);
    const client = new TlsClient({ port, ...options });
    expect(await client.get("/api/admin/v1/stream")).toStartWith("HTTP/1.1 200");
    await waitUntil(() => client.isClosed, "the end of the stream");
    expect(client.received).toEndWith("\r\n0\r\n\r\n");
  });
});

describe.each(["TLSv1.2", "TLSv1.3"] as const)("a session of %s", (version) => {
  /** Whether a second connection could continue the session of the first one. */
  async function isContinued(options: ConnectionOptions): Promise<boolean> {
    const versions = { ...options, minVersion: version, maxVersion: version };
    const first = new TlsClient(versions);
    expect(await first.get(HEALTH)).toStartWith("HTTP/1.1 200");
    const session = first.session ?? first.socket.getSession() ?? Buffer.alloc(0);
    const second = new TlsClient({ ...versions, session });
    expect(await second.get(HEALTH)).toStartWith("HTTP/1.1 200");
    return second.socket.isSessionReused();
  }

  test("is continued by a server without a client CA", async () => {
    const ca = createCa();
    const { port } = await startServer(createServerCertificate(ca));
    expect(await isContinued({ port, ca: ca.root })).toBe(true);
  });

  test("is not continued by a server that checks client certificates", async () => {
    const [ca, clientCa] = [createCa(), createCa()];
    const { port } = await startServer(createServerCertificate(ca, clientCa));
    const options = clientOptions(ca, clientCa, Date.now() + HOUR);
    expect(await isContinued({ port, ...options })).toBe(false);
  });
});

test("a server without a client CA keeps a connection for any time", async () => {
  const ca = createCa();
  const { port } = await startServer(createServerCertificate(ca), 1);
  const client = new TlsClient({ port, ca: ca.root });
  for (let count = 0; count < 5; count += 1) {
    await Bun.sleep(2);
    expect(await client.get(HEALTH)).not.toMatch(CLOSING);
  }
});
