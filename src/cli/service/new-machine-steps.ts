import { hasAdminCredential, readAccessList } from "../../operations/access/access-list.ts";
import { realDisk } from "../../platform/files/disk.ts";
import { getCaFolder } from "../tls/site-ca.ts";
import { tlsPaths } from "../tls/tls-files.ts";

/**
 * What is left to do on a machine that a site was moved or restored to. Clients trust the site CA
 * of the machine before, whose key is in no file that `move out` or `backup` writes.
 */
export function listNewMachineSteps(folder: string): string[] {
  const hasCertificate = hasTlsFiles(folder);
  return [
    hasCertificate
      ? "Clients that use TLS trust the site CA of the other machine, and refuse the one that is here."
      : "Clients that use TLS trust the site CA of the other machine, which is not here.",
    "To keep that CA: berth tls init --ca-dir DIR, with a copy of the CA's folder on that machine.",
    "Without its key: give tls/ca.pem of this machine to every client (berth tls init prints how).",
    ...(lacksCredential(folder)
      ? ["Tokens and passwords are not here either: create one with berth admin token."]
      : []),
    "Settings and cloud credentials of the other machine have to be set here again.",
  ];
}

/** What to take along to another machine, as it is not in the file; empty: nothing. */
export function describeCaToTake(folder: string): string[] {
  if (!hasTlsFiles(folder)) return [];
  const { path } = getCaFolder({ data: folder, caDir: null });
  return [
    `Take along, too:  ${path}, the key of the site CA: without it, every TLS client refuses the`,
    "                  new host; there, berth tls init --ca-dir DIR makes a certificate with it",
  ];
}

const hasTlsFiles = (folder: string): boolean =>
  realDisk.stat(tlsPaths(folder).caCertificate) !== null;

function lacksCredential(folder: string): boolean {
  try {
    return !hasAdminCredential(readAccessList(folder));
  } catch {
    // A damaged list is reported by the start; the move or restore succeeded nevertheless.
    return false;
  }
}
