// Tries thousands of random mutations: of license documents, and of the decoded bytes of confirmation
// codes. None may be accepted, none may throw, and none may cause a write.
import { afterAll, beforeAll, describe, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openAppliance } from "../../../src/cli/serve/appliance.ts";
import { demoIssueOptions } from "../../../src/cli/vendor/demo-license.ts";
import { canonicalizeCode, encodeCode } from "../../../src/license/codes/code.ts";
import {
  decodeActivationCode,
  decodeConfirmationCode,
  verifyConfirmationCode,
} from "../../../src/license/codes/confirmation.ts";
import { verifyLicenseRequest } from "../../../src/license/requests/request.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { sha256 } from "../../../src/platform/crypto/hash.ts";
import { wallClock } from "../../../src/platform/clock.ts";
import {
  confirmActivation,
  createPolicy,
  USUAL_CONFIRMATION,
} from "../../../src/desk/issuing/airgap.ts";
import { Desk } from "../../../src/desk/desk.ts";
import { issueLicense } from "../../../src/desk/issuing/issue.ts";
import { unwrap } from "../../support/licensed-store.ts";
import { mutateDocument } from "../../support/mutate-document.ts";
import { chooseSize, createRandom, makeTempFolder, seed } from "../../support/suite-harness.ts";
import { expectPromise } from "../shared/promises.ts";

const MUTATIONS = chooseSize(20_000, 50_000);
const random = createRandom(seed);
const root = makeTempFolder();

/** A site with a license to install and a code to confirm, neither of which it has used yet. */
async function prepareSite() {
  const site = await openAppliance({
    folder: join(root, "site"),
    identityName: "suite",
    kind: "site",
    create: true,
    holder: "server",
  });
  const desk = await Desk.create(realDisk, join(root, "desk"), {
    name: "Suite",
    products: ["DEMO"],
    passphrase: null,
  });
  const trustDocument = readFileSync(join(root, "desk", "trust.jwt"), "utf8");
  unwrap(await site.vendorTrust.trustVendor(trustDocument, "suite"));
  const requested = unwrap(await site.licensing.request("DEMO", null, "suite"));
  const request = unwrap(await verifyLicenseRequest(requested.document));
  const { document } = await issueLicense(desk, demoIssueOptions(request, wallClock()));
  const policy = await createPolicy(desk, "p", { product: "DEMO", valid_until: null }, wallClock());
  const activation = unwrap(await site.airgap.createActivationCode("K", "", "suite"));
  const { confirmation_code: code } = await confirmActivation(desk, {
    ...USUAL_CONFIRMATION,
    policy,
    licenseKey: "K",
    activationCode: activation.code,
    allowWeakBinding: true,
    now: wallClock(),
  });
  const activationToConfirm = {
    activation: unwrap(decodeActivationCode(activation.code)),
    licenseKey: "K",
    policyHash: sha256(policy),
    initializationCode: "",
  };
  const isConfirmed = async (typedCode: string): Promise<boolean> => {
    const decoded = decodeConfirmationCode(typedCode);
    return (
      decoded.ok && verifyConfirmationCode(activationToConfirm, decoded.value, desk.issuing.key)
    );
  };
  return { site, document, code, isConfirmed, seqBefore: site.applianceStatus.storageStatus().seq };
}

describe(`${MUTATIONS} mutations`, () => {
  let prepared: Awaited<ReturnType<typeof prepareSite>>;

  beforeAll(async () => {
    prepared = await prepareSite();
  });

  afterAll(async () => {
    prepared.site.timekeeping.stop();
    await prepared.site.close();
  });

  test("of a license document are all refused", async () => {
    const { site, document } = prepared;
    await expectRefused(async () => {
      const mutated = mutateDocument(document, random);
      return mutated === document || !(await site.licensing.installLicense(mutated, "suite")).ok;
    });
  });

  // The route refuses more than 60 wrong codes a minute, so this calls the check itself.
  test("of a confirmation code are all refused", async () => {
    const { code, isConfirmed } = prepared;
    await expectRefused(async () => {
      const mutated = mutateCode(code);
      if (canonicalizeCode(mutated) === canonicalizeCode(code)) return true;
      return !(await isConfirmed(mutated));
    });
  });

  test("write nothing to the journal", () => {
    const { site, seqBefore } = prepared;
    expectPromise(
      site.applianceStatus.storageStatus().seq === seqBefore,
      site.applianceStatus.storageStatus(),
    );
  });

  test("do not prevent the unchanged license from being installed", async () => {
    const { site, document } = prepared;
    const installed = await site.licensing.installLicense(document, "suite");
    expectPromise(installed.ok, installed);
  });

  test("do not prevent the unchanged confirmation code from being confirmed", async () => {
    expectPromise(await prepared.isConfirmed(prepared.code), "the code was refused");
  });
});

async function expectRefused(isRefused: () => Promise<boolean>): Promise<void> {
  let accepted = 0;
  for (let n = 0; n < MUTATIONS; n += 1) if (!(await isRefused())) accepted += 1;
  expectPromise(accepted === 0, `${accepted} accepted, SEED=${seed}`);
}

/**
 * Flips bits of the 68 bytes and encodes them again with valid check symbols, so that only the
 * signature can refuse the code.
 */
function mutateCode(text: string): string {
  const decoded = decodeConfirmationCode(text);
  if (!decoded.ok) throw new Error("the confirmation code to mutate is not valid");
  const bytes = Buffer.from(decoded.value.bytes, "hex");
  for (let flips = 1 + Math.floor(random() * 3); flips > 0; flips -= 1) {
    const bit = Math.floor(random() * bytes.length * 8);
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  }
  return encodeCode(bytes, 544);
}
