import { createPrivateKey, X509Certificate } from "node:crypto";
import { join } from "node:path";
import type { Certificate } from "../http/tls-server.ts";
import { realDisk } from "../platform/disk.ts";
import type { CertificateView } from "../http/app.ts";
import { isEndingSoon } from "../domain/end-date.ts";
import { instant } from "../domain/time.ts";
import { Failure, getStringFlag, type FlagValues } from "./command.ts";

/** What `berth tls init` makes, in the data folder. */
export const tlsPaths = (folder: string) => ({
  caCertificate: join(folder, "tls", "ca.pem"),
  /** Where older versions kept the CA's key. */
  oldCaKey: join(folder, "tls", "ca.key"),
  certificate: join(folder, "tls", "server.pem"),
  key: join(folder, "tls", "server.key"),
});

/** The files a TLS listener is made of, read and checked; named by flag, or made by `tls init`. */
export function readCertificate(given: FlagValues, folder: string): Certificate {
  const own = tlsPaths(folder);
  const certPath = getStringFlag(given, "tls-cert") ?? own.certificate;
  const keyPath = getStringFlag(given, "tls-key") ?? own.key;
  const caPath = getStringFlag(given, "client-ca");
  const cert = readText(
    certPath,
    "the certificate",
    "check --tls-cert, or create a certificate with berth tls init",
  );
  const key = readText(keyPath, "the certificate's key", "check --tls-key");
  const clientCa = caPath === null ? null : readText(caPath, "the client CA", "check --client-ca");
  checkPair(certPath, cert, keyPath, key);
  if (caPath !== null && clientCa !== null) parseCertificate(caPath, clientCa);
  return { cert, key, clientCa };
}

function readText(path: string, what: string, hint: string): string {
  const bytes = realDisk.read(path);
  if (bytes === null) throw new Failure(`${what} ${path} does not exist`, hint);
  return new TextDecoder().decode(bytes);
}

function parseCertificate(path: string, text: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch {
    throw new Failure(`${path} is not a certificate`, "the file must be in PEM format");
  }
}

function checkPair(certPath: string, cert: string, keyPath: string, key: string): void {
  const certificate = parseCertificate(certPath, cert);
  let fits: boolean;
  try {
    fits = certificate.checkPrivateKey(createPrivateKey(key));
  } catch {
    throw new Failure(
      `${keyPath} is not a private key`,
      "the file must be in PEM format, without a passphrase",
    );
  }
  if (!fits)
    throw new Failure(`${keyPath} is not the key of ${certPath}`, "check --tls-cert and --tls-key");
}

/** One that ended is told, not refused: applications in plain HTTP must not go down with it. */
export function certificateView({ cert }: Certificate, now: number): CertificateView {
  const endsAt = instant(Date.parse(new X509Certificate(cert).validTo));
  const isNear = isEndingSoon(endsAt, instant(now));
  const state = endsAt <= now ? "expired" : isNear ? "expiring" : "ok";
  return { endsAt, state };
}

export function describeCertificate(state: CertificateView["state"], end: string): string {
  const renew = "renew it (berth tls init), then send the server SIGHUP";
  if (state === "ok") return `valid until ${end}`;
  return state === "expiring"
    ? `expires soon, on ${end}; ${renew}`
    : `expired on ${end}, and clients reject it; ${renew}`;
}
