import type { VendorReply } from "../../http/routes/trust.ts";
import { admin, unwrapReply } from "../api.ts";

/** A vendor to be trusted by a person, who compares the fingerprint first. */
export interface VendorOffer {
  readonly kind: "trust";
  readonly document: string;
  readonly vendor: VendorReply;
  /** Trusted already: the file brings what is new. */
  readonly isAlreadyTrusted: boolean;
}

/** The server reads it: at a plain address no browser computes a fingerprint. */
export async function readTrustDocument(document: string): Promise<VendorOffer> {
  const vendor = await unwrapReply(admin.trust.show.post({ license: document }));
  const trusted = await unwrapReply(admin.trust.get());
  const isKnown = trusted.some((one) => one.vendor === vendor.vendor);
  return { kind: "trust", document, vendor, isAlreadyTrusted: isKnown };
}
