// Servers that a client must not use by TLS, or cannot. They count the connections to them.
import { createServer as createPlainServer, type AddressInfo, type Server } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import {
  createAuthority,
  issueClientCertificate,
  issueServerCertificate,
  type IssuedCertificate,
  type SiteAuthority,
} from "../../src/platform/crypto/x509.ts";

export interface UnusableTlsServer {
  readonly url: string;
  /** The certificate of the CA to trust, as PEM text. */
  readonly ca: string;
  readonly countConnections: () => number;
}

const DAY = 86_400_000;

const makeAuthority = (now = Date.now()): SiteAuthority =>
  createAuthority("Test CA", { names: ["localhost"], addresses: null }, now);

/** One server for each fault of the certificate or of the address. */
export async function openUnusableTlsServers(
  atEnd: (cleanup: () => void) => void,
): Promise<Readonly<Record<string, UnusableTlsServer>>> {
  const [ca, old] = [makeAuthority(), makeAuthority(Date.now() - 1_000 * DAY)];
  const names = ["localhost", "127.0.0.1"];
  const serve = (
    signer: SiteAuthority,
    { certificate, key }: IssuedCertificate,
    trusted = signer,
  ) =>
    open(
      createTlsServer({ cert: `${certificate}${signer.certificate}`, key }, () => {}),
      trusted.root,
      atEnd,
    );
  const client = issueClientCertificate(ca, "ws-17", { now: Date.now(), days: 1 });
  return {
    untrusted: await serve(ca, issueServerCertificate(ca, names, Date.now()), makeAuthority()),
    expired: await serve(old, issueServerCertificate(old, names, Date.now() - 900 * DAY)),
    "not yet valid": await serve(ca, issueServerCertificate(ca, names, Date.now() + 2 * DAY)),
    "for another name": await serve(ca, issueServerCertificate(ca, ["localhost"], Date.now())),
    "of a client": await serve(ca, client),
    "without TLS": await open(
      createPlainServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")),
      ca.root,
      atEnd,
    ),
  };
}

async function open(
  server: Server,
  ca: string,
  atEnd: (cleanup: () => void) => void,
): Promise<UnusableTlsServer> {
  let count = 0;
  server.on("connection", () => (count += 1));
  server.on("tlsClientError", () => {});
  atEnd(() => server.close());
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const { port } = server.address() as AddressInfo;
  return { url: `https://127.0.0.1:${port}`, ca, countConnections: () => count };
}
