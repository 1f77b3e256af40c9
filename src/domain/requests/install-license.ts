import { makeDecision, type Decision } from "../model/decision.ts";
import type { Fault, ReturnedLicense } from "../model/fault.ts";
import { err, ok, type Result } from "../result.ts";
import type { LicensedHost } from "../model/pair/licensed-host.ts";
import type { Grant, License, State, Tombstone } from "../model/state.ts";
import type { Instant } from "../time.ts";
import { describeHostDifference, describeTermsDifference } from "../licenses/terms-difference.ts";
import type { Terms } from "../model/licenses/terms.ts";
import { findKeyFault, hasProduct, isKeyRetired, type SigningKey } from "../trust/trust.ts";

/** A license whose signature, appliance and form were checked. */
export interface CheckedLicense {
  readonly license: number;
  readonly terms: Terms;
  readonly grant: SignedGrant;
  /** The key that signed it. */
  readonly signer: SigningKey;
  readonly peer: string;
}

/** What the vendor signed, which names hardware only by its id. */
export interface SignedGrant extends Omit<Grant, "hardware" | "hosts"> {
  /** The hardware ids of both hosts, for a license of two; absent: it is for one host. */
  readonly hostIds?: readonly string[];
}

/** The hardware that a license is bound to. */
type BoundHardware = Pick<Grant, "hardware" | "hosts">;

/** The request or activation of this appliance that a license answers. */
export interface AnsweredQuestion {
  readonly request: string | null;
  readonly activation: string | null;
  /** The hardware list that was sent with it; a fault if there is none for this license. */
  readonly hardware: Result<BoundHardware, Fault>;
  /** Added to the refusal of an old serial. */
  readonly returned?: ReturnedLicense;
}

export interface InstalledLicense {
  readonly license: number;
  /** Changes of a renewal; null: a new license, or one that was already installed. */
  readonly changes: readonly string[] | null;
}

/**
 * Installs a license once. It must come from a trusted vendor, be for a product of that vendor, and
 * answer an open request or have a newer serial than the installed license. Installing the same
 * document again is accepted and changes nothing.
 */
export function decideInstallLicense(
  state: State,
  checked: CheckedLicense,
  { request, activation, hardware, ...returned }: AnsweredQuestion,
  at: Instant,
): Result<Decision<InstalledLicense>, Fault> {
  const { license, terms, grant: signedGrant, peer } = checked;
  const { hostIds: _hostIds, ...grant } = signedGrant;
  const installed = state.licenses.get(license);
  if (installed?.grant.document === grant.document)
    return makeDecision([], { license, changes: null });
  const keyFault = findKeyFault(state, checked.signer, at);
  if (keyFault !== null) return err(keyFault);
  const vendor = state.vendors.get(grant.vendor);
  // No root issues licenses: its owner may be trusted since the certificate was verified.
  const isOfRoot = state.vendors.has(checked.signer.key);
  if (vendor === undefined || isOfRoot || !hasProduct(vendor, terms.product))
    return err({ code: "untrusted_vendor" });
  const tombstone = state.tombstones.get(license);
  if (!isSameVendorAndProduct(installed, tombstone, checked))
    return err({ code: "untrusted_vendor", conflict: { over: "license", license } });
  const newest = installed?.grant ?? tombstone ?? null;
  // A thief of a key can use up all serials. Then only an answer counts, which nobody can replay.
  const isOfRetiredKey = newest !== null && isKeyRetired(state, newest.vendor, newest.key);
  const isAnswer = request !== null || activation !== null;
  if (newest !== null && !(isOfRetiredKey && isAnswer) && grant.serial <= newest.serial)
    return err({ code: "stale_license", serial: newest.serial, ...returned });
  if (!hardware.ok) return hardware;

  const fullGrant = { ...grant, ...hardware.value };
  const changes = installed && [
    ...describeTermsDifference(installed.terms, terms),
    ...describeHostDifference(hostIdsOf(installed.grant), hostIdsOf(fullGrant)),
  ];
  const replaced = changes !== undefined && { changes };
  const eventFields = { license, terms, grant: fullGrant, ...replaced, request, activation, peer };
  const outcome = { license, changes: changes ?? null };
  return makeDecision([{ type: "LicenseInstalled", at, ...eventFields }], outcome);
}

const hostIdsOf = ({ hosts }: Pick<Grant, "hosts">): string[] | undefined =>
  hosts?.map(({ hardwareId }) => hardwareId);

/** An id belongs permanently to one vendor and one product, even after the license was returned. */
function isSameVendorAndProduct(
  installed: License | undefined,
  tombstone: Tombstone | undefined,
  { grant, terms }: CheckedLicense,
): boolean {
  const vendor = installed?.grant.vendor ?? tombstone?.vendor ?? grant.vendor;
  const product = installed?.terms.product ?? tombstone?.product ?? terms.product;
  return vendor === grant.vendor && product === terms.product;
}

/** What the vendor was sent: the hardware of this host, and that of both hosts of a pair. */
interface SentHardware extends Pick<Grant, "hardwareId" | "hardware"> {
  readonly hosts?: readonly LicensedHost[];
}

/**
 * A license is installed only if it is signed for the hardware that was sent to the vendor. It may
 * be for one host if two were requested, but not the reverse.
 */
export function checkHardwareId(
  { hardwareId, hardware, hosts }: SentHardware,
  signed: Pick<SignedGrant, "hardwareId" | "hostIds">,
): Result<BoundHardware, Fault> {
  if (hardwareId !== signed.hardwareId) return err({ code: "hardware_mismatch" });
  if (signed.hostIds === undefined) return ok({ hardware });
  const isSame =
    hosts?.length === signed.hostIds.length &&
    hosts.every((host) => signed.hostIds?.includes(host.hardwareId));
  if (!isSame) return err({ code: "hardware_mismatch" });
  // In the order of the signed list: every start compares both.
  const ordered = signed.hostIds.flatMap((id) => hosts.filter((host) => host.hardwareId === id));
  return ok({ hardware, hosts: ordered });
}
