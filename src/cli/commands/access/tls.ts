import { hostname } from "node:os";
import { dirname } from "node:path";
import { isIP } from "node:net";
import { X509Certificate } from "node:crypto";
import { wallClock } from "../../../platform/clock.ts";
import { realDisk } from "../../../platform/files/disk.ts";
import { replaceFile } from "../../../platform/files/files.ts";
import { err, ok, type Result } from "../../../domain/result.ts";
import { Misuse, text, type InvalidValue } from "../../frame/options.ts";
import { becomeFolderOwner } from "../../../platform/files/owner.ts";
import { randomBytes } from "../../../platform/crypto/random.ts";
import { readNameConstraints } from "../../../platform/crypto/name-constraints.ts";
import {
  DEFAULT_CLIENT_DAYS,
  issueClientCertificate,
  issueServerCertificate,
  createAuthority,
  MAX_DAYS,
} from "../../../platform/crypto/x509.ts";
import { refuseToReplace, writeOutputText } from "../../files/output-file.ts";
import { Failure } from "../../frame/command.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import {
  getCaFolder,
  caKeyPath,
  saveSiteCa,
  readSiteCa,
  type CaFolder,
  type SiteCa,
} from "../../tls/site-ca.ts";
import { tlsPaths } from "../../tls/tls-files.ts";
import { chooseServerNames, choosePermittedNames } from "../../tls/tls-names.ts";

const init = defineCommand({
  name: "tls init",
  isCommon: true,
  summary: "create a site CA and a server certificate, or renew the certificate",
  options: {
    data: option.data,
    names: option.names,
    caDir: option.caDir,
    newCa: option.newCa,
    limitAddresses: option.limitAddresses,
    config: option.config,
    json: option.json,
  },
  examples: [
    "berth tls init --names berth.plant7.lan,10.1.0.5",
    "berth tls init --ca-dir /media/usb/site-ca",
  ],
  async run(options) {
    const { data: folder, limitAddresses } = options;
    refuseMissingFolder(folder);
    const now = wallClock();
    const existing = options.newCa ? null : readSiteCa(options);
    const names =
      existing === null
        ? chooseServerNames(options.names, folder)
        : choosePermittedNames(options.names, existing);
    // As the user who runs the command: the server's user must not be able to read the CA's key.
    const ca = existing ?? (await newSiteCa(getCaFolder(options), names, limitAddresses));
    const server = issueServerCertificate(ca.authority, names, now);
    becomeFolderOwner(folder);
    const paths = tlsPaths(folder);
    realDisk.makeFolder(dirname(paths.certificate));
    await replaceFile(realDisk, paths.caCertificate, Buffer.from(ca.root));
    await replaceFile(realDisk, paths.key, Buffer.from(server.key));
    const chain = Buffer.from(`${server.certificate}${ca.authority.certificate}`);
    await replaceFile(realDisk, paths.certificate, chain);
    const summary: TlsFilesSummary = {
      names,
      validTo: formatEnd(server.certificate),
      fingerprint: new X509Certificate(ca.root).fingerprint256,
      isNew: existing === null,
    };
    const { certificate, key, caCertificate: ca_certificate } = paths;
    const files = { certificate, key, ca_certificate, ca_key: ca.keyPath };
    const { validTo: valid_until, fingerprint, isNew: is_new_ca } = summary;
    return {
      json: { ...files, names, valid_until, fingerprint, is_new_ca },
      text: formatResult(folder, ca, summary),
    };
  },
});

