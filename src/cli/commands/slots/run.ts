import { basename } from "node:path";
import { getCACertificates } from "node:tls";
import { defineWrapper } from "../../frame/define-command.ts";
import { Misuse } from "../../frame/options.ts";
import { readInputBytes } from "../../files/input-file.ts";
import { isLoopback } from "../../../platform/network/networks.ts";
import type { SentContactName } from "../../../domain/model/slots/contact.ts";
import { requireCommand } from "../../run/command-process.ts";
import { findPerson, nameJob } from "../../run/job-name.ts";
import { LicenseClient } from "../../run/license-client.ts";
import { EXIT_RUN_MISUSE } from "../../run/run-failure.ts";
import { runOptions } from "../../run/run-options.ts";
import { runWithSlot } from "../../run/run-with-slot.ts";

export const runCommand = defineWrapper({
  name: "run",
  isCommon: true,
  summary: "hold a slot while a command runs",
  options: runOptions,
  arguments: ["-- COMMAND [ARGS]"],
  wrapsProgram: { misuseExitCode: EXIT_RUN_MISUSE },
  examples: [
    "berth run --product CAD -- make",
    "berth run --product CAD --wait 2h -- ./simulate model.dat",
    "berth run --product CAD --server https://berth.plant7.lan:8443 --ca-file ca.pem -- make",
  ],
  run(values, { program, environment }) {
    const { product, wait, server, user, exactUser, licenseId, login, onLoss, quiet } = values;
    const [name] = program;
    if (name === undefined) {
      throw new Misuse("a command is required", `berth run --product ${product} -- COMMAND [ARGS]`);
    }
    const identity = nameJob(
      readPerson(user, login, exactUser) ?? findPerson(environment),
      exactUser,
    );
    const contact: Readonly<Record<SentContactName, string>> = {
      os_hostname: identity.host,
      ip_local: identity.address,
      user_info: `berth run ${basename(name)}`.slice(0, MAX_INFO),
    };
    const client = new LicenseClient({
      servers: server,
      fields: {
        product,
        user: identity.user,
        ...contact,
        ...(licenseId !== null && { license_id: String(licenseId) }),
      },
      login: readLogin(values),
      tls: readCertificates(values),
    });
    requireCommand(name, environment);
    return runWithSlot(client, {
      command: program,
      environment,
      product,
      user: identity.user,
      wait: wait ?? 0,
      onLoss,
      isQuiet: quiet,
    });
  },
});

const MAX_INFO = 200;

function readPerson(user: string | null, login: string | null, isExact: boolean): string | null {
  const person = user ?? login;
  if (isExact && person === null) {
    throw new Misuse("--exact-user requires --user", "add --user NAME");
  }
  if (person === "") throw new Misuse("--user requires a name", "for example --user ada");
  if (!isExact && person?.includes("#") === true) {
    throw new Misuse(
      "--user must not contain #, which separates the person from what is added",
      "name the person alone; to use the name as it is, add --exact-user",
    );
  }
  return person;
}

interface LoginFlags {
  readonly server: readonly string[];
  readonly login: string | null;
  readonly passwordFile: string | null;
  readonly allowPlainPassword: boolean;
}

function readLogin({ server, login, passwordFile, allowPlainPassword }: LoginFlags) {
  if (login === null && passwordFile === null) return null;
  if (login === null || passwordFile === null) {
    throw new Misuse(
      "--login and --password-file require each other",
      "berth run --login ada --password-file FILE",
    );
  }
  const plain = server.find(isUnencrypted);
  if (plain !== undefined && !allowPlainPassword) {
    throw new Misuse(
      `the password would be sent without encryption to ${plain}`,
      "name the TLS address of the server, or add --allow-plain-password",
    );
  }
  const [password = ""] = readText(passwordFile, "a password").split(/\r?\n/);
  return { name: login, password };
}

/** Whether what is sent to the server leaves this machine without encryption. */
function isUnencrypted(server: string): boolean {
  const { protocol, hostname } = new URL(server);
  const host = hostname.replace(/^\[|\]$/g, "");
  return protocol === "http:" && host !== "localhost" && !isLoopback(host);
}

interface CertificateFlags {
  readonly server: readonly string[];
  readonly caFile: string | null;
  readonly certFile: string | null;
}

/** As the option `ca` of the clients, --ca-file takes the place of the CAs of this machine. */
const readCertificates = ({ server, caFile, certFile }: CertificateFlags) => ({
  ca: caFile === null ? readTrustedCas(server) : [readText(caFile, "a certificate")],
  certificate: certFile === null ? null : readText(certFile, "a certificate"),
});

/** The runtime alone trusts the CAs that it contains, and not those of this machine. */
const readTrustedCas = (servers: readonly string[]): string[] =>
  servers.some((url) => url.startsWith("https:"))
    ? [...getCACertificates("default"), ...getCACertificates("system")]
    : [];

const readText = (path: string, what: string): string =>
  new TextDecoder().decode(readInputBytes(path, what));
