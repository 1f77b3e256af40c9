import { createPrivateKey, X509Certificate } from "node:crypto";
import { join } from "node:path";
import type { Certificate } from "../../http/tls-server.ts";
import { realDisk } from "../../platform/files/disk.ts";
import type { CertificateView } from "../../http/services.ts";
import { isEndingSoon } from "../../domain/licenses/end-date.ts";
import { instant, type Instant } from "../../domain/time.ts";
import { Failure } from "../frame/command.ts";
import type { ServeSettings } from "../serve/settings.ts";

/** The files that `berth tls init` creates in the data folder. */
export const tlsPaths = (folder: string) => ({
  caCertificate: join(folder, "tls", "ca.pem"),
  certificate: join(folder, "tls", "server.pem"),
  key: join(folder, "tls", "server.key"),
});

type TlsSettings = Pick<ServeSettings, "data" | "tlsCert" | "tlsKey" | "clientCa">;

/** Reads and checks the files of a TLS listener: those of the settings, or those of `tls init`. */
export function readCertificate(settings: TlsSettings): Certificate {
  const defaults = tlsPaths(settings.data);
  const certPath = settings.tlsCert ?? defaults.certificate;
  const keyPath = settings.tlsKey ?? defaults.key;
  const caPath = settings.clientCa;
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
  let isMatch: boolean;
  try {
    isMatch = certificate.checkPrivateKey(createPrivateKey(key));
  } catch {
    throw new Failure(
      `${keyPath} is not a private key`,
      "the file must be in PEM format, without a passphrase",
    );
  }
  if (!isMatch)
    throw new Failure(`${keyPath} is not the key of ${certPath}`, "check --tls-cert and --tls-key");
}

export const certificateEnd = ({ cert }: Certificate): Instant =>
  instant(Date.parse(new X509Certificate(cert).validTo));

/** An expired certificate is reported, not refused: plain HTTP must still work. */
export function certificateView(
  certificate: Certificate,
  now: number,
  warningDays: number,
): CertificateView {
  const endsAt = certificateEnd(certificate);
  const isExpiring = isEndingSoon(endsAt, instant(now), warningDays);
  const state = endsAt <= now ? "expired" : isExpiring ? "expiring" : "ok";
  return { endsAt, state };
}

export function describeCertificate(state: CertificateView["state"], end: string): string {
  const renew = "renew it (berth tls init), then send the server SIGHUP";
  if (state === "ok") return `valid until ${end}`;
  return state === "expiring"
    ? `expires soon, on ${end}; ${renew}`
    : `expired on ${end}, and clients reject it; ${renew}`;
}
