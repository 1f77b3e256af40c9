import { hostname, networkInterfaces } from "node:os";
import { realDisk } from "../platform/disk.ts";
import { normalizeAddress } from "../platform/networks.ts";
import { Misuse } from "../platform/options.ts";
import { isPermitted, readNameConstraints } from "../platform/x509.ts";
import { Failure, getListFlag, type FlagValues } from "./command.ts";
import type { SiteCa } from "./site-ca.ts";
import { printWarning } from "./terminal.ts";
import { tlsPaths } from "./tls-files.ts";

/** What clients may call this machine by, unless they are told something else. */
function machineNames(): string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((all) =>
    (all ?? []).map(({ address }) => address),
  );
  return [hostname(), "localhost", ...addresses].map(normalizeName);
}

const normalizeName = (name: string): string => normalizeAddress(name) ?? name.toLowerCase();

function readNamesFlag(given: FlagValues): string[] {
  const names = getListFlag(given, "names").map(normalizeName);
  const wrong = names.find((name) => normalizeAddress(name) === null && !HOST_NAME.test(name));
  if (wrong === undefined) return names;
  throw new Misuse(`${wrong} is not a valid server name`, "for example berth.plant7.lan");
}

const HOST_NAME = /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/;

/** For a new CA: what was said; else what the one before was made for. */
export function chooseServerNames(given: FlagValues, folder: string): string[] {
  const named = readNamesFlag(given);
  const names = named.length > 0 ? named : previousNames(folder);
  return [...new Set([...names, ...machineNames().filter(isUsable)])];
}

/** A machine may be called what no certificate can be made for. */
const isUsable = (name: string): boolean => normalizeAddress(name) !== null || HOST_NAME.test(name);

function previousNames(folder: string): readonly string[] {
  const before = realDisk.read(tlsPaths(folder).caCertificate);
  if (before === null) return [];
  try {
    return readNameConstraints(new TextDecoder().decode(before))?.names ?? [];
  } catch {
    return [];
  }
}

/** For a CA that is kept: everything it may sign for, and no more. */
export function choosePermittedNames(given: FlagValues, ca: SiteCa): string[] {
  const named = readNamesFlag(given);
  const permitted = readNameConstraints(ca.authority.certificate);
  const own = machineNames().filter(isUsable);
  if (permitted === null) return [...new Set([...named, ...own])];
  const refused = named.filter((name) => !isPermitted(permitted, name));
  if (refused.length > 0) {
    throw new Failure(
      `the site CA cannot sign for ${refused.join(", ")}`,
      "create a new CA with berth tls init --new-ca and all names in --names, then distribute it",
    );
  }
  const left = own.filter((name) => !isPermitted(permitted, name));
  if (left.length > 0) {
    printWarning(
      `not in the certificate, because the site CA cannot sign for them: ${left.join(", ")}; --new-ca creates a CA that can`,
    );
  }
  const { names, addresses } = permitted;
  const mine = own.filter((name) => isPermitted(permitted, name));
  return [...new Set([...named, ...names, ...(addresses ?? []), ...mine])];
}
