// Finds the programs of PostgreSQL, or installs them.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { installPackages } from "../support/suite-harness.ts";

const DEBIAN_FOLDER = "/usr/lib/postgresql";
const MIN_VERSION = 15;

/** Where initdb, pg_ctl and the others are; null: there is no version that Berth supports. */
function findFolder(): string | null {
  const versions = existsSync(DEBIAN_FOLDER) ? readdirSync(DEBIAN_FOLDER).map(Number) : [];
  const newest = Math.max(0, ...versions.filter((version) => version >= MIN_VERSION));
  return newest === 0 ? null : join(DEBIAN_FOLDER, String(newest), "bin");
}

export function postgresFolder(): string {
  const folder = findFolder();
  if (folder !== null) return folder;
  throw new Error("PostgreSQL 15 or newer is missing: run apt-get install postgresql");
}

/** Installs PostgreSQL if it is missing and can be installed. */
export function installPostgres(): void {
  if (findFolder() !== null) return;
  if (process.getuid?.() === 0 && Bun.which("apt-get") !== null) installPackages(["postgresql"]);
  postgresFolder();
}
