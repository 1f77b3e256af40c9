// A request of an appliance that exists only in it: for tests of a desk that need many of them.
import { computeHardwareId, type HashedComponent } from "../../src/license/documents/hardware.ts";
import { generateKey, keyIdOf, publicPart } from "../../src/license/documents/keys.ts";
import { signLicenseRequest } from "../../src/license/requests/request.ts";
import { randomBytes } from "../../src/platform/crypto/random.ts";

/** Returns the signed document. */
export async function makeSignedRequest(product: string, licenseKey: string): Promise<string> {
  const key = await generateKey();
  const [request_id, sum] = [randomBytes(16), randomBytes(32)];
  const hardware = (["machine_id", "product_uuid", "mac"] as const).map(
    (kind): HashedComponent => ({ kind, digest: randomBytes(32) }),
  );
  const audit = { seq: 5, sum };
  const request = {
    request_id,
    nonce: randomBytes(16),
    created_at: new Date().toISOString(),
    product,
    license_key: licenseKey,
    appliance: keyIdOf(key),
    jwk: publicPart(key),
    hardware_id: computeHardwareId(hardware),
    hardware: [...hardware],
    licenses: [],
    audit,
    heads: [{ request_id, audit_seq: audit.seq, sum }],
    trust: [],
  };
  return signLicenseRequest(request, key);
}
