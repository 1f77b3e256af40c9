// The key that signs a license or a policy: the vendor's root certifies it, and an application may
// refuse it. Most of the licenses are the test vectors, so that all verifiers agree about them.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { generateKey, keyIdOf } from "../../../src/license/documents/keys.ts";
import { sha256 } from "../../../src/platform/crypto/hash.ts";
import { repositoryRoot } from "../../support/sources.ts";
import {
  APPLIANCE_KEY,
  CERTIFICATE,
  ISSUING_KEY,
  PAYLOADS,
  RETIRED_KEY,
  VENDOR_KEY,
} from "../../vectors/generate.ts";
import {
  BAD_LICENSES,
  GOOD_LICENSES,
  RETIRED_LICENSE,
  type Verdict,
} from "../../vectors/verdicts.ts";
import {
  accepts,
  BAD_LICENSE,
  LAXER_EXAMPLE,
  refuses,
  type LeaseCase,
  type LeaseInput,
  type Refusal,
} from "./lease-cases.ts";
import { certifyNewKey, LeaseIssuer, payloadOf, signJwt, type Members } from "./lease-documents.ts";

const VECTORS = join(repositoryRoot, "test/vectors/documents");

/** The vendor and the appliance of the test vectors. */
const vectorIssuer = await LeaseIssuer.create(
  { root: VENDOR_KEY, issuing: { key: ISSUING_KEY, cert: CERTIFICATE } },
  APPLIANCE_KEY,
);

/** A license of the test vectors, and a lease that was made now under it. */
function readVector(name: string): LeaseInput {
  const license = readFileSync(join(VECTORS, `${name}.jwt`), "utf8");
  const { license_id, serial, terms } = PAYLOADS.license;
  const lic = sha256(license);
  const product = terms.product;
  const payload = vectorIssuer.leaseMembers({ aud: product, license_id, lic, serial });
  const lease = signJwt(vectorIssuer.leaseHeader, payload, APPLIANCE_KEY);
  return { license, lease, rootKeys: [VENDOR_KEY.x], product };
}

const REFUSALS: Readonly<Record<NonNullable<Verdict["wrong"]>, readonly Refusal[]>> = {
  form: ["license_malformed"],
  kind: ["license_malformed"],
  certificate: BAD_LICENSE,
  signer: ["license_forged"],
  // A payload that cannot be read is found before its signature is checked.
  signature: BAD_LICENSE,
  content: ["license_forged"],
};

const makeVectorCases = (): LeaseCase[] => [
  ...GOOD_LICENSES.map(({ name }) => accepts(`the vector ${name}`, () => readVector(name))),
  ...BAD_LICENSES.map(({ name, wrong, isAcceptedByLibrary }) =>
    refuses(
      `the vector ${name}`,
      wrong === null ? [] : REFUSALS[wrong],
      () => readVector(name),
      isAcceptedByLibrary ? LAXER_EXAMPLE : {},
    ),
  ),
  accepts(`the vector ${RETIRED_LICENSE}, without a list of retired keys`, () =>
    readVector(RETIRED_LICENSE),
  ),
  refuses(`the vector ${RETIRED_LICENSE}, whose key is retired`, "retired_key", () => ({
    ...readVector(RETIRED_LICENSE),
    retired: [RETIRED_KEY.x],
  })),
  accepts("a license of one key while another key is retired", () => ({
    ...readVector("good-license"),
    retired: [RETIRED_KEY.x],
  })),
];

