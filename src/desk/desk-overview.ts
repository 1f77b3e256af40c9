import type { Instant } from "../domain/time.ts";
import { fingerprintOf } from "../license/documents/keys.ts";
import type { Disk } from "../platform/files/disk.ts";
import { rfc3339 } from "../platform/rfc3339.ts";
import { listIssuingKeys } from "./key-file.ts";
import { findLicensesToReissue, listLicenses, filterNewestSerials } from "./ledger/license-list.ts";
import {
  describeEndOfKey,
  endOfKey,
  isKeyEncrypted,
  loadDeskRecords,
  stateOfKey,
} from "./desk-records.ts";
import { listAcceptedSplits } from "./issuing/pair-continuity.ts";

/** Describes a desk; needs no passphrase. */
export async function describeDesk(disk: Disk, folder: string, now: Instant) {
  const records = await loadDeskRecords(disk, folder);
  const { vendor, ledger, keys } = records;
  const licenses: Record<string, number> = {};
  for (const { state } of filterNewestSerials(listLicenses(ledger, now))) {
    licenses[state] = (licenses[state] ?? 0) + 1;
  }
  const certified = new Set(keys.map(({ id }) => id));
  return {
    vendor: vendor.vendor,
    name: vendor.name,
    products: vendor.products,
    version: vendor.version,
    /** Of the root, to compare by telephone. It never changes. */
    fingerprint: fingerprintOf(vendor.jwk),
    /** Of the root, as applications need it to check a lease. */
    public_key: vendor.jwk.x,
    encrypted: isKeyEncrypted(disk, folder, records),
    keys: keys.map((key) => ({
      key: key.id,
      since: key.since,
      until: rfc3339(endOfKey(key)),
      state: stateOfKey(records, key, now),
      /** As applications need it to refuse the key. */
      public_key: key.certificate.cnf.jwk.x,
    })),
    /** Keys that wait for their certificate. */
    uncertified: listIssuingKeys(disk, folder).filter((id) => !certified.has(id)),
    retired: vendor.retired,
    licenses,
    to_reissue: findLicensesToReissue(records, now).map(({ license_id }) => license_id),
    splits: listAcceptedSplits(records),
    notes: [...records.notes, ...describeEndOfKey(records, now)],
  };
}
