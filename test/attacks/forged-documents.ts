// `bun run test:attacks imports`: everything that is carried onto a site, forged. Most are handed to
// the operations themselves, some thousand to the real binary's routes. None is accepted, nothing is
// written, and each is refused with a code of its own. (Typed codes: the fault rig `mutations`.)
import { openAppliance } from "../../src/cli/appliance.ts";
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
import { makeLicensedSite, PRODUCT, type SiteDocuments } from "./target.ts";

const FORGED = chooseSize(100_000, 3_000_000);
const UPLOADED = chooseSize(4_000, 200_000);

type Outcome = { ok: true } | { ok: false; fault: { code: string } | string };

/** A way in: what would be taken there, and how it is handed over. */
interface ImportRoute {
  readonly name: string;
  readonly genuine: GenuineDocument;
  /** Others that would be taken as well, and change nothing. */
  readonly harmless?: readonly string[];
  readonly receive: (document: string) => Promise<Outcome>;
}

const root = makeTempFolder();
const papers = await makeLicensedSite(root);
const site = await openAppliance({
  folder: join(root, "site"),
  identityName: null,
  kind: "site",
  create: false,
  holder: "server",
});
site.timekeeping.stop();
const random = createRandom(seed);
/** The site's own question: at the desk it is right, on the site it is nothing. */
const asked = unwrap(await site.licensing.request(PRODUCT, null, "rig")).document;
const forger = { key: await generateKey(), random, others: await makeOtherDocuments(papers) };
const importRoutes = await makeImportRoutes(papers);
const before = site.operations.health().seq;

/** Genuine, each for another use or another site. */
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
  const like = (differing: Partial<LicenseDocument>, key = vendor.key): Promise<string> =>
    signLicense({ ...(claims as LicenseDocument), ...differing }, key);
  const unasked = { request_id: null, nonce: null };
  return [
    otherTrust,
    trust,
    airgap.license_policy,
    timeAnswer,
    asked,
    // Signed by the vendor, but older, for a request nobody made, for another machine or appliance.
    await like({ serial: 1, iat: 1 }),
    await like({ serial: 9, request_id: "0".repeat(32), nonce: "0".repeat(32) }),
    await like({ serial: 9, hardware_id: "0".repeat(64) }),
    await like({ serial: 9, appliance: "0123456789ABCDEF" }),
    await like({ serial: 9, ...unasked, hardware_id: "0".repeat(64) }),
    await like({ serial: 9, ...unasked, appliance: "0123456789ABCDEF" }),
    await like({ serial: 9, ...unasked, cnf: { jwk: publicPart(otherVendor.key) } }),
    // Signed by a vendor who is trusted, for a product that is not theirs.
    await like({ serial: 9, iss: otherVendor.vendor.vendor }, otherVendor.key),
    await like({ serial: 9, license_id: 77, iss: otherVendor.vendor.vendor }, otherVendor.key),
  ];
}

async function makeImportRoutes(known: SiteDocuments): Promise<ImportRoute[]> {
  const { vendor, license, airgap, timeAnswer, trust, otherTrust } = known;
  const { key } = vendor;
  const keys = [publicPart(await generateKey()), ...vendor.vendor.keys];
  const successor = await signTrustDocument({ ...vendor.vendor, version: 2, keys }, key);
  const { jwk } = unwrap(await verifyLicenseRequest(asked));
  return [
    {
      name: "licenses",
      genuine: { kind: "license", document: license, signer: key },
      receive: (document) => site.licensing.installLicense(document, "rig"),
    },
    {
      name: "successors",
      genuine: { kind: "trust", document: successor, signer: key },
      harmless: [trust, otherTrust],
      receive: (document) => site.licensing.trustVendor(document, "rig"),
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
          peer: "rig",
        }),
    },
    {
      name: "times",
      genuine: { kind: "time", document: timeAnswer, signer: key },
      receive: (document) => site.timekeeping.applyTimeDocument(document, "rig"),
    },
    {
      name: "requests, at the vendor's desk",
      genuine: { kind: "request", document: asked, signer: jwk },
      receive: verifyLicenseRequest,
    },
  ];
}

/** What a way may take after all: the genuine itself, and what is genuine there and known. */
const isHarmless = ({ genuine, harmless = [] }: ImportRoute, forged: string): boolean =>
  [genuine.document, ...harmless].includes(forged.trim());

const tricks = Object.entries(FORGERY_TRICKS);
const accepted: string[] = [];
const unclear: string[] = [];
const codes = new Map<string, number>();
let tried = 0;
while (tried < FORGED && accepted.length + unclear.length < 5) {
  const way = importRoutes[Math.floor(random() * importRoutes.length)] as ImportRoute;
  const [name, trick] = tricks[Math.floor(random() * tricks.length)] as (typeof tricks)[number];
  const forged = await trick(way.genuine, forger);
  if (isHarmless(way, forged)) continue;
  tried += 1;
  try {
    const outcome = await way.receive(forged);
    if (outcome.ok) accepted.push(`${way.name}, ${name}: ${forged.slice(0, 1_500)}`);
    else {
      const code = typeof outcome.fault === "string" ? outcome.fault : outcome.fault.code;
      codes.set(code, (codes.get(code) ?? 0) + 1);
    }
  } catch (error) {
    unclear.push(`${way.name}, ${name}: ${String(error)}`);
  }
}
const told = [...codes].map(([code, count]) => `${code} ${count}`).join(", ");
check(
  `${tried} forged documents of ${importRoutes.length} kinds (seed ${seed}): none accepted`,
  accepted.length === 0,
  accepted,
);
check(`each is refused with a code: ${told}`, unclear.length === 0 && codes.size >= 8, unclear);
check("nothing was written for any of them", site.operations.health().seq === before);
for (const { name, genuine, receive } of importRoutes) {
  check(`the genuine one is still taken: ${name}`, (await receive(genuine.document)).ok);
}
await site.operations.close();

await uploadForgeries(makeTempFolder(), UPLOADED, forger);
finish();
