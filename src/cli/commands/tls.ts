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
} from "../command.ts";
import { option } from "../flags.ts";
import { refuseToReplace, writeOutputText } from "../output-file.ts";
import { getCaFolder, caKeyPath, saveSiteCa, readSiteCa, type SiteCa } from "../site-ca.ts";
import { print, printJson, printWarning } from "../terminal.ts";
import { tlsPaths } from "../tls-files.ts";
import { chooseServerNames, choosePermittedNames } from "../tls-names.ts";

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
  async run(given) {
    const folder = getExistingDataFolder(given);
    const now = wallClock();
    const kept = isFlagSet(given, "new-ca") ? null : readSiteCa(given, folder);
    if (kept?.isInDataFolder === true) warnAboutOldKey(kept, folder);
    const names =
      kept === null ? chooseServerNames(given, folder) : choosePermittedNames(given, kept);
    // As whoever asked, who may be root: the server's user shall not read the CA's key.
    const ca = kept ?? (await newSiteCa(given, folder, names));
    const server = issueServerCertificate(ca.authority, names, now);
    becomeFolderOwner(folder);
    const paths = tlsPaths(folder);
    realDisk.makeFolder(dirname(paths.certificate));
    await replaceFile(realDisk, paths.caCertificate, Buffer.from(ca.root));
    await replaceFile(realDisk, paths.key, Buffer.from(server.key));
    const shown = Buffer.from(`${server.certificate}${ca.chain}`);
    await replaceFile(realDisk, paths.certificate, shown);
    // What it signed is trusted no more, and its key need not lie about.
    if (kept === null && realDisk.stat(paths.oldCaKey) !== null) realDisk.remove(paths.oldCaKey);
    const made: TlsFilesSummary = {
      names,
      validTo: formatEnd(server.certificate),
      fingerprint: new X509Certificate(ca.root).fingerprint256,
      isNew: kept === null,
    };
    if (isFlagSet(given, "json")) {
      const { certificate, key, caCertificate: ca_certificate } = paths;
      const files = { certificate, key, ca_certificate, ca_key: ca.keyPath };
      const { validTo: valid_until, fingerprint, isNew: is_new_ca } = made;
      printJson({ ...files, names, valid_until, fingerprint, is_new_ca });
      return EXIT_OK;
    }
    print(advice(folder, ca, made));
    return EXIT_OK;
  },
};

const moveCa: Command = {
  name: "tls move-ca",
  summary: "move the site CA's key out of the data folder, where older versions kept it",
  options: [option.data, option.caDir, option.config, option.json],
  examples: ["sudo berth tls move-ca"],
  async run(given) {
    const folder = getExistingDataFolder(given);
    const ca = readSiteCa(given, folder);
    const { oldCaKey } = tlsPaths(folder);
    const where = getCaFolder(given, folder);
    if (ca === null || realDisk.stat(oldCaKey) === null) {
      throw new Failure(`${folder} contains no site CA key`, "there is nothing to move");
    }
    // One that was interrupted before the old file was removed goes on here.
    if (ca.isInDataFolder) {
      await saveSiteCa(where, ca.authority.key, [ca.authority.certificate, ca.root]);
    }
    await runAsFolderOwner(folder, async () => realDisk.remove(oldCaKey));
    const path = caKeyPath(where);
    if (isFlagSet(given, "json")) printJson({ path });
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
  async run(given) {
    const folder = getDataFolder(given);
    const name = getStringFlag(given, "name");
    const out = getStringFlag(given, "out");
    if (name === null || out === null)
      throw new Misuse("--name and --out are required", "berth help tls client");
    const days = getDays(given);
    const ca = readSiteCa(given, folder);
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
    if (isFlagSet(given, "json")) printJson({ name, path: out, valid_until: validTo });
    else {
      print(`${out} contains the certificate and the key of ${name}, valid until ${validTo}.
It cannot be revoked. If it is lost before then, create a new CA (berth tls init --new-ca),
distribute it, and create a new certificate for every client.`);
    }
    return EXIT_OK;
  },
};

function getExistingDataFolder(given: FlagValues): string {
  const folder = getDataFolder(given);
  if (realDisk.stat(folder) !== null) return folder;
  throw new Failure(`${folder} does not exist`, "start berth serve once, or check --data");
}

function getDays(given: FlagValues): number {
  const days = Number(getStringFlag(given, "days") ?? DEFAULT_CLIENT_DAYS);
  if (Number.isInteger(days) && days >= 1 && days <= MAX_DAYS) return days;
  throw new Misuse(`--days must be a whole number from 1 to ${MAX_DAYS}`, "for example --days 30");
}

function warnAboutOldKey({ keyPath }: SiteCa, folder: string): void {
  printWarning(
    `${keyPath} is in a folder that the server can read; move it with berth tls move-ca --data ${folder}`,
  );
}

async function newSiteCa(
  given: FlagValues,
  folder: string,
  names: readonly string[],
): Promise<SiteCa> {
  const where = getCaFolder(given, folder);
  const permitted = {
    names: names.filter((name) => isIP(name) === 0),
    addresses: isFlagSet(given, "limit-addresses")
      ? names.filter((name) => isIP(name) !== 0)
      : null,
  };
  // Two CAs of one machine must not be called the same.
  const title = `Berth site CA ${randomBytes(4)} of ${hostname()}`;
  const { root, ...authority } = createAuthority(title, permitted, wallClock());
  await saveSiteCa(where, authority.key, [authority.certificate, root]);
  const keyPath = caKeyPath(where);
  return { authority, root, chain: authority.certificate, keyPath, isInDataFolder: false };
}

interface TlsFilesSummary {
  readonly names: readonly string[];
  readonly validTo: string;
  readonly fingerprint: string;
  readonly isNew: boolean;
}

function advice(
  folder: string,
  ca: SiteCa,
  { names, validTo, fingerprint, isNew }: TlsFilesSummary,
): string {
  const { caCertificate } = tlsPaths(folder);
  const limits = readNameConstraints(ca.authority.certificate);
  const may =
    limits === null
      ? "any name: --new-ca creates one that can sign only for this server"
      : [...limits.names, ...(limits.addresses ?? ["any address"])].join(", ");
  return `${isNew ? "created a site CA and a server certificate" : "renewed the server certificate; the site CA did not change"}
  names         ${names.join(", ")}
  valid until   ${validTo}
  CA            ${caCertificate}, valid until ${formatEnd(ca.root)}
  can sign for  ${may}
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

/** As every other time is shown. */
const formatEnd = (certificate: string | Uint8Array): string =>
  new Date(new X509Certificate(certificate).validTo).toISOString();

export const tlsCommands: readonly Command[] = [init, moveCa, client];
