import type { Grant, License } from "../../domain/model/state.ts";
import { withdrawFeature, type Terms } from "../../domain/model/licenses/terms.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import { deriveAirgapLicenseId } from "../codes/airgap-id.ts";
import { parseBundle } from "./bundle.ts";
import { decodeConfirmationCode, verifyConfirmationCode } from "../codes/confirmation.ts";
import { describeDocumentFault, type VendorDocumentFault } from "./document-fault.ts";
import { isWeakBinding, type HashedComponent } from "./hardware.ts";
import { keyIdOf, publicKeyBytes } from "./keys.ts";
import { verifyLicense } from "./license.ts";
import { verifyPolicy } from "../terms/policy.ts";
import { decodeTerms } from "../terms/terms.ts";
import type { VendorRoot } from "./trust.ts";

/** The values of an installed license that the vendor's signature covers. */
interface SignedValues extends Pick<
  Grant,
  "vendor" | "key" | "keyUntil" | "serial" | "lic" | "policyId"
> {
  readonly id: number;
  readonly appliance: string;
  readonly terms: Terms;
  /** The hardware ids of two hosts; null: it is for one. */
  readonly hosts: readonly string[] | null;
  /** The hardware id, or the prefix of it that fits into a code. */
  readonly hardware: string;
  /** Whether the code is for a weakly bound appliance; null: the signature does not cover it. */
  readonly weak: boolean | null;
}

/**
 * Why an installed license must not be served. A site can edit its data folder, but not the
 * vendor's signed document in it.
 */
export type ProofFault =
  | { readonly wrong: "license" | "policy"; readonly fault: VendorDocumentFault }
  | { readonly wrong: "bundle" }
  | { readonly wrong: "confirmation" }
  /** These fields differ from what the vendor signed. */
  | { readonly wrong: "fields"; readonly fields: readonly string[] };

/** Completes the sentence "license N …". */
export function describeProofFault(proof: ProofFault): string {
  if (proof.wrong === "bundle") return "has a bundle that cannot be read";
  if (proof.wrong === "confirmation") {
    return "has a confirmation code that its vendor did not sign for it";
  }
  if (proof.wrong === "fields") {
    return `differs from what its vendor signed: ${proof.fields.join(", ")}`;
  }
  const name = proof.wrong === "license" ? "document" : "policy";
  return `has a ${name} that ${describeDocumentFault(proof.fault)}`;
}

/** Null when one of `vendors` signed all of the license. */
export async function findProofFault(
  license: License,
  appliance: string,
  vendors: readonly VendorRoot[],
): Promise<ProofFault | null> {
  const { document } = license.grant;
  const isBundle = document.startsWith("{");
  const signed = isBundle
    ? await readBundle(document, vendors)
    : await readLicense(document, vendors);
  if (!signed.ok) return signed.fault;
  const fields = findDifferences(license, appliance, signed.value);
  return fields.length === 0 ? null : { wrong: "fields", fields };
}

async function readLicense(
  document: string,
  vendors: readonly VendorRoot[],
): Promise<Result<SignedValues, ProofFault>> {
  const verified = await verifyLicense(document, vendors);
  if (!verified.ok) return err({ wrong: "license", fault: verified.fault });
  const { license, terms, signer } = verified.value;
  return ok({
    id: license.license_id,
    appliance: keyIdOf(license.cnf.jwk),
    terms,
    vendor: signer.vendor.vendor,
    key: keyIdOf(signer.key),
    keyUntil: signer.certificate.until,
    serial: license.serial,
    lic: sha256(Buffer.from(document)),
    policyId: null,
    hardware: license.hardware_id,
    hosts: license.hosts ?? null,
    weak: null,
  });
}

