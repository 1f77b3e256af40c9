// `bun run test:attacks forged-documents`: forgeries of every document that a site imports. Most
// are passed to the operations directly, some thousand to the routes of the real binary. None is
// accepted, nothing is written, and each is refused with a code. (Typed codes: the fault suite
// `mutations`.)
import { openAppliance } from "../../src/cli/serve/appliance.ts";
import { join } from "node:path";
import { generateKey, publicPart } from "../../src/license/keys.ts";
import { verifyLicenseRequest } from "../../src/license/request.ts";
import { signLicense, type LicenseDocument } from "../../src/license/license.ts";
import { signTrustDocument } from "../../src/license/trust.ts";
import {
  check,
  finish,
  createRandom,
  makeTempFolder,
  seed,
  chooseSize,
} from "../support/suite-harness.ts";
import { unwrap } from "../support/licensed-store.ts";
import { FORGERY_TRICKS, type GenuineDocument } from "./forgeries.ts";
import { uploadForgeries } from "./forged-uploads.ts";
import { makeLicensedSite, PEER, PRODUCT, type SiteDocuments } from "./target.ts";

const FORGED = chooseSize(100_000, 3_000_000);
const UPLOADED = chooseSize(4_000, 200_000);

type Outcome = { ok: true } | { ok: false; fault: { code: string } | { wrong: string } };

/** A kind of import: the genuine document it would accept, and the operation. */
interface ImportRoute {
  readonly name: string;
  readonly genuine: GenuineDocument;
  /** Other documents that would be accepted too, and change nothing. */
  readonly harmless?: readonly string[];
  readonly receive: (document: string) => Promise<Outcome>;
}

const root = makeTempFolder();
const documents = await makeLicensedSite(root);
const site = await openAppliance({
  folder: join(root, "site"),
  identityName: null,
  kind: "site",
  create: false,
  holder: "server",
});
site.timekeeping.stop();
const random = createRandom(seed);
/** The site's own request: valid at the desk, but no document for the site. */
const requestDocument = unwrap(await site.licensing.request(PRODUCT, null, PEER)).document;
const forger = { key: await generateKey(), random, others: await makeOtherDocuments(documents) };
const importRoutes = await makeImportRoutes(documents);
const seqBefore = site.applianceStatus.storageStatus().seq;

/** Genuine documents, each for another use or another site. */
async function makeOtherDocuments({
  trust,
  otherTrust,
  license,
  airgap,
  timeAnswer,
  vendor,
  otherVendor,
}: SiteDocuments) {
  const claims = JSON.parse(Buffer.from(license.split(".")[1] ?? "", "base64url").toString());
  const signVariant = (differing: Partial<LicenseDocument>, key = vendor.key): Promise<string> =>
    signLicense({ ...(claims as LicenseDocument), ...differing }, key);
  const withoutRequest = { request_id: null, nonce: null };
  return [
    otherTrust,
    trust,
    airgap.license_policy,
    timeAnswer,
    requestDocument,
    // Signed by the vendor, but older, for an unknown request, for another machine or appliance.
    await signVariant({ serial: 1, iat: 1 }),
    await signVariant({ serial: 9, request_id: "0".repeat(32), nonce: "0".repeat(32) }),
    await signVariant({ serial: 9, hardware_id: "0".repeat(64) }),
    await signVariant({ serial: 9, appliance: "0123456789ABCDEF" }),
    await signVariant({ serial: 9, ...withoutRequest, hardware_id: "0".repeat(64) }),
    await signVariant({ serial: 9, ...withoutRequest, appliance: "0123456789ABCDEF" }),
    await signVariant({ serial: 9, ...withoutRequest, cnf: { jwk: publicPart(otherVendor.key) } }),
    // Signed by another trusted vendor, for a product of this vendor.
    await signVariant({ serial: 9, iss: otherVendor.vendor.vendor }, otherVendor.key),
    await signVariant(
      { serial: 9, license_id: 77, iss: otherVendor.vendor.vendor },
      otherVendor.key,
    ),
  ];
}

async function makeImportRoutes({
  vendor,
  license,
  airgap,
  timeAnswer,
  trust,
  otherTrust,
}: SiteDocuments): Promise<ImportRoute[]> {
  const { key } = vendor;
  const keys = [publicPart(await generateKey()), ...vendor.vendor.keys];
  const successor = await signTrustDocument({ ...vendor.vendor, version: 2, keys }, key);
  const { jwk } = unwrap(await verifyLicenseRequest(requestDocument));
  return [
    {
      name: "licenses",
      genuine: { kind: "license", document: license, signer: key },
      receive: (document) => site.licensing.installLicense(document, PEER),
    },
    {
      name: "trust documents",
      genuine: { kind: "trust", document: successor, signer: key },
      harmless: [trust, otherTrust],
      receive: (document) => site.vendorTrust.trustVendor(document, PEER),
    },
    {
      name: "policies",
      genuine: { kind: "policy", document: airgap.license_policy, signer: key },
      receive: (policy) =>
        site.airgap.installLicense({
          policy,
          licenseKey: airgap.license_key,
          policyId: airgap.policy_id,
          code: airgap.confirmation_code,
          peer: PEER,
        }),
    },
    {
      name: "time documents",
      genuine: { kind: "time", document: timeAnswer, signer: key },
      receive: (document) => site.timekeeping.applyTimeDocument(document, PEER),
    },
    {
      name: "license requests, at the vendor's desk",
      genuine: { kind: "request", document: requestDocument, signer: jwk },
      receive: verifyLicenseRequest,
    },
  ];
}

/** A forgery that is equal to a genuine document may be accepted. */
const isHarmless = ({ genuine, harmless = [] }: ImportRoute, forged: string): boolean =>
  [genuine.document, ...harmless].includes(forged.trim());

const tricks = Object.entries(FORGERY_TRICKS);
const accepted: string[] = [];
const exceptions: string[] = [];
const codes = new Map<string, number>();
let tried = 0;
while (tried < FORGED && accepted.length + exceptions.length < 5) {
  const importRoute = importRoutes[Math.floor(random() * importRoutes.length)] as ImportRoute;
  const [name, trick] = tricks[Math.floor(random() * tricks.length)] as (typeof tricks)[number];
  const forged = await trick(importRoute.genuine, forger);
  if (isHarmless(importRoute, forged)) continue;
  tried += 1;
  try {
    const outcome = await importRoute.receive(forged);
    if (outcome.ok) accepted.push(`${importRoute.name}, ${name}: ${forged.slice(0, 1_500)}`);
    else {
      const code = "wrong" in outcome.fault ? outcome.fault.wrong : outcome.fault.code;
      codes.set(code, (codes.get(code) ?? 0) + 1);
    }
  } catch (error) {
    exceptions.push(`${importRoute.name}, ${name}: ${String(error)}`);
  }
}
const codeCounts = [...codes].map(([code, count]) => `${code} ${count}`).join(", ");
check(
  `none of ${tried} forged documents of ${importRoutes.length} kinds is accepted (seed ${seed})`,
  accepted.length === 0,
  accepted,
);
check(
  `each forged document is refused with a code: ${codeCounts}`,
  exceptions.length === 0 && codes.size >= 8,
  exceptions,
);
check(
  "forged documents cause no write to the journal",
  site.applianceStatus.storageStatus().seq === seqBefore,
);
for (const { name, genuine, receive } of importRoutes) {
  check(
    `after the forgeries the genuine document is accepted: ${name}`,
    (await receive(genuine.document)).ok,
  );
}
await site.close();

await uploadForgeries(makeTempFolder(), UPLOADED, forger);
finish();
