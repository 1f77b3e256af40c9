// Where applications need a certificate of the client CA, every other certificate is refused.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ConnectionOptions } from "node:tls";
import { listenTls, type TlsListener } from "../../../src/http/tls-server.ts";
import {
  createAuthority,
  issueClientCertificate,
  issueServerCertificate,
  type Authority,
} from "../../../src/platform/crypto/x509.ts";
import { openSharedAppliance, OPEN_POLICY } from "../../support/appliance.ts";
import { requestOnce } from "../../support/tls-client.ts";

const POLICY = { ...OPEN_POLICY, clientAuth: "mtls" as const };

const DAY = 24 * 60 * 60 * 1_000;
const now = Date.now();

const createCa = (name = "Plant 4") =>
  createAuthority(name, { names: ["localhost"], addresses: null }, now);

/** A client certificate with its key, and the certificate of the CA that signed it. */
function issue(ca: Authority, at = now) {
  const { certificate, key } = issueClientCertificate(ca, "ws-17", { now: at, days: 1 });
  return { cert: `${certificate}${ca.certificate}`, key };
}

/** Changes the first certificate of a text, which stays well-formed. */
function change(cert: string, edit: (bytes: Buffer) => void): string {
  const end = "-----END CERTIFICATE-----\n";
  const [first = "", ...others] = cert.split(end);
  const [begin = "", ...lines] = first.split("\n");
  const bytes = Buffer.from(lines.join(""), "base64");
  edit(bytes);
  return [`${begin}\n${bytes.toString("base64")}\n`, ...others].join(end);
}

const siteCa = createCa();
const clientCa = createCa();
const right = issue(clientCa);

/** A client cannot sign for others, though it has a key that the CA signed. */
function issueByClient() {
  const name = "client ws-17";
  const byClient = issue({ name, certificate: right.cert, key: right.key, endsAt: now + DAY });
  return { ...byClient, cert: `${byClient.cert}${clientCa.certificate}` };
}

function issueForServers() {
  const { certificate, key } = issueServerCertificate(clientCa, ["localhost"], now);
  return { cert: `${certificate}${clientCa.certificate}`, key };
}

const WRONG: Readonly<Record<string, ConnectionOptions>> = {
  "no certificate": {},
  "a certificate of another CA": issue(createCa("Plant 5")),
  "a certificate of another CA with the same name": issue(createCa()),
  "a certificate of the CA of the server": issue(siteCa),
  "a certificate of a client": issueByClient(),
  "a certificate for servers": issueForServers(),
  "an expired certificate": issue(clientCa, now - 3 * DAY),
  "a certificate that is not valid yet": issue(clientCa, now + 3 * DAY),
  "a certificate with another name": {
    ...right,
    cert: change(right.cert, (bytes) => bytes.write("ws-18", bytes.indexOf("ws-17"))),
  },
  "a certificate with another end": {
    ...right,
    cert: change(right.cert, (bytes) => {
      const end = new Date(now + DAY).toISOString().replaceAll(/\D/g, "").slice(2, 8);
      bytes.write("49", bytes.lastIndexOf(end));
    }),
  },
  "a certificate with another signature": {
    ...right,
    cert: change(right.cert, (bytes) => {
      bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    }),
  },
};

const sharedSite = openSharedAppliance();

describe.each(["TLSv1.2", "TLSv1.3"] as const)("over %s, a server with a client CA", (version) => {
  /** One server that needs a client certificate, and one that does not. */
  let [strict, open]: TlsListener[] = [];

  beforeAll(() => {
    const { certificate, key } = issueServerCertificate(siteCa, ["localhost"], now);
    const server = { cert: `${certificate}${siteCa.certificate}`, key };
    const options = { services: sharedSite().services, host: "127.0.0.1", port: 0, policy: POLICY };
    const roots = `${clientCa.certificate}${clientCa.root}`;
    strict = listenTls(options, { ...server, clientCa: roots });
    open = listenTls(options, { ...server, clientCa: null });
  });

  afterAll(async () => {
    await Promise.all([strict?.stop(), open?.stop()]);
  });

  async function findStatus(listener: TlsListener | undefined, options: ConnectionOptions) {
    const port = Number(new URL(listener?.address ?? "").port);
    const versions = { minVersion: version, maxVersion: version } as const;
    const reply = requestOnce({ port, ca: siteCa.root, ...versions, ...options });
    return reply.then(
      ({ status, protocol }) => [status, protocol],
      () => null,
    );
  }

  test("answers a client with a certificate of the client CA", async () => {
    expect(await findStatus(strict, right)).toEqual([200, version]);
  });

  test.each(Object.keys(WRONG))("does not answer a client with %s", async (name) => {
    const options = WRONG[name] ?? {};
    expect(await findStatus(strict, options)).toBeNull();
    // The client can use it: the server refused it.
    expect(await findStatus(open, options)).toEqual([200, version]);
  });
});