async function readBundle(
  document: string,
  vendors: readonly VendorRoot[],
): Promise<Result<SignedValues, ProofFault>> {
  const bundle = parseBundle(document);
  const code = bundle && decodeConfirmationCode(bundle.confirmation_code);
  if (bundle === null || code === null || !code.ok) return err({ wrong: "bundle" });
  const verified = await verifyPolicy(bundle.policy, vendors);
  if (!verified.ok) return err({ wrong: "policy", fault: verified.fault });
  const { policy, signer } = verified.value;
  const { vendor, key } = signer;
  const terms = decodeTerms(policy.terms);
  const weak = bundle.kind === 2;
  const claims = {
    activation: {
      appliance: bundle.appliance_id,
      nonce: bundle.nonce,
      hardwarePrefix: bundle.hardware_prefix,
      weak,
    },
    licenseKey: bundle.license_key,
    policyHash: sha256(Buffer.from(bundle.policy)),
    initializationCode: bundle.initialization_code,
  };
  const isConfirmed =
    terms !== null &&
    keyIdOf(bundle.appliance_jwk) === bundle.appliance_id &&
    (await verifyConfirmationCode(claims, code.value, key));
  if (!isConfirmed) return err({ wrong: "confirmation" });
  const { validUntil, serial, bytes } = code.value;
  return ok({
    id: deriveAirgapLicenseId(publicKeyBytes(vendor.jwk), bundle.license_key),
    appliance: bundle.appliance_id,
    terms: {
      ...terms,
      licenseKey: bundle.license_key,
      validUntil: validUntil ?? terms.validUntil,
    },
    vendor: vendor.vendor,
    key: keyIdOf(key),
    keyUntil: signer.certificate.until,
    serial,
    lic: sha256(Buffer.from(bytes, "hex")),
    policyId: policy.policy_id,
    hardware: bundle.hardware_prefix,
    hosts: null,
    weak,
  });
}

const GRANT_FIELDS = ["vendor", "key", "keyUntil", "serial", "lic", "policyId"] as const;

/** The names of the fields that differ, as in `state.json`. */
function findDifferences(license: License, appliance: string, signed: SignedValues): string[] {
  const { id, terms, grant } = license;
  const isWeakHere = isWeakBinding(grant.hardware as readonly HashedComponent[]);
  return [
    ...(id === signed.id ? [] : ["id"]),
    ...(appliance === signed.appliance ? [] : ["appliance"]),
    ...GRANT_FIELDS.filter((name) => grant[name] !== signed[name]),
    ...(grant.hardwareId.startsWith(signed.hardware) ? [] : ["hardwareId"]),
    ...(Bun.deepEquals(hostIdsOf(grant), signed.hosts) ? [] : ["hosts"]),
    ...(signed.weak === null || signed.weak === isWeakHere ? [] : ["hardware"]),
    ...differingNames(terms, signed.terms),
    ...differingFeatures(license, signed.terms),
  ];
}

const hostIdsOf = ({ hosts }: Grant): readonly string[] | null =>
  hosts?.map(({ hardwareId }) => hardwareId) ?? null;

const differingNames = (a: object, b: object): string[] => {
  const [left, right] = [new Map(Object.entries(a)), new Map(Object.entries(b))];
  const names = new Set([...left.keys(), ...right.keys()]);
  return [...names].filter((name) => !Bun.deepEquals(left.get(name), right.get(name)));
};

/** Features of earlier serials stay while users hold slots of them; they grant no new slots. */
function differingFeatures({ features }: License, { features: signedFeatures }: Terms): string[] {
  const missing = signedFeatures.filter(({ code }) => !features.has(code)).map(({ code }) => code);
  const wrong = [...features].filter(([code, { terms }]) => {
    const signedTerms =
      signedFeatures.find((feature) => feature.code === code) ?? withdrawFeature(terms);
    return !Bun.deepEquals(terms, signedTerms);
  });
  return [...missing, ...wrong.map(([code]) => code)].map((code) => `feature ${code}`);
}

const sha256 = (bytes: Uint8Array): string =>
  new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
