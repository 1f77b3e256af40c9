import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createServer, connect } from "node:tls";
import {
  isPermitted,
  issueClientCertificate,
  issueServerCertificate,
  createAuthority,
  readNameConstraints,
  type IssuedCertificate,
  type NameConstraints,
  type SiteAuthority,
} from "../../src/platform/x509.ts";
import { tempFolder } from "../support/temp-folder.ts";

const NOW = Date.now();
const NAMES = ["berth.plant7.lan", "localhost"];
const ADDRESSES = ["127.0.0.1", "10.1.0.5", "::1", "2001:db8::5"];
const BY_NAME: NameConstraints = { names: NAMES, addresses: null };
const BY_BOTH: NameConstraints = { names: NAMES, addresses: ADDRESSES };

const authority = (permitted: NameConstraints): SiteAuthority =>
  createAuthority("site CA", permitted, NOW);

/** What OpenSSL makes of it, by what it is to be used for; null: it is fine. */
function opensslSays(
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
  const how = ["-x509_strict", "-purpose", `ssl${purpose}`, ...chain];
  const words = ["openssl", "verify", ...how, file("leaf", leaf.certificate)];
  const { exitCode, stderr } = Bun.spawnSync(words);
  return exitCode === 0 ? null : stderr.toString();
}

/** Whether a client and a server of this runtime talk to each other with these. */
async function talk(
  ca: SiteAuthority,
  server: IssuedCertificate,
  client: IssuedCertificate | null,
): Promise<boolean> {
  const sent = (leaf: IssuedCertificate) => ({
    cert: `${leaf.certificate}${ca.certificate}`,
    key: leaf.key,
  });
  const asks = client !== null && { ca: ca.root, requestCert: true, rejectUnauthorized: true };
  const listener = createServer({ ...sent(server), ...asks }, (socket) => {
    socket.on("error", () => {});
    socket.end("heard");
  });
  listener.on("tlsClientError", () => {});
  await new Promise<void>((ready) => listener.listen(0, "127.0.0.1", ready));
  const address = listener.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  try {
    return await new Promise<boolean>((resolve) => {
      const shown = client === null ? {} : sent(client);
      const to = { host: "127.0.0.1", servername: "localhost", port, ca: ca.root };
      const socket = connect({ ...to, ...shown });
      socket.on("data", () => resolve(true));
      socket.on("error", () => resolve(false));
      socket.on("close", () => resolve(false));
    });
  } finally {
    listener.close();
  }
}

describe.skipIf(Bun.which("openssl") === null)("a site CA, as OpenSSL judges it", () => {
  test.each([
    ["by name", BY_NAME],
    ["by name and address", BY_BOTH],
  ])("limited %s signs for the server it was made for", (_how, permitted) => {
    const ca = authority(permitted);
    const server = issueServerCertificate(
      ca,
      [...NAMES, ...ADDRESSES, "www.berth.plant7.lan"],
      NOW,
    );
    expect(opensslSays(ca, server, "server")).toBeNull();
  });

  test.each(["bank.example", "lan", "plant7.lan", "xlocalhost"])(
    "signs for no other server, such as %s",
    (name) => {
      const ca = authority(BY_NAME);
      const foreign = issueServerCertificate(ca, ["localhost", name], NOW);
      expect(opensslSays(ca, foreign, "server")).toContain("permitted subtree violation");
    },
  );

  test.each(["10.1.0.6", "8.8.8.8", "::2", "2001:db8::6"])(
    "that is limited to addresses signs for no other one, such as %s",
    (address) => {
      const ca = authority(BY_BOTH);
      const foreign = issueServerCertificate(ca, ["localhost", address], NOW);
      expect(opensslSays(ca, foreign, "server")).toContain("permitted subtree violation");
    },
  );

  test.each(["ws-17", "ws-17.plant7.lan", "bank.example", "Ada's laptop", "10.1.0.77"])(
    "signs for a client called %s, which is no server by it",
    (name) => {
      for (const ca of [authority(BY_NAME), authority(BY_BOTH)]) {
        const client = issueClientCertificate(ca, name, { now: NOW, days: 90 });
        expect(opensslSays(ca, client, "client")).toBeNull();
        expect(opensslSays(ca, client, "server")).toContain("unsuitable certificate purpose");
      }
    },
  );

  test("cannot make another CA that signs for it", () => {
    const ca = authority(BY_NAME);
    const below = issueServerCertificate(ca, ["localhost"], NOW);
    const leaf = issueServerCertificate(
      { ...below, name: "localhost", endsAt: ca.endsAt },
      ["localhost"],
      NOW,
    );
    const chained = { ...ca, certificate: `${ca.certificate}${below.certificate}` };
    expect(opensslSays(chained, leaf, "server")).not.toBeNull();
  });
});

describe("a site CA, as this runtime judges it", () => {
  test("limited by name, its servers and clients are accepted, and foreign servers are not", async () => {
    const ca = authority(BY_NAME);
    const server = issueServerCertificate(ca, [...NAMES, ...ADDRESSES], NOW);
    expect(await talk(ca, server, null)).toBe(true);
    expect(
      await talk(ca, issueServerCertificate(ca, ["localhost", "bank.example"], NOW), null),
    ).toBe(false);
    for (const name of ["ws-17", "ws-17.plant7.lan", "Ada's laptop"]) {
      const client = issueClientCertificate(ca, name, { now: NOW, days: 90 });
      expect([name, await talk(ca, server, client)]).toEqual([name, true]);
    }
    const stranger = issueClientCertificate(authority(BY_NAME), "ws-17", { now: NOW, days: 90 });
    expect(await talk(ca, server, stranger)).toBe(false);
  });

  test("limited by address as well, it is refused: so that is not the default", async () => {
    const ca = authority(BY_BOTH);
    expect(await talk(ca, issueServerCertificate(ca, [...NAMES, ...ADDRESSES], NOW), null)).toBe(
      false,
    );
  });
});

describe("what a CA may sign for", () => {
  test("can be read in its root and in what it signs with", () => {
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

  test("is said by no other certificate", () => {
    const { certificate } = issueServerCertificate(authority(BY_NAME), ["localhost"], NOW);
    expect(readNameConstraints(certificate)).toBeNull();
  });

  test("are the names themselves and those below, and addresses however they are spelled", () => {
    const may = (name: string): boolean => isPermitted(BY_BOTH, name);
    expect(["localhost", "berth.plant7.lan", "a.berth.plant7.lan"].filter(may)).toHaveLength(3);
    expect(["plant7.lan", "xberth.plant7.lan", "lan"].filter(may)).toEqual([]);
    expect(["10.1.0.5", "0:0:0:0:0:0:0:1", "2001:0db8::0005"].filter(may)).toHaveLength(3);
    expect(["10.1.0.6", "::2"].filter(may)).toEqual([]);
    expect(isPermitted(BY_NAME, "10.1.0.6")).toBe(true);
  });
});
