import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createServer, connect } from "node:tls";
import {
  isPermitted,
  readNameConstraints,
  type NameConstraints,
} from "../../../src/platform/crypto/name-constraints.ts";
import {
  issueClientCertificate,
  issueServerCertificate,
  createAuthority,
  type IssuedCertificate,
  type SiteAuthority,
} from "../../../src/platform/crypto/x509.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const NOW = Date.now();
const NAMES = ["berth.plant7.lan", "localhost"];
const ADDRESSES = ["127.0.0.1", "10.1.0.5", "::1", "2001:db8::5"];
const BY_NAME: NameConstraints = { names: NAMES, addresses: null };
const BY_BOTH: NameConstraints = { names: NAMES, addresses: ADDRESSES };

const authority = (permitted: NameConstraints): SiteAuthority =>
  createAuthority("site CA", permitted, NOW);

/** OpenSSL's error for a certificate with this purpose; null: it is valid. */
function verifyWithOpenssl(
  ca: SiteAuthority,
  leaf: IssuedCertificate,
  purpose: "server" | "client",
): string | null {
  const folder = tempFolder();
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const chain = ["-CAfile", file("root", ca.root), "-untrusted", file("issuer", ca.certificate)];
  const options = ["-x509_strict", "-purpose", `ssl${purpose}`, ...chain];
  const command = ["openssl", "verify", ...options, file("leaf", leaf.certificate)];
  const { exitCode, stderr } = Bun.spawnSync(command);
  return exitCode === 0 ? null : stderr.toString();
}

/** Whether a client and a server of this runtime can connect with these certificates. */
async function canConnect(
  ca: SiteAuthority,
  server: IssuedCertificate,
  client: IssuedCertificate | null,
): Promise<boolean> {
  const withChain = (leaf: IssuedCertificate) => ({
    cert: `${leaf.certificate}${ca.certificate}`,
    key: leaf.key,
  });
  const clientAuth = client !== null && {
    ca: ca.root,
    requestCert: true,
    rejectUnauthorized: true,
  };
  const listener = createServer({ ...withChain(server), ...clientAuth }, (socket) => {
    socket.on("error", () => {});
    socket.end("ok");
  });
  listener.on("tlsClientError", () => {});
  await new Promise<void>((ready) => listener.listen(0, "127.0.0.1", ready));
  const address = listener.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  try {
    return await new Promise<boolean>((resolve) => {
      const clientOptions = client === null ? {} : withChain(client);
      const target = { host: "127.0.0.1", servername: "localhost", port, ca: ca.root };
      const socket = connect({ ...target, ...clientOptions });
      socket.on("data", () => resolve(true));
      socket.on("error", () => resolve(false));
      socket.on("close", () => resolve(false));
    });
  } finally {
    listener.close();
  }
}

