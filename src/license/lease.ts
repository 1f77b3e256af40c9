import type { Instant } from "../domain/time.ts";
import { signDocument } from "./document.ts";
import { keyIdOf, type PrivateKey } from "./keys.ts";

/** One user's slot, for the application to check by itself. */
export interface Lease {
  readonly user: string;
  readonly product: string;
  readonly licenseId: number;
  /** SHA-256 of the license document: the next link of the chain. */
  readonly licenseHash: string;
  readonly serial: number;
  readonly slot: number;
  readonly issuedAt: Instant;
  readonly expiresAt: Instant;
  readonly hostname: string;
  readonly isBorrowed: boolean;
  /** The application's own; a lease without it may have been made for another machine. */
  readonly nonce: string | null;
}

export function signLease(lease: Lease, key: PrivateKey): Promise<string> {
  const claims = {
    iss: keyIdOf(key),
    sub: lease.user,
    aud: lease.product,
    license_id: lease.licenseId,
    lic: lease.licenseHash,
    serial: lease.serial,
    jti: String(lease.slot),
    iat: Math.floor(lease.issuedAt / 1_000),
    // Rounded down: a lease never outlives its slot, nor its license.
    exp: Math.floor(lease.expiresAt / 1_000),
    host: lease.hostname,
    borrowed: lease.isBorrowed,
    nonce: lease.nonce,
  };
  return signDocument("lease", claims, key);
}
