// berth doctor reports every problem in the settings that keeps berth serve from starting.
import { describe, expect, onTestFinished, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DoctorReply } from "../../../src/http/running-server.ts";
import { findFreePort } from "../../support/free-ports.ts";
import { runBerth, runOrThrow } from "../../support/run-berth.ts";
import { startBinary } from "../../support/binary.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { tempFolder } from "../../support/temp-folder.ts";

interface DoctorOutput extends DoctorReply {
  readonly code: number;
}

async function runDoctor(data: string, config: string): Promise<DoctorOutput> {
  const result = await runBerth(["doctor", "--data", data, "--config", config, "--json"]);
  expect(result.stderr).toBe("");
  return { code: result.code, ...(JSON.parse(result.stdout) as DoctorReply) };
}

const settingsErrorsOf = ({ findings }: DoctorReply): DoctorReply["findings"] =>
  findings.filter(({ code }) => code === "settings_invalid");

const passedOf = ({ passed_checks }: DoctorReply, name: string): string[] =>
  passed_checks.filter(({ check }) => check === name).map(({ summary }) => summary);

/** A finding begins with a capital letter, a message of the command line does not. */
const inLowerCase = (text = ""): string =>
  text.replace(/^[A-Z](?=[a-z]* )/, (c) => c.toLowerCase());

function settingsFile(...lines: string[]): string {
  const path = join(tempFolder(), "berth.toml");
  writeFileSync(path, `${lines.join("\n")}\n`);
  return path;
}

const listen = (port: number): string => `listen = "127.0.0.1:${port}"`;

describe("berth doctor", () => {
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
      (port) => [listen(port), `listen_tls = "127.0.0.1:${findFreePort()}"`],
      "the certificate ",
    ],
    [
      "one port for both addresses",
      (port) => [`listen = "0.0.0.0:${port}"`, `listen_tls = "127.0.0.1:${port}"`],
      "--listen and --listen-tls use the same port",
    ],
    [
      "one port for applications and for metrics",
      (port) => [listen(port), `metrics_listen = "127.0.0.1:${port}"`],
      "--listen and --metrics-listen use the same port",
    ],
    [
      "a host name that cannot be resolved",
      (port) => [`listen = "nosuchhost.invalid:${port}"`],
      "the host name nosuchhost.invalid cannot be resolved (",
    ],
  ];

  test.each(cases)(
    "reports the same error as berth serve for %s",
    async (_what, lines, problem) => {
      const data = join(tempFolder(), "data");
      await makeLicensedSite(data, { product: "cad" });
      const config = settingsFile(...lines(findFreePort()));
      const report = await runDoctor(data, config);
      const errors = settingsErrorsOf(report);
      expect([report.code, errors.map(({ severity }) => severity)]).toEqual([78, ["error"]]);
      expect(inLowerCase(errors[0]?.summary)).toContain(problem);
      const fresh = join(tempFolder(), "data");
      const refused = await runBerth(["serve", "--data", fresh, "--config", config]);
      expect([[1, 2].includes(refused.code), existsSync(fresh)]).toEqual([true, false]);
      const [message, hint] = [errors[0]?.summary, errors[0]?.remedy].map(inLowerCase);
      expect(refused.stderr.replaceAll(fresh, data)).toBe(
        `berth: error: ${message}\nberth: hint: ${hint}\n`,
      );
    },
  );

  test("accepts the settings of a running server that listens with and without TLS", async () => {
    const data = join(tempFolder(), "data");
    await makeLicensedSite(data, { product: "cad" });
    await runOrThrow(["tls", "init", "--data", data, "--ca-dir", join(tempFolder(), "ca")]);
    const [plain, tls] = [findFreePort(), findFreePort()];
    const config = settingsFile(listen(plain), `listen_tls = "127.0.0.1:${tls}"`);
    const stopped = await runDoctor(data, config);
    expect(passedOf(stopped, "settings")).toEqual([`The settings in ${config} are valid`]);
    const server = await startBinary("serve", "--data", data, "--config", config);
    onTestFinished(() => server.kill());
    const report = await runDoctor(data, config);
    expect(passedOf(report, "settings")).toEqual([`The settings in ${config} are valid`]);
    expect(passedOf(report, "port")).toEqual([
      `The server listens on 127.0.0.1:${plain}`,
      `The server listens on 127.0.0.1:${tls}`,
    ]);
  });
});
