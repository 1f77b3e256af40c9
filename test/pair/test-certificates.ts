// Certificates for the database servers of tests, made with openssl.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { makeTempFolder } from "../support/suite-harness.ts";

export interface TestCertificates {
  /** The path of the certificate that signed the server's. */
  readonly authority: string;
  /** The server's certificate and key, as texts. */
  readonly certificate: string;
  readonly key: string;
}

/** `names` as openssl writes them, for example `DNS:localhost`. */
export function makeCertificates(names: string): TestCertificates {
  const folder = makeTempFolder();
  const path = (name: string): string => join(folder, name);
  const ca = ["-x509", "-subj", "/CN=Test CA", "-keyout", path("ca.key"), "-out", path("ca.crt")];
  run(["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", ...ca]);
  const signer = ["-CA", path("ca.crt"), "-CAkey", path("ca.key")];
  const server = ["-subj", "/CN=database", "-addext", `subjectAltName=${names}`];
  const files = ["-keyout", path("tls.key"), "-out", path("tls.crt")];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  run(["req", "-x509", ...key, ...signer, ...server, ...files]);
  return {
    authority: path("ca.crt"),
    certificate: readFileSync(path("tls.crt"), "utf8"),
    key: readFileSync(path("tls.key"), "utf8"),
  };
}

function run(args: readonly string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(["openssl", ...args]);
  if (exitCode !== 0) throw new Error(`openssl ${args.join(" ")}: ${stderr.toString()}`);
}
