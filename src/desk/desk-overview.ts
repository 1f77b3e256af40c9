import { instant, SECOND, type Instant } from "../domain/time.ts";
import { fingerprintOf, keyIdOf } from "../license/documents/keys.ts";
import type { Vendor } from "../license/documents/trust.ts";
import type { Disk } from "../platform/files/disk.ts";
import { rfc3339 } from "../platform/rfc3339.ts";
import { Desk } from "./desk.ts";
import { findLicensesToReissue, listLicenses, filterNewestSerials } from "./ledger/license-list.ts";
import { loadDeskRecords } from "./desk-records.ts";
import { listAcceptedSplits } from "./issuing/pair-continuity.ts";

/** Describes a desk; needs no passphrase. */
export async function describeDesk(disk: Disk, folder: string, now: Instant) {
  const records = await loadDeskRecords(disk, folder);
  const { vendor, ledger, chain } = records;
  const trustEntries = ledger.trustEntries();
  const keys = vendor.keys.map((key, index) => ({
    key: keyIdOf(key),
    fingerprint: fingerprintOf(key),
    /** As applications need it to check a lease. */
    public_key: key.x,
    /** Null: since the desk was created, or its line is lost. */
    current_since: trustEntries.find((entry) => entry.key === keyIdOf(key))?.at ?? null,
    ...stateOf(vendor, keyIdOf(key), index),
  }));
  const licenses: Record<string, number> = {};
  for (const { state } of filterNewestSerials(listLicenses(ledger, now))) {
    licenses[state] = (licenses[state] ?? 0) + 1;
  }
  return {
    vendor: vendor.vendor,
    name: vendor.name,
    products: vendor.products,
    version: vendor.version,
    documents: chain.files,
    fingerprint: keys[0]?.fingerprint ?? "",
    encrypted: await Desk.needsPassphrase(disk, folder),
    keys,
    licenses,
    to_reissue: findLicensesToReissue(records, now).map(({ license_id }) => license_id),
    splits: listAcceptedSplits(records),
    notes: records.notes,
  };
}

interface KeyState {
  readonly state: "current" | "earlier" | "retired";
  /** Only for a retired key; null: as soon as a site has the document that retires it. */
  readonly retired_from?: string | null;
}

function stateOf({ retired = [] }: Vendor, key: string, index: number): KeyState {
  const retirement = retired.find((entry) => entry.key === key);
  if (retirement === undefined) return { state: index === 0 ? "current" : "earlier" };
  const { from } = retirement;
  return {
    state: "retired",
    retired_from: from === undefined ? null : rfc3339(instant(from * SECOND)),
  };
}
