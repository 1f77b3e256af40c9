import type { VendorReply } from "../../http/routes/trust/trust.ts";
import { admin, unwrapReply } from "../api.ts";

/** A vendor that the operator can trust after comparing the fingerprint. */
export interface VendorOffer {
  readonly kind: "trust";
  readonly document: string;
  readonly vendor: VendorReply;
  /** The file is an update of a trusted vendor. */
  readonly isAlreadyTrusted: boolean;
}

/** The server reads it: over plain HTTP, browsers have no crypto API for the fingerprint. */
export async function readTrustDocument(document: string): Promise<VendorOffer> {
  const vendor = await unwrapReply(admin.trust.show.post({ license: document }));
  const trusted = await unwrapReply(admin.trust.get());
  const isAlreadyTrusted = trusted.some(({ vendor: id }) => id === vendor.vendor);
  return { kind: "trust", document, vendor, isAlreadyTrusted };
}