const client = defineCommand({
  name: "tls client",
  summary: "create a client certificate and key, signed by the site CA, for client_auth = mtls",
  options: {
    data: option.data,
    name: option.clientName,
    days: text("--days N", `days until it expires; default ${DEFAULT_CLIENT_DAYS}`, {
      parse: parseDays,
    }),
    out: option.out,
    caDir: option.caDir,
    config: option.config,
    json: option.json,
  },
  examples: ["berth tls client --name ws-17 --out ws-17.pem"],
  async run(options) {
    const { data: folder, name, out, days } = options;
    if (name === null || out === null)
      throw new Misuse("--name and --out are required", "berth help tls client");
    const ca = readSiteCa(options);
    if (ca === null)
      throw new Failure(`${folder} has no site CA yet`, "create one with berth tls init");
    refuseToReplace(out);
    const { certificate, key } = issueClientCertificate(ca.authority, name, {
      now: wallClock(),
      days: days ?? DEFAULT_CLIENT_DAYS,
    });
    await writeOutputText(out, `${certificate}${ca.authority.certificate}${key}`);
    const validTo = formatEnd(certificate);
    return {
      json: { name, path: out, valid_until: validTo },
      text: `${out} contains the certificate and the key of ${name}, valid until ${validTo}.
It cannot be revoked. If it is lost before then, create a new CA (berth tls init --new-ca),
distribute it, and create a new certificate for every client.`,
    };
  },
});

function refuseMissingFolder(folder: string): void {
  if (realDisk.stat(folder) !== null) return;
  throw new Failure(
    `${folder} does not exist`,
    `create it as the user of the server with mkdir -p ${folder}, or check --data`,
  );
}

function parseDays(text: string): Result<number, InvalidValue> {
  const days = Number(text);
  if (Number.isInteger(days) && days >= 1 && days <= MAX_DAYS) return ok(days);
  const problem = `must be a whole number from 1 to ${MAX_DAYS}`;
  return err({ problem, hint: "for example --days 30" });
}

async function newSiteCa(
  caFolder: CaFolder,
  names: readonly string[],
  limitAddresses: boolean,
): Promise<SiteCa> {
  const permitted = {
    names: names.filter((name) => isIP(name) === 0),
    addresses: limitAddresses ? names.filter((name) => isIP(name) !== 0) : null,
  };
  // Two CAs of one machine must not have the same name.
  const title = `Berth site CA ${randomBytes(4)} of ${hostname()}`;
  const { root, ...authority } = createAuthority(title, permitted, wallClock());
  await saveSiteCa(caFolder, authority.key, [authority.certificate, root]);
  const limits = readNameConstraints(authority.certificate);
  if (limits === null) throw new Error("the new site CA has no name constraints");
  return { authority, root, limits, keyPath: caKeyPath(caFolder) };
}

interface TlsFilesSummary {
  readonly names: readonly string[];
  readonly validTo: string;
  readonly fingerprint: string;
  readonly isNew: boolean;
}

function formatResult(
  folder: string,
  ca: SiteCa,
  { names, validTo, fingerprint, isNew }: TlsFilesSummary,
): string {
  const { caCertificate } = tlsPaths(folder);
  const signableNames = [...ca.limits.names, ...(ca.limits.addresses ?? ["any address"])].join(
    ", ",
  );
  return `${isNew ? "created a site CA and a server certificate" : "renewed the server certificate; the site CA did not change"}
  names         ${names.join(", ")}
  valid until   ${validTo}
  CA            ${caCertificate}, valid until ${formatEnd(ca.root)}
  can sign for  ${signableNames}
  CA key        ${ca.keyPath}; keep it: without it the next certificate needs a new CA
  fingerprint   ${fingerprint}

Start the server with --listen-tls 0.0.0.0:8443. A running server loads the new certificate on
SIGHUP. Then install the CA on the clients (the file is not secret; compare the fingerprint):
  Berth's clients     the option ca, with the path of ca.pem; berth run: --ca-file ca.pem
  curl                --cacert ca.pem
  Debian, Ubuntu      copy it to /usr/local/share/ca-certificates/berth.crt, update-ca-certificates
  Red Hat             copy it to /etc/pki/ca-trust/source/anchors/, update-ca-trust
  Windows             certutil -addstore Root ca.pem
  Node, Bun           NODE_EXTRA_CA_CERTS=ca.pem
  Java                keytool -importcert -cacerts -alias berth -file ca.pem
The server does not send Strict-Transport-Security: browsers would then refuse plain HTTP here.`;
}

/** The end of a certificate, in the format of all other times. */
const formatEnd = (certificate: string | Uint8Array): string =>
  new Date(new X509Certificate(certificate).validTo).toISOString();

export const tlsCommands = [init, client];
