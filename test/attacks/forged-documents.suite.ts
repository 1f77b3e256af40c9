// `bun run test:attacks forged-documents`: forgeries of every document that a site imports. Most
// are passed to the operations directly, some thousand to the routes of the real binary. None is
// accepted, nothing is written, and each is refused with a code. (Typed codes: the fault suite
// `mutations`.)
import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { openAppliance } from "../../src/cli/serve/appliance.ts";
import {
  signAcknowledgement,
  type Acknowledgement,
} from "../../src/license/documents/acknowledgement.ts";
import { readUnverifiedPayload } from "../../src/license/documents/document.ts";
import { signCertificate } from "../../src/license/documents/certificate.ts";
import { generateKey, keyIdOf, publicPart } from "../../src/license/documents/keys.ts";
import { verifyLicenseRequest } from "../../src/license/requests/request.ts";
import { signLicense, type LicenseDocument } from "../../src/license/documents/license.ts";
import { signTrustDocument } from "../../src/license/documents/trust.ts";
import { usualRootFolder } from "../../src/desk/desk.ts";
import { Root } from "../../src/desk/root.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { createRandom, makeTempFolder, seed, chooseSize } from "../support/suite-harness.ts";
import { unwrap } from "../support/licensed-store.ts";
import { testAfterAttack } from "./after-attack.ts";
import { FORGERY_TRICKS, type Forger, type GenuineDocument } from "./forgeries.ts";
import { uploadForgeries, type UploadOutcome } from "./forged-uploads.ts";
import { makeLicensedSite, PEER, PRODUCT, type SiteDocuments } from "./target.ts";

const FORGED = chooseSize(40_000, 3_000_000);
const UPLOADED = chooseSize(4_000, 200_000);

type Outcome = { ok: true } | { ok: false; fault: { code: string } | { wrong: string } };

/** A kind of import: the genuine document it would accept, and the operation. */
interface ImportRoute {
  readonly name: (typeof IMPORTS)[number];
  readonly genuine: GenuineDocument;
  /** Other documents that would be accepted too, and change nothing. */
  readonly harmless?: readonly string[];
  readonly receive: (document: string) => Promise<Outcome>;
}

type Site = Awaited<ReturnType<typeof openAppliance>>;

/** Genuine documents, each for another use or another site. */
async function makeOtherDocuments(
  documents: SiteDocuments,
  requestDocument: string,
): Promise<string[]> {
  const { trust, otherTrust, license, airgap, timeAnswer, vendor, otherVendor } = documents;
  const claims = readUnverifiedPayload(license);
  const acknowledged = readUnverifiedPayload(documents.acknowledgement) as Acknowledgement;
  const signVariant = (
    differing: Partial<LicenseDocument>,
    key = vendor.issuing,
  ): Promise<string> => signLicense({ ...(claims as LicenseDocument), ...differing }, key);
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
    await signVariant({
      serial: 9,
      ...withoutRequest,
      cnf: { jwk: publicPart(otherVendor.issuing.key) },
    }),
    // Signed by another trusted vendor, for a product of this vendor.
    await signVariant({ serial: 9, iss: otherVendor.vendor.vendor }, otherVendor.issuing),
    await signVariant(
      { serial: 9, license_id: 77, iss: otherVendor.vendor.vendor },
      otherVendor.issuing,
    ),
    // Of another appliance's statement, of one that was not made, and by another trusted vendor.
    await signAcknowledgement({ ...acknowledged, appliance: "0123456789ABCDEF" }, vendor.issuing),
    await signAcknowledgement({ ...acknowledged, digest: "0".repeat(64) }, vendor.issuing),
    await signAcknowledgement({ ...acknowledged, n: 2 }, vendor.issuing),
    await signAcknowledgement(
      { ...acknowledged, iss: otherVendor.vendor.vendor },
      otherVendor.issuing,
    ),
    ...(await signAsRoot(documents)),
  ];
}

/** What a thief of the issuing key signs that only the root may sign. */
async function signAsRoot({ vendor, license }: SiteDocuments): Promise<string[]> {
  const { key } = vendor.issuing;
  const thief = await generateKey();
  const trust = { ...vendor.vendor, version: 9, name: "Thief" };
  const content = {
    iss: vendor.vendor.vendor,
    iat: 0,
    until: 253_402_300_799,
    cnf: { jwk: publicPart(thief) },
    trust: 1,
  };
  const claims = readUnverifiedPayload(license) as LicenseDocument;
  const certificate = await signCertificate(content, key);
  return [
    await signTrustDocument(trust, key),
    await signTrustDocument({ ...trust, jwk: publicPart(key), vendor: keyIdOf(key) }, key),
    await signTrustDocument({ ...trust, jwk: publicPart(key) }, key),
    certificate,
    await signLicense({ ...claims, serial: 9 }, { key: thief, cert: certificate }),
    await signLicense({ ...claims, serial: 9 }, { key: thief, cert: vendor.issuing.cert }),
  ];
}

/** Every kind of document that a site or a desk imports. */
const IMPORTS = [
  "licenses",
  "trust documents",
  "policies",
  "time documents",
  "acknowledgements",
  "license requests, at the vendor's desk",
] as const;

