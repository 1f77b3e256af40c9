import type { BaseEvent } from "../event-base.ts";
import type { Grant, OpenActivation, OpenRequest, Tombstone, TrustedVendor } from "../state.ts";
import type { Terms } from "./terms.ts";

/**
 * Licenses of this vendor are accepted from here on; for a vendor already trusted: its newer
 * document.
 */
export interface VendorTrusted extends BaseEvent<"VendorTrusted"> {
  readonly vendor: TrustedVendor;
  readonly peer: string;
}

export interface VendorDistrusted extends BaseEvent<"VendorDistrusted"> {
  readonly vendor: string;
  readonly peer: string;
}

/** A request was created; `head` is the position of the audit chain before it. */
export interface RequestMade extends BaseEvent<"RequestMade"> {
  readonly request: OpenRequest;
  readonly head: { readonly auditSeq: number; readonly auditSum: string };
  readonly peer: string;
}

/** An activation code was created, to be read out to the vendor. */
export interface ActivationMade extends BaseEvent<"ActivationMade"> {
  readonly activation: OpenActivation;
  readonly peer: string;
}

/** A request or an activation was cancelled by the site; an answer to it is refused. */
export interface RequestCancelled extends BaseEvent<"RequestCancelled"> {
  /** The id of the request, or the nonce of the activation. */
  readonly request: string;
  readonly product: string | null;
  readonly licenseKey: string | null;
  readonly peer: string;
}

/** A license was installed, or replaced by a newer one with the same id. */
export interface LicenseInstalled extends BaseEvent<"LicenseInstalled"> {
  readonly license: number;
  readonly terms: Terms;
  readonly grant: Grant;
  /** What it changed, if it replaced a license; absent: it is new. */
  readonly changes?: readonly string[];
  /** The request it answers, which is used up by this; null: a renewal without a request. */
  readonly request: string | null;
  /** The activation it confirms, which is used up by this; null: none. */
  readonly activation: string | null;
  readonly peer: string;
}

/** The license was returned to the vendor permanently. */
export interface LicenseRemoved extends BaseEvent<"LicenseRemoved"> {
  readonly license: number;
  readonly tombstone: Tombstone;
  readonly peer: string;
}
