import { fingerprintOf } from "../license/keys.ts";
import { verifyTrust, type Vendor } from "../license/trust.ts";
import { Failure } from "./command.ts";

/** What a trust document says, for a person to look at before it is believed. */
export async function readTrust(text: string): Promise<Vendor & { readonly fingerprint: string }> {
  const verified = await verifyTrust(text.trim(), () => null);
  if (!verified.ok) throw new Failure(`the file ${verified.fault}`, "ask the vendor for trust.jwt");
  const [key] = verified.value.keys;
  return { ...verified.value, fingerprint: key === undefined ? "" : fingerprintOf(key) };
}
