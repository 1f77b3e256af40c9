import { hostname, networkInterfaces } from "node:os";
import { realDisk } from "../../platform/files/disk.ts";
import { normalizeAddress } from "../../platform/network/networks.ts";
import { Misuse } from "../frame/options.ts";
import { isPermitted, readNameConstraints } from "../../platform/crypto/name-constraints.ts";
import { Failure } from "../frame/command.ts";
import type { SiteCa } from "./site-ca.ts";
import { printWarning } from "../frame/terminal.ts";
import { tlsPaths } from "./tls-files.ts";

/** The names and addresses by which clients may reach this machine. */
function machineNames(): string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((all) =>
    (all ?? []).map(({ address }) => address),
  );
  return [hostname(), "localhost", ...addresses].map(normalizeName);
}

const normalizeName = (name: string): string => normalizeAddress(name) ?? name.toLowerCase();

function normalizeNames(requested: readonly string[]): string[] {
  const names = requested.map(normalizeName);
  const invalid = names.find((name) => normalizeAddress(name) === null && !HOST_NAME.test(name));
  if (invalid === undefined) return names;
  throw new Misuse(`${invalid} is not a valid server name`, "for example berth.plant7.lan");
}

const HOST_NAME = /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/;

/** For a new CA: the names of --names or else of the previous CA, and those of this machine. */
export function chooseServerNames(requested: readonly string[], folder: string): string[] {
  const normalized = normalizeNames(requested);
  const names = normalized.length > 0 ? normalized : previousNames(folder);
  return [...new Set([...names, ...machineNames().filter(isValidName)])];
}

/** A machine may have a name that is not valid in a certificate. */
const isValidName = (name: string): boolean =>
  normalizeAddress(name) !== null || HOST_NAME.test(name);

function previousNames(folder: string): readonly string[] {
  const before = realDisk.read(tlsPaths(folder).caCertificate);
  if (before === null) return [];
  try {
    return readNameConstraints(new TextDecoder().decode(before))?.names ?? [];
  } catch {
    return [];
  }
}

/** For an existing CA: everything that it may sign for, and nothing else. */
export function choosePermittedNames(names: readonly string[], ca: SiteCa): string[] {
  const requested = normalizeNames(names);
  const permitted = ca.limits;
  const machine = machineNames().filter(isValidName);
  const refused = requested.filter((name) => !isPermitted(permitted, name));
  if (refused.length > 0) {
    throw new Failure(
      `the site CA cannot sign for ${refused.join(", ")}`,
      "create a new CA with berth tls init --new-ca and all names in --names, then distribute it",
    );
  }
  const omitted = machine.filter((name) => !isPermitted(permitted, name));
  if (omitted.length > 0) {
    printWarning(
      `not in the certificate, because the site CA cannot sign for them: ${omitted.join(", ")}; --new-ca creates a CA that can`,
    );
  }
  const { names: permittedNames, addresses } = permitted;
  const signable = machine.filter((name) => isPermitted(permitted, name));
  return [...new Set([...requested, ...permittedNames, ...(addresses ?? []), ...signable])];
}
