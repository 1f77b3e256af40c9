// `berth run` with servers that cannot be used by TLS.
import { describe, expect, onTestFinished, test } from "bun:test";
import { claimSlot } from "../../../src/cli/run/claim-slot.ts";
import { LicenseClient } from "../../../src/cli/run/license-client.ts";
import { RunFailure } from "../../../src/cli/run/run-failure.ts";
import { scriptedServer } from "../../support/run-wrapper.ts";
import { granted } from "../../support/scripted-server.ts";
import { openUnusableTlsServers } from "../../support/unusable-tls-servers.ts";

const HOUR = 3_600_000;

/** Takes a slot as `berth run --wait 1h` does. */
function claim(servers: readonly string[], ca: string) {
  const client = new LicenseClient({
    servers,
    fields: { product: "CAD", user: "ada" },
    login: null,
    tls: { ca: [ca], certificate: null },
  });
  const { signal } = new AbortController();
  const options = { product: "CAD", wait: HOUR, secondsPerCall: 30, signal, report: () => {} };
  return claimSlot(client, options);
}

const EXPECTED: Readonly<Record<string, readonly [message: string, hint: string]>> = {
  untrusted: ["has a certificate that is not trusted", "--ca-file"],
  expired: ["has a certificate that has expired", "renew it on the server with berth tls init"],
  "not yet valid": ["has a certificate that is not valid yet", "check the clocks"],
  "for another name": ["has a certificate for other names", "use a name of the server"],
  "of a client": ["cannot be used by TLS: INVALID_PURPOSE", "check the certificate"],
  "without TLS": ["does not complete the TLS handshake", "the TLS address of the server"],
};

describe("berth run --wait", () => {
  test("ends at once with the cause if the server cannot be used by TLS", async () => {
    for (const [name, server] of Object.entries(await openUnusableTlsServers(onTestFinished))) {
      const { url, ca, countConnections } = server;
      const error = (await claim([url], ca).catch((failure: unknown) => failure)) as RunFailure;
      expect(error).toBeInstanceOf(RunFailure);
      const [message, hint] = EXPECTED[name] ?? [];
      expect([name, error.message, error.exitCode]).toEqual([name, `${url} ${message}`, 69]);
      expect(error.hint).toContain(hint ?? "no hint is known");
      expect([name, countConnections()]).toEqual([name, 1]);
    }
  });

  test("uses the other host of a pair if one cannot be used by TLS", async () => {
    const { expired } = await openUnusableTlsServers(onTestFinished);
    const other = scriptedServer(() => granted());
    const slot = await claim([expired?.url ?? "", other.url], expired?.ca ?? "");
    expect(slot.server).toBe(other.url);
  });
});