describe.skipIf(Bun.which("openssl") === null)("a site CA, verified by OpenSSL,", () => {
  test.each([
    ["by name", BY_NAME],
    ["by name and address", BY_BOTH],
  ])("limited %s can sign for its own server", (_description, permitted) => {
    const ca = authority(permitted);
    const server = issueServerCertificate(
      ca,
      [...NAMES, ...ADDRESSES, "www.berth.plant7.lan"],
      NOW,
    );
    expect(verifyWithOpenssl(ca, server, "server")).toBeNull();
  });

  test.each(["bank.example", "lan", "plant7.lan", "xlocalhost"])(
    "cannot sign for another server, such as %s",
    (name) => {
      const ca = authority(BY_NAME);
      const foreign = issueServerCertificate(ca, ["localhost", name], NOW);
      expect(verifyWithOpenssl(ca, foreign, "server")).toContain("permitted subtree violation");
    },
  );

  test.each(["10.1.0.6", "8.8.8.8", "::2", "2001:db8::6"])(
    "limited to addresses cannot sign for another one, such as %s",
    (address) => {
      const ca = authority(BY_BOTH);
      const foreign = issueServerCertificate(ca, ["localhost", address], NOW);
      expect(verifyWithOpenssl(ca, foreign, "server")).toContain("permitted subtree violation");
    },
  );

  test.each(["ws-17", "ws-17.plant7.lan", "bank.example", "Ada's laptop", "10.1.0.77"])(
    "can sign for the client %s, whose certificate is not valid for a server",
    (name) => {
      for (const ca of [authority(BY_NAME), authority(BY_BOTH)]) {
        const client = issueClientCertificate(ca, name, { now: NOW, days: 90 });
        expect(verifyWithOpenssl(ca, client, "client")).toBeNull();
        expect(verifyWithOpenssl(ca, client, "server")).toContain("unsuitable certificate purpose");
      }
    },
  );

  test("cannot sign another CA", () => {
    const ca = authority(BY_NAME);
    const intermediate = issueServerCertificate(ca, ["localhost"], NOW);
    const leaf = issueServerCertificate(
      { ...intermediate, name: "localhost", endsAt: ca.endsAt },
      ["localhost"],
      NOW,
    );
    const chained = { ...ca, certificate: `${ca.certificate}${intermediate.certificate}` };
    expect(verifyWithOpenssl(chained, leaf, "server")).not.toBeNull();
  });
});

describe("a site CA, verified by this runtime,", () => {
  test("limited by name is accepted for its server and clients, and not for other servers", async () => {
    const ca = authority(BY_NAME);
    const server = issueServerCertificate(ca, [...NAMES, ...ADDRESSES], NOW);
    expect(await canConnect(ca, server, null)).toBe(true);
    expect(
      await canConnect(ca, issueServerCertificate(ca, ["localhost", "bank.example"], NOW), null),
    ).toBe(false);
    for (const name of ["ws-17", "ws-17.plant7.lan", "Ada's laptop"]) {
      const client = issueClientCertificate(ca, name, { now: NOW, days: 90 });
      expect([name, await canConnect(ca, server, client)]).toEqual([name, true]);
    }
    const otherClient = issueClientCertificate(authority(BY_NAME), "ws-17", { now: NOW, days: 90 });
    expect(await canConnect(ca, server, otherClient)).toBe(false);
  });

  test("limited by address too is refused, so that is not the default", async () => {
    const ca = authority(BY_BOTH);
    expect(
      await canConnect(ca, issueServerCertificate(ca, [...NAMES, ...ADDRESSES], NOW), null),
    ).toBe(false);
  });
});

describe("the name constraints of a CA", () => {
  test("can be read from its root and its issuing certificate", () => {
    for (const permitted of [BY_NAME, BY_BOTH]) {
      const ca = authority(permitted);
      expect([readNameConstraints(ca.root), readNameConstraints(ca.certificate)]).toEqual([
        permitted,
        permitted,
      ]);
    }
    const many = Array.from({ length: 300 }, (_, index) => `host-${index}.plant7.lan`);
    expect(readNameConstraints(authority({ names: many, addresses: null }).root)?.names).toEqual(
      many,
    );
  });

  test("are in no server certificate", () => {
    const { certificate } = issueServerCertificate(authority(BY_NAME), ["localhost"], NOW);
    expect(readNameConstraints(certificate)).toBeNull();
  });

  test("permit names, their subdomains, and addresses in any spelling", () => {
    const isAllowed = (name: string): boolean => isPermitted(BY_BOTH, name);
    expect(["localhost", "berth.plant7.lan", "a.berth.plant7.lan"].filter(isAllowed)).toHaveLength(
      3,
    );
    expect(["plant7.lan", "xberth.plant7.lan", "lan"].filter(isAllowed)).toEqual([]);
    expect(["10.1.0.5", "0:0:0:0:0:0:0:1", "2001:0db8::0005"].filter(isAllowed)).toHaveLength(3);
    expect(["10.1.0.6", "::2"].filter(isAllowed)).toEqual([]);
    expect(isPermitted(BY_NAME, "10.1.0.6")).toBe(true);
  });
});
