import { hostname } from "node:os";
import { dirname } from "node:path";
import { isIP } from "node:net";
import { X509Certificate } from "node:crypto";
import { wallClock } from "../../platform/clock.ts";
import { realDisk } from "../../platform/disk.ts";
import { replaceFile } from "../../platform/files.ts";
import { Misuse } from "../../platform/options.ts";
import { asOwnerOf, becomeOwnerOf } from "../../platform/owner.ts";
import { randomBytes } from "../../platform/random.ts";
import {
  CLIENT_DAYS,
  issueClient,
  issueServer,
  makeAuthority,
  MOST_DAYS,
  permittedBy,
} from "../../platform/x509.ts";
import {
  DONE,
  dataFolder,
  Failure,
  isSet,
  stringOf,
  type Command,
  type Given,
} from "../command.ts";
import { option } from "../flags.ts";
import { refuseToReplace, writeOutputText } from "../output-file.ts";
import { caFolderOf, caKeyIn, keepSiteCa, readSiteCa, type SiteCa } from "../site-ca.ts";
import { print, printJson, printWarning } from "../terminal.ts";
import { tlsPaths } from "../tls-files.ts";
import { namesOf, permittedNames } from "../tls-names.ts";

const init: Command = {
  name: "tls init",
  everyday: true,
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
    const folder = existing(given);
    const now = wallClock();
    const kept = isSet(given, "new-ca") ? null : readSiteCa(given, folder);
    if (kept?.isInDataFolder === true) warnOfOldKey(kept, folder);
    const names = kept === null ? namesOf(given, folder) : permittedNames(given, kept);
    // As whoever asked, who may be root: the server's user shall not read the CA's key.
    const ca = kept ?? (await newSiteCa(given, folder, names));
    const server = issueServer(ca.authority, names, now);
    becomeOwnerOf(folder);
    const paths = tlsPaths(folder);
    realDisk.makeFolder(dirname(paths.certificate));
    await replaceFile(realDisk, paths.caCertificate, Buffer.from(ca.root));
    await replaceFile(realDisk, paths.key, Buffer.from(server.key));
    const shown = Buffer.from(`${server.certificate}${ca.chain}`);
    await replaceFile(realDisk, paths.certificate, shown);
    // What it signed is trusted no more, and its key need not lie about.
    if (kept === null && realDisk.stat(paths.oldCaKey) !== null) realDisk.remove(paths.oldCaKey);
    const made: Made = {
      names,
      validTo: endOf(server.certificate),
      fingerprint: new X509Certificate(ca.root).fingerprint256,
      isNew: kept === null,
    };
    if (isSet(given, "json")) {
      const { certificate, key, caCertificate: ca_certificate } = paths;
      const files = { certificate, key, ca_certificate, ca_key: ca.keyPath };
      const { validTo: valid_until, fingerprint, isNew: is_new_ca } = made;
      printJson({ ...files, names, valid_until, fingerprint, is_new_ca });
      return DONE;
    }
    print(advice(folder, ca, made));
    return DONE;
  },
};

const moveCa: Command = {
  name: "tls move-ca",
  summary: "move the site CA's key out of the data folder, where older versions kept it",
  options: [option.data, option.caDir, option.config, option.json],
  examples: ["sudo berth tls move-ca"],
  async run(given) {
    const folder = existing(given);
    const ca = readSiteCa(given, folder);
    const { oldCaKey } = tlsPaths(folder);
    const where = caFolderOf(given, folder);
    if (ca === null || realDisk.stat(oldCaKey) === null) {
      throw new Failure(`${folder} contains no site CA key`, "there is nothing to move");
    }
    // One that was interrupted before the old file was removed goes on here.
    if (ca.isInDataFolder) {
      await keepSiteCa(where, ca.authority.key, [ca.authority.certificate, ca.root]);
    }
    await asOwnerOf(folder, async () => realDisk.remove(oldCaKey));
    const path = caKeyIn(where);
    if (isSet(given, "json")) printJson({ path });
    else print(`the site CA's key is now in ${path}; certificates and clients are not affected`);
    return DONE;
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
    const folder = dataFolder(given);
    const name = stringOf(given, "name");
    const out = stringOf(given, "out");
    if (name === null || out === null)
      throw new Misuse("--name and --out are required", "berth help tls client");
    const days = daysOf(given);
    const ca = readSiteCa(given, folder);
    if (ca === null)
      throw new Failure(`${folder} has no site CA yet`, "create one with berth tls init");
    if (ca.isInDataFolder) warnOfOldKey(ca, folder);
    refuseToReplace(out);
    const { certificate, key } = issueClient(ca.authority, name, { now: wallClock(), days });
    await writeOutputText(out, `${certificate}${ca.chain}${key}`);
    const validTo = endOf(certificate);
    if (isSet(given, "json")) printJson({ name, path: out, valid_until: validTo });
    else {
      print(`${out} contains the certificate and the key of ${name}, valid until ${validTo}.
It cannot be revoked. If it is lost before then, create a new CA (berth tls init --new-ca),
distribute it, and create a new certificate for every client.`);
    }
    return DONE;
  },
};

function existing(given: Given): string {
  const folder = dataFolder(given);
  if (realDisk.stat(folder) !== null) return folder;
  throw new Failure(`${folder} does not exist`, "start berth serve once, or check --data");
}

function daysOf(given: Given): number {
  const days = Number(stringOf(given, "days") ?? CLIENT_DAYS);
  if (Number.isInteger(days) && days >= 1 && days <= MOST_DAYS) return days;
  throw new Misuse(`--days must be a whole number from 1 to ${MOST_DAYS}`, "for example --days 30");
}

function warnOfOldKey({ keyPath }: SiteCa, folder: string): void {
  printWarning(
    `${keyPath} is in a folder that the server can read; move it with berth tls move-ca --data ${folder}`,
  );
}

async function newSiteCa(given: Given, folder: string, names: readonly string[]): Promise<SiteCa> {
  const where = caFolderOf(given, folder);
  const permitted = {
    names: names.filter((name) => isIP(name) === 0),
    addresses: isSet(given, "limit-addresses") ? names.filter((name) => isIP(name) !== 0) : null,
  };
  // Two CAs of one machine must not be called the same.
  const title = `Berth site CA ${randomBytes(4)} of ${hostname()}`;
  const { root, ...authority } = makeAuthority(title, permitted, wallClock());
  await keepSiteCa(where, authority.key, [authority.certificate, root]);
  const keyPath = caKeyIn(where);
  return { authority, root, chain: authority.certificate, keyPath, isInDataFolder: false };
}

interface Made {
  readonly names: readonly string[];
  readonly validTo: string;
  readonly fingerprint: string;
  readonly isNew: boolean;
}

function advice(folder: string, ca: SiteCa, { names, validTo, fingerprint, isNew }: Made): string {
  const { caCertificate } = tlsPaths(folder);
  const limits = permittedBy(ca.authority.certificate);
  const may =
    limits === null
      ? "any name: --new-ca creates one that can sign only for this server"
      : [...limits.names, ...(limits.addresses ?? ["any address"])].join(", ");
  return `${isNew ? "created a site CA and a server certificate" : "renewed the server certificate; the site CA did not change"}
  names         ${names.join(", ")}
  valid until   ${validTo}
  CA            ${caCertificate}, valid until ${endOf(ca.root)}
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
const endOf = (certificate: string | Uint8Array): string =>
  new Date(new X509Certificate(certificate).validTo).toISOString();

export const tlsCommands: readonly Command[] = [init, moveCa, client];
