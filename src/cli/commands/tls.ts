import { hostname, networkInterfaces } from "node:os";
import { dirname } from "node:path";
import { X509Certificate } from "node:crypto";
import { wallClock } from "../../platform/clock.ts";
import { realDisk } from "../../platform/disk.ts";
import { replaceFile } from "../../platform/files.ts";
import { normalAddress } from "../../platform/networks.ts";
import { Misuse } from "../../platform/options.ts";
import { becomeOwnerOf } from "../../platform/owner.ts";
import { issueClient, issueServer, makeAuthority, type Authority } from "../../platform/x509.ts";
import { DONE, dataFolder, Failure, isSet, listOf, stringOf, type Command } from "../command.ts";
import { option } from "../flags.ts";
import { refuseToReplace, writeOutputText } from "../output-file.ts";
import { print, printJson } from "../terminal.ts";
import { tlsPaths } from "../tls-files.ts";

const init: Command = {
  name: "tls init",
  everyday: true,
  summary: "make a site CA and a server certificate, or renew the certificate",
  options: [option.data, option.names, option.config, option.json],
  examples: ["berth tls init --names berth.plant7.lan,10.1.0.5"],
  async run(given) {
    const folder = dataFolder(given);
    if (realDisk.stat(folder) === null) {
      throw new Failure(`${folder} is not there`, "start berth serve once, or check --data");
    }
    becomeOwnerOf(folder);
    const paths = tlsPaths(folder);
    const names = namesOf(listOf(given, "names"));
    const now = wallClock();
    realDisk.makeFolder(dirname(paths.caKey));
    const kept = authorityIn(folder);
    const ca = kept ?? makeAuthority(`Berth site CA of ${hostname()}`, now);
    if (kept === null) {
      await replaceFile(realDisk, paths.caKey, Buffer.from(ca.key));
      await replaceFile(realDisk, paths.caCertificate, Buffer.from(ca.certificate));
    }
    const server = issueServer(ca, names, now);
    await replaceFile(realDisk, paths.key, Buffer.from(server.key));
    await replaceFile(realDisk, paths.certificate, Buffer.from(server.certificate));
    const validTo = endOf(server.certificate);
    const fingerprint = new X509Certificate(ca.certificate).fingerprint256;
    if (isSet(given, "json")) {
      printJson({ ...paths, names, valid_to: validTo, fingerprint, new_authority: kept === null });
      return DONE;
    }
    print(advice(folder, names, validTo, fingerprint, kept === null));
    return DONE;
  },
};

const client: Command = {
  name: "tls client",
  summary: "make a client's certificate and key, signed by the site CA, for client_auth = mtls",
  options: [option.data, option.clientName, option.out, option.config, option.json],
  examples: ["berth tls client --name ws-17 --out ws-17.pem"],
  async run(given) {
    const folder = dataFolder(given);
    const name = stringOf(given, "name");
    const out = stringOf(given, "out");
    if (name === null || out === null)
      throw new Misuse("--name and --out must be given", "berth help tls client");
    const ca = authorityIn(folder);
    if (ca === null) throw new Failure(`${folder} has no site CA yet`, "berth tls init makes one");
    refuseToReplace(out);
    const { certificate, key } = issueClient(ca, name, wallClock());
    await writeOutputText(out, `${certificate}${key}`);
    const validTo = endOf(certificate);
    if (isSet(given, "json")) printJson({ name, path: out, valid_to: validTo });
    else print(`${out} holds the certificate and the key of ${name}, until ${validTo}`);
    return DONE;
  },
};

function authorityIn(folder: string): Authority | null {
  const { caCertificate, caKey } = tlsPaths(folder);
  const [certificate, key] = [caCertificate, caKey].map((path) => realDisk.read(path));
  if (certificate == null && key == null) return null;
  if (certificate == null || key == null) {
    throw new Failure(
      `${certificate == null ? caCertificate : caKey} is missing beside the other half`,
      "bring it back, or remove both and hand out a new CA",
    );
  }
  const text = new TextDecoder();
  const { subject } = new X509Certificate(certificate);
  const validTo = endOf(certificate);
  const endsAt = Date.parse(validTo);
  if (endsAt <= wallClock()) {
    throw new Failure(
      `the site CA ended on ${validTo}`,
      `remove ${caCertificate} and ${caKey}, make a new one with berth tls init, hand it out`,
    );
  }
  const name = subject.replace(/^CN=/, "");
  return { name, endsAt, certificate: text.decode(certificate), key: text.decode(key) };
}

/** What clients may call this machine by, unless they are told something else. */
function namesOf(given: readonly string[]): string[] {
  const own = Object.values(networkInterfaces()).flatMap((all) =>
    (all ?? []).map(({ address }) => address),
  );
  const names = [...given, hostname(), "localhost", ...own].map(
    (name) => normalAddress(name) ?? name.toLowerCase(),
  );
  const wrong = names.find(
    (name) => normalAddress(name) === null && !/^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/.test(name),
  );
  if (wrong !== undefined)
    throw new Misuse(`${wrong} is no name for a server`, "for example berth.plant7.lan");
  return [...new Set(names)];
}

function advice(
  folder: string,
  names: readonly string[],
  validTo: string,
  fingerprint: string,
  isNew: boolean,
): string {
  const { caCertificate } = tlsPaths(folder);
  return `${isNew ? "a site CA and a server certificate are made" : "the server certificate is renewed; the site CA stays"}
  names         ${names.join(", ")}
  until         ${validTo}
  CA            ${caCertificate}
  fingerprint   ${fingerprint}

Start the server with --listen-tls 0.0.0.0:8443; one that is running takes the new certificate with
SIGHUP. Then let the clients know the CA (the file is no secret; compare the fingerprint):
  curl                --cacert ca.pem
  Debian, Ubuntu      copy it to /usr/local/share/ca-certificates/berth.crt, update-ca-certificates
  Red Hat             copy it to /etc/pki/ca-trust/source/anchors/, update-ca-trust
  Windows             certutil -addstore Root ca.pem
  Node, Bun           NODE_EXTRA_CA_CERTS=ca.pem
  Java                keytool -importcert -cacerts -alias berth -file ca.pem
Strict-Transport-Security is not sent: a browser would remember it and refuse plain HTTP here.`;
}

/** As every other time is shown. */
const endOf = (certificate: string | Uint8Array): string =>
  new Date(new X509Certificate(certificate).validTo).toISOString();

export const tlsCommands: readonly Command[] = [init, client];
