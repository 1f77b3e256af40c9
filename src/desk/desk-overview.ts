import { instant, SECOND, type Instant } from "../domain/time.ts";
import { fingerprintOf, keyIdOf } from "../license/keys.ts";
import type { Vendor } from "../license/trust.ts";
import type { Disk } from "../platform/disk.ts";
import { rfc3339 } from "../platform/rfc3339.ts";
import { Desk } from "./desk.ts";
import { findLicensesToReissue, listLicenses, filterNewestSerials } from "./license-list.ts";
import { loadDeskRecords } from "./desk-records.ts";

/** What a desk is, all of it known without its passphrase. */
export async function describeDesk(disk: Disk, folder: string, now: Instant) {
  const records = await loadDeskRecords(disk, folder);
  const { vendor, ledger, chain } = records;
  const signed = ledger.trustEntries();
  const keys = vendor.keys.map((key, place) => ({
    key: keyIdOf(key),
    fingerprint: fingerprintOf(key),
    /** Null: since the desk was made, or since an older version that left no line of it. */
    current_since: signed.find((one) => one.key === keyIdOf(key))?.at ?? null,
    ...stateOf(vendor, keyIdOf(key), place),
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
    notes: records.notes,
  };
}

interface KeyState {
  readonly state: "current" | "earlier" | "retired";
  /** Only of a retired key; null: as soon as a site knows of it. */
  readonly retired_from?: string | null;
}

function stateOf({ retired = [] }: Vendor, key: string, place: number): KeyState {
  const ended = retired.find((one) => one.key === key);
  if (ended === undefined) return { state: place === 0 ? "current" : "earlier" };
  const { from } = ended;
  return {
    state: "retired",
    retired_from: from === undefined ? null : rfc3339(instant(from * SECOND)),
  };
}
