import { join } from "node:path";
import { verifyTrust, type Vendor } from "../license/trust.ts";
import type { Disk } from "../platform/disk.ts";
import { Ledger } from "./ledger.ts";
import { DeskRefused } from "./refusal.ts";

export const TRUST = "trust.jwt";

/** Documents after the first, in the order they follow on one another. */
export const successorName = (version: number): string => `successor-${version}.jwt`;

/** What a desk holds besides its key: read without a passphrase. */
export interface DeskRecords {
  readonly vendor: Vendor;
  readonly ledger: Ledger;
}

/** The vendor by its newest document, and the names of the files that lead there, oldest first. */
export interface TrustChain {
  readonly vendor: Vendor;
  readonly files: readonly string[];
}

export const openRecords = async (disk: Disk, folder: string): Promise<DeskRecords> => ({
  vendor: (await readTrustChain(disk, folder)).vendor,
  ledger: await Ledger.open(disk, folder),
});

/** Each document is signed with a key that the one before it names. */
export async function readTrustChain(disk: Disk, folder: string): Promise<TrustChain> {
  const read = (file: string): string | null => {
    const bytes = disk.read(join(folder, file));
    return bytes === null ? null : new TextDecoder().decode(bytes).trim();
  };
  const trust = read(TRUST);
  if (trust === null)
    throw new DeskRefused(`${folder} is not a desk`, "berth vendor init makes one");
  const first = await verifyTrust(trust, () => null);
  if (!first.ok) throw new DeskRefused(`${join(folder, TRUST)} ${first.fault}`, "");
  let vendor = first.value;
  const files = [TRUST];
  for (;;) {
    const file = successorName(vendor.version + 1);
    const next = read(file);
    if (next === null) return { vendor, files };
    const before = vendor;
    const succeeded = await verifyTrust(next, () => before);
    if (!succeeded.ok) throw new DeskRefused(`${join(folder, file)} ${succeeded.fault}`, "");
    vendor = succeeded.value;
    files.push(file);
  }
}
