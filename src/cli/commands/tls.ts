import { hostname } from "node:os";
import { dirname } from "node:path";
import { isIP } from "node:net";
import { X509Certificate } from "node:crypto";
import { wallClock } from "../../platform/clock.ts";
import { realDisk } from "../../platform/disk.ts";
import { replaceFile } from "../../platform/files.ts";
import { Misuse } from "../../platform/options.ts";
import { runAsFolderOwner, becomeFolderOwner } from "../../platform/owner.ts";
import { randomBytes } from "../../platform/random.ts";
import {
  DEFAULT_CLIENT_DAYS,
  issueClientCertificate,
  issueServerCertificate,
  createAuthority,
  MAX_DAYS,
  readNameConstraints,
} from "../../platform/x509.ts";
import {
  EXIT_OK,
  getDataFolder,
  Failure,
  isFlagSet,
  getStringFlag,
  type Command,
  type FlagValues,
} from "../frame/command.ts";
import { option } from "../frame/flags.ts";
import { refuseToReplace, writeOutputText } from "../files/output-file.ts";
import { getCaFolder, caKeyPath, saveSiteCa, readSiteCa, type SiteCa } from "../tls/site-ca.ts";
import { print, printJson, printWarning } from "../frame/terminal.ts";
import { tlsPaths } from "../tls/tls-files.ts";
import { chooseServerNames, choosePermittedNames } from "../tls/tls-names.ts";

const init: Command = {
  name: "tls init",
  isCommon: true,
  summary: "create a site CA and a server certificate, or renew the certificate",
  options: [
    option.data,
    option.names,
    option.caDir,
    option.newCa,
    option.limitAddresses,
    option.config,
    option.json,
  ],
  examples: [
    "berth tls init --names berth.plant7.lan,10.1.0.5",
    "berth tls init --ca-dir /media/usb/site-ca",
  ],
  async run(flags) {
    const folder = getExistingDataFolder(flags);
    const now = wallClock();
    const existing = isFlagSet(flags, "new-ca") ? null : readSiteCa(flags, folder);
    if (existing?.isInDataFolder === true) warnAboutOldKey(existing, folder);
    const names =
      existing === null ? chooseServerNames(flags, folder) : choosePermittedNames(flags, existing);
    // As the user who runs the command: the server's user must not be able to read the CA's key.
    const ca = existing ?? (await newSiteCa(flags, folder, names));
    const server = issueServerCertificate(ca.authority, names, now);
    becomeFolderOwner(folder);
    const paths = tlsPaths(folder);
    realDisk.makeFolder(dirname(paths.certificate));
    await replaceFile(realDisk, paths.caCertificate, Buffer.from(ca.root));
    await replaceFile(realDisk, paths.key, Buffer.from(server.key));
    const chain = Buffer.from(`${server.certificate}${ca.chain}`);
    await replaceFile(realDisk, paths.certificate, chain);
    // Certificates of the old CA are no longer trusted, so its key is not needed.
    if (existing === null && realDisk.stat(paths.oldCaKey) !== null)
      realDisk.remove(paths.oldCaKey);
    const summary: TlsFilesSummary = {
      names,
      validTo: formatEnd(server.certificate),
      fingerprint: new X509Certificate(ca.root).fingerprint256,
      isNew: existing === null,
    };
    if (isFlagSet(flags, "json")) {
      const { certificate, key, caCertificate: ca_certificate } = paths;
      const files = { certificate, key, ca_certificate, ca_key: ca.keyPath };
      const { validTo: valid_until, fingerprint, isNew: is_new_ca } = summary;
      printJson({ ...files, names, valid_until, fingerprint, is_new_ca });
      return EXIT_OK;
    }
    print(formatResult(folder, ca, summary));
    return EXIT_OK;
  },
};

const moveCa: Command = {
  name: "tls move-ca",
  summary: "move the site CA's key out of the data folder, where older versions kept it",
  options: [option.data, option.caDir, option.config, option.json],
  examples: ["sudo berth tls move-ca"],
  async run(flags) {
    const folder = getExistingDataFolder(flags);
    const ca = readSiteCa(flags, folder);
    const { oldCaKey } = tlsPaths(folder);
    const caFolder = getCaFolder(flags, folder);
    if (ca === null || realDisk.stat(oldCaKey) === null) {
      throw new Failure(`${folder} contains no site CA key`, "there is nothing to move");
    }
    // False if an earlier run was interrupted before it removed the old file.
    if (ca.isInDataFolder) {
      await saveSiteCa(caFolder, ca.authority.key, [ca.authority.certificate, ca.root]);
    }
    await runAsFolderOwner(folder, async () => realDisk.remove(oldCaKey));
    const path = caKeyPath(caFolder);
    if (isFlagSet(flags, "json")) printJson({ path });
    else print(`the site CA's key is now in ${path}; certificates and clients are not affected`);
    return EXIT_OK;
  },
};

