import type { Grant, License } from "../domain/state.ts";
import { withdrawFeature, type Terms } from "../domain/terms.ts";
import { err, ok, type Result } from "../domain/result.ts";
import { deriveAirgapLicenseId } from "./airgap-id.ts";
import { parseBundle } from "./bundle.ts";
import { decodeConfirmationCode, verifyConfirmationCode } from "./confirmation.ts";
import { isWeakBinding, type HashedComponent } from "./hardware.ts";
import { keyIdOf, publicKeyBytes } from "./keys.ts";
import { verifyLicense } from "./license.ts";
import { verifyPolicy } from "./policy.ts";
import { decodeTerms } from "./terms.ts";
import type { Vendor } from "./trust.ts";

/** What the vendor's signature says of an installed license. */
interface Signed extends Pick<Grant, "vendor" | "serial" | "lic" | "policyId"> {
  readonly id: number;
  readonly appliance: string;
  readonly terms: Terms;
  /** All of the hardware id, or as much of it as a code has room for. */
  readonly hardware: string;
  /** Whether a code was given for a weakly bound appliance; null: nothing says so. */
  readonly weak: boolean | null;
}

/**
 * Why an installed license must not be served: a data folder can be edited by whoever owns it, the
 * vendor's document in it cannot. Finishes "license N …"; null when all of it is signed by one of
 * `vendors`.
 */
export async function findProofFault(
  license: License,
  appliance: string,
  vendors: readonly Vendor[],
): Promise<string | null> {
  const { document } = license.grant;
  const isBundle = document.startsWith("{");
  const read = isBundle
    ? await readBundle(document, vendors)
    : await readLicense(document, vendors);
  if (!read.ok) return read.fault;
  const differing = differences(license, appliance, read.value);
  if (differing.length === 0) return null;
  return `differs from what its vendor signed: ${differing.join(", ")}`;
}

async function readLicense(
  document: string,
  vendors: readonly Vendor[],
): Promise<Result<Signed, string>> {
  const verified = await verifyLicense(document, vendors);
  if (!verified.ok) return err(`has a document that ${verified.fault}`);
  const { license, terms, vendor } = verified.value;
  return ok({
    id: license.license_id,
    appliance: keyIdOf(license.cnf.jwk),
    terms,
    vendor,
    serial: license.serial,
    lic: sha256(Buffer.from(document)),
    policyId: null,
    hardware: license.hardware_id,
    weak: null,
  });
}

async function readBundle(
  document: string,
  vendors: readonly Vendor[],
): Promise<Result<Signed, string>> {
  const bundle = parseBundle(document);
  const code = bundle && decodeConfirmationCode(bundle.confirmation_code);
  const isWhole = (bundle?.version === undefined) === (bundle?.kind === undefined);
  if (bundle === null || code === null || !code.ok || !isWhole) {
    return err("has a bundle that cannot be read");
  }
  const verified = await verifyPolicy(bundle.policy, vendors);
  if (!verified.ok) return err(`has a policy that ${verified.fault}`);
  const { policy, vendor, key } = verified.value;
  const terms = decodeTerms(policy.terms);
  const weak = bundle.kind === undefined ? null : bundle.kind === 2;
  const confirmed = {
    activation: {
      appliance: bundle.appliance_id,
      nonce: bundle.nonce,
      hardwarePrefix: bundle.hardware_prefix,
      weak: weak === true,
    },
    licenseKey: bundle.license_key,
    policyHash: sha256(Buffer.from(bundle.policy)),
    initializationCode: bundle.initialization_code,
  };
  const isConfirmed =
    terms !== null &&
    keyIdOf(bundle.appliance_jwk) === bundle.appliance_id &&
    (await verifyConfirmationCode(confirmed, code.value, key, bundle.version ?? 1));
  if (!isConfirmed) return err("has a confirmation code that its vendor did not sign for it");
  const { validUntil, serial, bytes } = code.value;
  return ok({
    id: deriveAirgapLicenseId(publicKeyBytes(key), bundle.license_key),
    appliance: bundle.appliance_id,
    terms: {
      ...terms,
      licenseKey: bundle.license_key,
      validUntil: validUntil ?? terms.validUntil,
    },
    vendor: vendor.vendor,
    serial,
    lic: sha256(Buffer.from(bytes, "hex")),
    policyId: policy.policy_id,
    hardware: bundle.hardware_prefix,
    weak,
  });
}

const GRANTED = ["vendor", "serial", "lic", "policyId"] as const;

/** By the names they have in `state.json`. */
function differences(license: License, appliance: string, signed: Signed): string[] {
  const { id, terms, grant } = license;
  const isWeakHere = isWeakBinding(grant.hardware as readonly HashedComponent[]);
  return [
    ...(id === signed.id ? [] : ["id"]),
    ...(appliance === signed.appliance ? [] : ["appliance"]),
    ...GRANTED.filter((name) => grant[name] !== signed[name]),
    ...(grant.hardwareId.startsWith(signed.hardware) ? [] : ["hardwareId"]),
    ...(signed.weak === null || signed.weak === isWeakHere ? [] : ["hardware"]),
    ...differingNames(terms, signed.terms),
    ...differingFeatures(license, signed.terms),
  ];
}

const differingNames = (a: object, b: object): string[] => {
  const [left, right] = [new Map(Object.entries(a)), new Map(Object.entries(b))];
  const names = new Set([...left.keys(), ...right.keys()]);
  return [...names].filter((name) => !Bun.deepEquals(left.get(name), right.get(name)));
};

/** Those of earlier serials stay for who holds a slot of them, and grant nothing. */
function differingFeatures({ features }: License, { features: named }: Terms): string[] {
  const missing = named.filter(({ code }) => !features.has(code)).map(({ code }) => code);
  const wrong = [...features].filter(([code, { terms }]) => {
    const signed = named.find((one) => one.code === code) ?? withdrawFeature(terms);
    return !Bun.deepEquals(terms, signed);
  });
  return [...missing, ...wrong.map(([code]) => code)].map((code) => `feature ${code}`);
}

const sha256 = (bytes: Uint8Array): string =>
  new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
