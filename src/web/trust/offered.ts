import type { VendorReply } from "../../http/routes/trust.ts";
import { admin, done } from "../api.ts";

/** A vendor to be trusted by a person, who compares the fingerprint first. */
export interface Offered {
  readonly kind: "trust";
  readonly document: string;
  readonly vendor: VendorReply;
  /** Trusted already: the file brings what is new. */
  readonly isKnown: boolean;
}

/** The server reads it: at a plain address no browser computes a fingerprint. */
export async function lookAtTrust(document: string): Promise<Offered> {
  const vendor = await done(admin.trust.show.post({ license: document }));
  const trusted = await done(admin.trust.get());
  const isKnown = trusted.some((one) => one.vendor === vendor.vendor);
  return { kind: "trust", document, vendor, isKnown };
}