const client: Command = {
  name: "tls client",
  summary: "create a client certificate and key, signed by the site CA, for client_auth = mtls",
  options: [
    option.data,
    option.clientName,
    option.clientDays,
    option.out,
    option.caDir,
    option.config,
    option.json,
  ],
  examples: ["berth tls client --name ws-17 --out ws-17.pem"],
  async run(flags) {
    const folder = getDataFolder(flags);
    const name = getStringFlag(flags, "name");
    const out = getStringFlag(flags, "out");
    if (name === null || out === null)
      throw new Misuse("--name and --out are required", "berth help tls client");
    const days = getDays(flags);
    const ca = readSiteCa(flags, folder);
    if (ca === null)
      throw new Failure(`${folder} has no site CA yet`, "create one with berth tls init");
    if (ca.isInDataFolder) warnAboutOldKey(ca, folder);
    refuseToReplace(out);
    const { certificate, key } = issueClientCertificate(ca.authority, name, {
      now: wallClock(),
      days,
    });
    await writeOutputText(out, `${certificate}${ca.chain}${key}`);
    const validTo = formatEnd(certificate);
    if (isFlagSet(flags, "json")) printJson({ name, path: out, valid_until: validTo });
    else {
      print(`${out} contains the certificate and the key of ${name}, valid until ${validTo}.
It cannot be revoked. If it is lost before then, create a new CA (berth tls init --new-ca),
distribute it, and create a new certificate for every client.`);
    }
    return EXIT_OK;
  },
};

function getExistingDataFolder(flags: FlagValues): string {
  const folder = getDataFolder(flags);
  if (realDisk.stat(folder) !== null) return folder;
  throw new Failure(`${folder} does not exist`, "start berth serve once, or check --data");
}

function getDays(flags: FlagValues): number {
  const days = Number(getStringFlag(flags, "days") ?? DEFAULT_CLIENT_DAYS);
  if (Number.isInteger(days) && days >= 1 && days <= MAX_DAYS) return days;
  throw new Misuse(`--days must be a whole number from 1 to ${MAX_DAYS}`, "for example --days 30");
}

function warnAboutOldKey({ keyPath }: SiteCa, folder: string): void {
  printWarning(
    `${keyPath} is in a folder that the server can read; move it with berth tls move-ca --data ${folder}`,
  );
}

async function newSiteCa(
  flags: FlagValues,
  folder: string,
  names: readonly string[],
): Promise<SiteCa> {
  const caFolder = getCaFolder(flags, folder);
  const permitted = {
    names: names.filter((name) => isIP(name) === 0),
    addresses: isFlagSet(flags, "limit-addresses")
      ? names.filter((name) => isIP(name) !== 0)
      : null,
  };
  // Two CAs of one machine must not have the same name.
  const title = `Berth site CA ${randomBytes(4)} of ${hostname()}`;
  const { root, ...authority } = createAuthority(title, permitted, wallClock());
  await saveSiteCa(caFolder, authority.key, [authority.certificate, root]);
  const keyPath = caKeyPath(caFolder);
  return { authority, root, chain: authority.certificate, keyPath, isInDataFolder: false };
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
  const limits = readNameConstraints(ca.authority.certificate);
  const signableNames =
    limits === null
      ? "any name: --new-ca creates one that can sign only for this server"
      : [...limits.names, ...(limits.addresses ?? ["any address"])].join(", ");
  return `${isNew ? "created a site CA and a server certificate" : "renewed the server certificate; the site CA did not change"}
  names         ${names.join(", ")}
  valid until   ${validTo}
  CA            ${caCertificate}, valid until ${formatEnd(ca.root)}
  can sign for  ${signableNames}
  CA key        ${ca.keyPath}; keep it: without it the next certificate needs a new CA
  fingerprint   ${fingerprint}

Start the server with --listen-tls 0.0.0.0:8443. A running server loads the new certificate on
SIGHUP. Then install the CA on the clients (the file is not secret; compare the fingerprint):
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

export const tlsCommands: readonly Command[] = [init, moveCa, client];
