import type { Instant } from "../../domain/time.ts";
import { signDocument } from "./document.ts";
import { keyIdOf, type PrivateKey } from "./keys.ts";

/** One user's slot, signed so that the application can verify it offline. */
export interface Lease {
  readonly user: string;
  readonly product: string;
  readonly licenseId: number;
  /** SHA-256 of the license document: links the lease to the vendor's signature. */
  readonly licenseHash: string;
  readonly serial: number;
  readonly slot: number;
  readonly issuedAt: Instant;
  readonly expiresAt: Instant;
  readonly hostname: string;
  readonly isBorrowed: boolean;
  /** Chosen by the application; a lease without one could have been issued to another machine. */
  readonly nonce: string | null;
  /** Of the pair whose leader signed it; null: one host serves alone. */
  readonly epoch: number | null;
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
    // Rounded down: a lease must not outlive its slot or its license.
    exp: Math.floor(lease.expiresAt / 1_000),
    host: lease.hostname,
    borrowed: lease.isBorrowed,
    nonce: lease.nonce,
    ...(lease.epoch !== null && { epoch: lease.epoch }),
  };
  return signDocument("lease", claims, key);
}
