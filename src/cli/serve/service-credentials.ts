import { homedir } from "node:os";
import { join } from "node:path";
import type { LogPasswordSources } from "../../operations/pair/log-password.ts";
import { SERVICE_PAIR_LOG_PASSWORD, type Environment } from "../../platform/environment.ts";
import { realDisk } from "../../platform/files/disk.ts";

/** Reads a credential that the unit loads: a file that only root may read, passed on by systemd. */
export function readSystemdCredential(name: string): Uint8Array | null {
  const folder = process.env["CREDENTIALS_DIRECTORY"];
  return folder === undefined ? null : realDisk.read(join(folder, name));
}

/** Without the line break that an editor adds; empty means not set. */
export const readSystemdCredentialText = (name: string): string | null =>
  toText(readSystemdCredential(name));

const toText = (bytes: Uint8Array | null): string | null =>
  bytes === null ? null : new TextDecoder().decode(bytes).trim() || null;

/**
 * Where the password of a pair's database is, besides the setting. A command gets no credential
 * from systemd: root reads its file, and must do so before it becomes the owner of the data folder.
 */
export function readPasswordSources(
  environment: Environment,
  serviceFile: string = SERVICE_PAIR_LOG_PASSWORD,
): Omit<LogPasswordSources, "passwordFile"> {
  const isRoot = process.geteuid?.() === 0;
  return {
    passwordCredential:
      readSystemdCredentialText("berth-pair-log-password") ??
      (isRoot ? toText(realDisk.read(serviceFile)) : null),
    pgpassFile: environment["PGPASSFILE"] ?? findPgpass(),
  };
}

/** A minimal container has neither HOME nor an entry of the user in /etc/passwd. */
function findPgpass(): string | null {
  try {
    return join(homedir(), ".pgpass");
  } catch {
    return null;
  }
}
