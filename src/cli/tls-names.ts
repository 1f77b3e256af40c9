import { hostname, networkInterfaces } from "node:os";
import { realDisk } from "../platform/disk.ts";
import { normalAddress } from "../platform/networks.ts";
import { Misuse } from "../platform/options.ts";
import { isPermitted, permittedBy } from "../platform/x509.ts";
import { Failure, listOf, type Given } from "./command.ts";
import type { SiteCa } from "./site-ca.ts";
import { printWarning } from "./terminal.ts";
import { tlsPaths } from "./tls-files.ts";

/** What clients may call this machine by, unless they are told something else. */
function ownNames(): string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((all) =>
    (all ?? []).map(({ address }) => address),
  );
  return [hostname(), "localhost", ...addresses].map(normalName);
}

const normalName = (name: string): string => normalAddress(name) ?? name.toLowerCase();

function givenNames(given: Given): string[] {
  const names = listOf(given, "names").map(normalName);
  const wrong = names.find((name) => normalAddress(name) === null && !HOST_NAME.test(name));
  if (wrong === undefined) return names;
  throw new Misuse(`${wrong} is not a valid server name`, "for example berth.plant7.lan");
}

const HOST_NAME = /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/;

/** For a new CA: what was said; else what the one before was made for. */
export function namesOf(given: Given, folder: string): string[] {
  const named = givenNames(given);
  const names = named.length > 0 ? named : namesBefore(folder);
  return [...new Set([...names, ...ownNames().filter(isUsable)])];
}

/** A machine may be called what no certificate can be made for. */
const isUsable = (name: string): boolean => normalAddress(name) !== null || HOST_NAME.test(name);

function namesBefore(folder: string): readonly string[] {
  const before = realDisk.read(tlsPaths(folder).caCertificate);
  if (before === null) return [];
  try {
    return permittedBy(new TextDecoder().decode(before))?.names ?? [];
  } catch {
    return [];
  }
}

/** For a CA that is kept: everything it may sign for, and no more. */
export function permittedNames(given: Given, ca: SiteCa): string[] {
  const named = givenNames(given);
  const permitted = permittedBy(ca.authority.certificate);
  const own = ownNames().filter(isUsable);
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