export async function makeCertificateCases(issuer: LeaseIssuer): Promise<LeaseCase[]> {
  const other = await LeaseIssuer.create(undefined, issuer.appliance);
  const renewed = await LeaseIssuer.create(
    await certifyNewKey(issuer.vendor.root),
    issuer.appliance,
  );
  const { root, issuing } = issuer.vendor;
  const unused = await generateKey();
  const under = (license: string): LeaseInput => ({ license, lease: issuer.lease(license) });
  const byCode = async (signer: LeaseIssuer, policy: string): Promise<LeaseInput> => {
    const bundle = await signer.bundle({ policy });
    return { license: JSON.stringify(bundle), lease: issuer.leaseByCode(bundle) };
  };
  const policyHeader = { ...issuer.licenseHeader, typ: "berth-policy+jwt" };
  const policyPayload = payloadOf(await issuer.policy());
  const signPolicyAs = (header: Members | string): string =>
    signJwt(header, policyPayload, issuing.key);
  const ofRoot = { alg: "EdDSA", typ: "berth-license+jwt", kid: issuer.vendorId };
  return [
    ...makeVectorCases(),
    accepts("a license of the next issuing key", () => under(renewed.license())),
    refuses("a license that the root signed without a certificate", BAD_LICENSE, () =>
      under(signJwt(ofRoot, issuer.licensePayload(), root)),
    ),
    refuses("a license with the certificate of another key of the vendor", BAD_LICENSE, () => {
      const { cert } = renewed.vendor.issuing;
      const header = { ...issuer.licenseHeader, cert };
      return under(signJwt(header, issuer.licensePayload(), issuing.key));
    }),
    refuses("a license without iss", BAD_LICENSE, () =>
      under(issuer.license({}, { iss: undefined })),
    ),
    refuses("a license whose iss is the issuing key", "license_forged", () =>
      under(issuer.license({}, { iss: keyIdOf(issuing.key) })),
    ),
    refuses(
      "a license whose issuing key is the root of another trusted vendor",
      "license_forged",
      async () => {
        const vendor = await certifyNewKey(root, other.vendor.root);
        const both = await LeaseIssuer.create(vendor, issuer.appliance);
        return { ...under(both.license()), rootKeys: [root.x, other.rootKey] };
      },
      LAXER_EXAMPLE,
    ),
    refuses(
      "a license under a root of an application that has another one",
      "license_forged",
      () => ({
        ...under(issuer.license()),
        rootKeys: [unused.x],
      }),
    ),
    refuses("a license whose key is the last of two retired keys", "retired_key", () => ({
      ...under(issuer.license()),
      retired: [unused.x, issuing.key.x],
    })),
    accepts("a license while its vendor's root is in the list of retired keys", () => ({
      ...under(issuer.license()),
      retired: [root.x],
    })),
    refuses("a forged license of a retired key as a forged one", "license_forged", () => ({
      ...under(`${issuer.license().slice(0, -86)}${"A".repeat(86)}`),
      retired: [issuing.key.x],
    })),
    accepts("a bundle of the next issuing key, whose license id is the same", async () => {
      const [before, after] = [await issuer.bundle(), await renewed.bundle()];
      const { license_id } = issuer.leaseByCodeMembers(before);
      return {
        license: JSON.stringify(after),
        lease: issuer.leaseByCode(after, { license_id }),
      };
    }),
    refuses("a bundle whose key is retired", "retired_key", async () => ({
      ...(await byCode(issuer, await issuer.policy())),
      retired: [issuing.key.x],
    })),
    refuses("a code of another issuing key than its policy", "license_forged", async () =>
      byCode(renewed, await issuer.policy()),
    ),
    refuses("a code of the root with a policy of the issuing key", "license_forged", async () => {
      const signer = await LeaseIssuer.create(
        { root, issuing: { key: root, cert: issuing.cert } },
        issuer.appliance,
      );
      return byCode(signer, await issuer.policy());
    }),
    refuses("a policy without a certificate", "license_malformed", () =>
      byCode(issuer, signPolicyAs({ ...policyHeader, cert: undefined })),
    ),
    refuses("a policy with the certificate of another vendor", "license_forged", () =>
      byCode(issuer, signPolicyAs({ ...policyHeader, cert: other.vendor.issuing.cert })),
    ),
    refuses("a policy whose iss is another vendor", "license_forged", async () =>
      byCode(issuer, await issuer.policy({}, { iss: other.vendorId })),
    ),
    refuses(
      "a policy with white space in its header",
      "license_malformed",
      () => byCode(issuer, signPolicyAs(JSON.stringify(policyHeader, null, 1))),
      LAXER_EXAMPLE,
    ),
  ];
}