async function makeImportRoutes(
  site: Site,
  { vendor, license, airgap, timeAnswer, acknowledgement, trust, otherTrust }: SiteDocuments,
  requestDocument: string,
  folder: string,
): Promise<ImportRoute[]> {
  const { key } = vendor.issuing;
  const root = await Root.open(realDisk, usualRootFolder(join(folder, "desk")), null);
  const { trust: newer } = await root.signNext({ retired: ["0".repeat(16)] });
  const { jwk } = unwrap(await verifyLicenseRequest(requestDocument));
  return [
    {
      name: "licenses",
      genuine: { kind: "license", document: license, signer: key },
      receive: (document) => site.licensing.installLicense(document, PEER),
    },
    {
      name: "trust documents",
      genuine: { kind: "trust", document: newer.document, signer: root.key },
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
      name: "acknowledgements",
      genuine: { kind: "ack", document: acknowledgement, signer: key },
      receive: (document) => site.usageStatements.acknowledge(document, PEER),
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

interface ForgeryOutcome {
  tried: number;
  readonly accepted: string[];
  readonly exceptions: string[];
  /** How often each code was the reason of a refusal. */
  readonly codes: Map<string, number>;
}

async function importForgeries(
  importRoutes: readonly ImportRoute[],
  forger: Forger,
): Promise<ForgeryOutcome> {
  const { random } = forger;
  const tricks = Object.entries(FORGERY_TRICKS);
  const outcome: ForgeryOutcome = { tried: 0, accepted: [], exceptions: [], codes: new Map() };
  const { accepted, exceptions, codes } = outcome;
  while (outcome.tried < FORGED && accepted.length + exceptions.length < 5) {
    const importRoute = importRoutes[Math.floor(random() * importRoutes.length)] as ImportRoute;
    const [name, trick] = tricks[Math.floor(random() * tricks.length)] as (typeof tricks)[number];
    const forged = await trick(importRoute.genuine, forger);
    if (isHarmless(importRoute, forged)) continue;
    outcome.tried += 1;
    try {
      const result = await importRoute.receive(forged);
      if (result.ok) accepted.push(`${importRoute.name}, ${name}: ${forged.slice(0, 1_500)}`);
      else {
        const code = "wrong" in result.fault ? result.fault.wrong : result.fault.code;
        codes.set(code, (codes.get(code) ?? 0) + 1);
      }
    } catch (error) {
      exceptions.push(`${importRoute.name}, ${name}: ${String(error)}`);
    }
  }
  return outcome;
}

let openSite: Site;
let importRoutes: readonly ImportRoute[];
let forger: Forger;

beforeAll(async () => {
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
  /** The site's own request: valid at the desk, but no document for the site. */
  const requestDocument = unwrap(await site.licensing.request(PRODUCT, null, PEER)).document;
  const others = await makeOtherDocuments(documents, requestDocument);
  forger = { key: await generateKey(), random: createRandom(seed), others };
  importRoutes = await makeImportRoutes(site, documents, requestDocument, root);
  openSite = site;
});

describe("forged documents", () => {
  let outcome: ForgeryOutcome;
  let wasWritten: boolean;
  const isGenuineAccepted = new Map<string, boolean>();

  beforeAll(async () => {
    const readSeq = (): number => openSite.applianceStatus.storageStatus().seq;
    const seqBefore = readSeq();
    outcome = await importForgeries(importRoutes, forger);
    wasWritten = readSeq() !== seqBefore;
    for (const { name, genuine, receive } of importRoutes) {
      isGenuineAccepted.set(name, (await receive(genuine.document)).ok);
    }
    await openSite.close();
    const codeCounts = [...outcome.codes].map(([code, count]) => `${code} ${count}`).join(", ");
    console.log(`${outcome.tried} forged documents, seed ${seed}: ${codeCounts}`);
  });

  test("are never accepted", () => {
    expect({ seed, accepted: outcome.accepted }).toEqual({ seed, accepted: [] });
    expect(outcome.tried).toBe(FORGED);
  });

  test("are each refused with a code", () => {
    expect(outcome.exceptions).toEqual([]);
    expect(outcome.codes.size).toBeGreaterThanOrEqual(8);
  });

  test("cause no write to the journal", () => {
    expect(wasWritten).toBe(false);
  });

  test.each(IMPORTS)("do not keep the genuine document from being accepted: %s", (name) => {
    expect(isGenuineAccepted.get(name)).toBe(true);
  });
});

describe("forged uploads", () => {
  let outcome: UploadOutcome;

  beforeAll(async () => {
    outcome = await uploadForgeries(makeTempFolder(), UPLOADED, forger);
    const codeCounts = [...outcome.codes].map(([code, times]) => `${code} ${times}`).join(", ");
    console.log(`${outcome.sent} forged uploads, seed ${seed}: ${codeCounts}`);
  });

  test("are each refused with a valid error", () => {
    expect({ seed, problems: outcome.problems }).toEqual({ seed, problems: [] });
    expect(outcome.sent).toBeGreaterThanOrEqual(UPLOADED);
  });

  test("change no license, no vendor and no audit log", () => {
    expect(outcome.stateAfter).toBe(outcome.stateBefore);
  });

  testAfterAttack("forged uploads", () => outcome.after);
});
