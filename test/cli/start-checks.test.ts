// What serve refuses for its settings, doctor finds before anybody starts it.
import { describe, expect, onTestFinished, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Finding } from "../../src/cli/doctor/finding.ts";
import { runBerth, runOrThrow } from "../support/run-berth.ts";
import { startBinary } from "../support/binary.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** A port that nobody listens on. */
function freePort(): number {
  const held = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  held.stop(true);
  return held.port;
}

interface DoctorOutput {
  readonly code: number;
  readonly findings: readonly Finding[];
}

async function runDoctor(data: string, config: string): Promise<DoctorOutput> {
  const said = await runBerth(["doctor", "--data", data, "--config", config, "--json"]);
  expect(said.stderr).toBe("");
  const { findings } = JSON.parse(said.stdout) as { readonly findings: readonly Finding[] };
  return { code: said.code, findings };
}

const settingsOf = ({ findings }: DoctorOutput): readonly Finding[] =>
  findings.filter(({ check }) => check === "settings");

function settingsFile(...lines: string[]): string {
  const path = join(tempFolder(), "berth.toml");
  writeFileSync(path, `${lines.join("\n")}\n`);
  return path;
}

const listen = (port: number): string => `listen = "127.0.0.1:${port}"`;

describe("berth doctor finds what berth serve refuses", () => {
  const cases: readonly [string, (port: number) => string[], string][] = [
    [
      "mtls without a clients' CA",
      (port) => [listen(port), 'client_auth = "mtls"'],
      'client_auth = "mtls" requires --client-ca',
    ],
    [
      "a clients' CA without a TLS address",
      (port) => [listen(port), 'client_ca = "ca.pem"'],
      "--client-ca requires --listen-tls",
    ],
    [
      "an address of another machine",
      (port) => [`listen = "192.0.2.7:${port}"`],
      "192.0.2.7 is not an address of this machine (EADDRNOTAVAIL)",
    ],
    [
      "a TLS address without a certificate",
      (port) => [listen(port), `listen_tls = "127.0.0.1:${freePort()}"`],
      "the certificate ",
    ],
    [
      "one port for both addresses",
      (port) => [`listen = "0.0.0.0:${port}"`, `listen_tls = "127.0.0.1:${port}"`],
      "--listen and --listen-tls use the same port",
    ],
    [
      "a host name that cannot be resolved",
      (port) => [`listen = "nosuchhost.invalid:${port}"`],
      "the host name nosuchhost.invalid cannot be resolved (",
    ],
  ];

  test.each(cases)("for %s, in the same words", async (_what, lines, words) => {
    const data = join(tempFolder(), "data");
    await makeLicensedSite(data, { product: "cad" });
    const config = settingsFile(...lines(freePort()));
    const report = await runDoctor(data, config);
    expect([report.code, settingsOf(report)]).toEqual([
      78,
      [expect.objectContaining({ level: "error", finding: expect.stringContaining(words) })],
    ]);
    const fresh = join(tempFolder(), "data");
    const refused = await runBerth(["serve", "--data", fresh, "--config", config]);
    expect([[1, 2].includes(refused.code), existsSync(fresh)]).toEqual([true, false]);
    const [found] = settingsOf(report);
    expect(refused.stderr.replaceAll(fresh, data)).toBe(
      `berth: error: ${found?.finding}\nberth: hint: ${found?.remedy}\n`,
    );
  });

  test("and nothing while a server runs with these settings, over TLS too", async () => {
    const data = join(tempFolder(), "data");
    await makeLicensedSite(data, { product: "cad" });
    await runOrThrow(["tls", "init", "--data", data, "--ca-dir", join(tempFolder(), "ca")]);
    const [plain, tls] = [freePort(), freePort()];
    const config = settingsFile(listen(plain), `listen_tls = "127.0.0.1:${tls}"`);
    const stopped = await runDoctor(data, config);
    expect(settingsOf(stopped)).toEqual([expect.objectContaining({ level: "ok" })]);
    const server = await startBinary("serve", "--data", data, "--config", config);
    onTestFinished(() => server.kill());
    const report = await runDoctor(data, config);
    expect(settingsOf(report)).toEqual([expect.objectContaining({ level: "ok" })]);
    const ports = report.findings.filter(({ check }) => check.startsWith("port "));
    expect(ports.map(({ check, level }) => [check, level])).toEqual([
      [`port ${plain}`, "ok"],
      [`port ${tls}`, "ok"],
    ]);
  });
});
