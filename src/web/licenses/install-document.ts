import { signal } from "@preact/signals";
import type { VendorReply } from "../../http/routes/trust/trust.ts";
import { admin, unwrapReply, ApiError, v4 } from "../api.ts";
import { wrongDocument } from "./add-license-texts.ts";
import { readTrustDocument, type VendorOffer } from "../trust/vendor-offer.ts";
import { changesOf } from "./changes.ts";
import { documentKindOf } from "./documents.ts";
import { loadLicenseData } from "./license-data.ts";
import type { License } from "./license.ts";

/** The outcome of installing a document. */
export type InstallOutcome =
  | { readonly kind: "new"; readonly license: License }
  | { readonly kind: "same"; readonly license: License }
  | { readonly kind: "renewed"; readonly license: License; readonly changes: readonly string[] }
  | { readonly kind: "refused"; readonly code: string; readonly message: string }
  | VendorOffer
  | { readonly kind: "trusted"; readonly vendor: VendorReply }
  | { readonly kind: "wrong-document"; readonly message: string };

/** A license that waits for its vendor's trust file; null: none. */
const pendingLicense = signal<string | null>(null);

/** Installs a license, reads a trust file, or says where another document belongs. */
export async function installDocument(text: string): Promise<InstallOutcome> {
  const outcome = await tryToInstall(text);
  const isWaiting = outcome.kind === "refused" && WAITS_FOR_TRUST.has(outcome.code);
  if (outcome.kind !== "trust") pendingLicense.value = isWaiting ? text : null;
  return outcome;
}

const WAITS_FOR_TRUST = new Set(["untrusted_vendor", "trust_outdated"]);

/** The outcome for a vendor that was just trusted: a license that waited for it is installed. */
export async function installPending(vendor: VendorReply): Promise<InstallOutcome> {
  await loadLicenseData();
  const { value: text } = pendingLicense;
  return text === null ? { kind: "trusted", vendor } : installDocument(text);
}

async function tryToInstall(text: string): Promise<InstallOutcome> {
  const kind = documentKindOf(text);
  try {
    if (kind === "trust") return await readOrUpdateTrust(text);
    // For a text that is no document at all, the server has the best message.
    if (kind === null || kind === "license") return await installLicense(text);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 0) throw error;
    return { kind: "refused", code: error.code, message: error.message };
  }
  return { kind: "wrong-document", message: wrongDocument[kind] };
}

/** The root of a trusted vendor signed it: nobody has to compare the fingerprint again. */
async function readOrUpdateTrust(text: string): Promise<InstallOutcome> {
  const offer = await readTrustDocument(text);
  if (!offer.isAlreadyTrusted) return offer;
  return installPending(await unwrapReply(admin.trust.add.post({ license: text })));
}

async function installLicense(document: string): Promise<InstallOutcome> {
  const before = await readInstalledLicenses();
  const license = await unwrapReply(v4.license.upload.post({ license: document }));
  return compareWithInstalled(before, license);
}

/** The installed licenses, with the serials that distinguish a renewal from the same file. */
export interface InstalledLicenses {
  readonly licenses: readonly License[];
  readonly serials: ReadonlyMap<number, number>;
}

export async function readInstalledLicenses(): Promise<InstalledLicenses> {
  const [licenses, status] = await Promise.all([
    unwrapReply(admin.licenses.get()),
    unwrapReply(admin.status.get()),
  ]);
  const serials = status.licenses.map(({ license_id, serial }) => [license_id, serial] as const);
  return { licenses, serials: new Map(serials) };
}

export async function compareWithInstalled(
  before: InstalledLicenses,
  license: License,
): Promise<InstallOutcome> {
  void loadLicenseData();
  const old = before.licenses.find(({ id }) => id === license.id);
  if (old === undefined) return { kind: "new", license };
  const { serials } = await readInstalledLicenses();
  return serials.get(license.id) === before.serials.get(license.id)
    ? { kind: "same", license }
    : { kind: "renewed", license, changes: changesOf(old, license) };
}
