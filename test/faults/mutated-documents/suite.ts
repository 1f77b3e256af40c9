// `bun run test:faults`: 100,000 random mutations of documents and of codes' decoded symbols. None
// may be accepted, none may throw, and nothing may be written for any of them.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openAppliance } from "../../../src/cli/appliance.ts";
import { demoIssueOptions } from "../../../src/cli/demo-license.ts";
import { canonicalizeCode, encodeCode } from "../../../src/license/code.ts";
import {
  decodeActivationCode,
  decodeConfirmationCode,
  verifyConfirmationCode,
} from "../../../src/license/confirmation.ts";
import { verifyLicenseRequest } from "../../../src/license/request.ts";
import { realDisk } from "../../../src/platform/disk.ts";
import { sha256 } from "../../../src/platform/hash.ts";
import { wallClock } from "../../../src/platform/clock.ts";
import { confirmActivation, createPolicy } from "../../../src/desk/airgap.ts";
import { Desk } from "../../../src/desk/desk.ts";
import { issueLicense } from "../../../src/desk/issue.ts";
import { unwrap } from "../../support/licensed-store.ts";
import { mutateDocument } from "../../support/mutate-document.ts";
import { check, finish, createRandom, makeTempFolder, seed } from "../../support/suite-harness.ts";

const EACH = 50_000;
const random = createRandom(seed);
const root = makeTempFolder();

const site = await openAppliance({
  folder: join(root, "site"),
  identityName: "rig",
  kind: "site",
  create: true,
  holder: "server",
});
const desk = await Desk.create(realDisk, join(root, "desk"), {
  name: "Rig",
  products: ["DEMO"],
  passphrase: null,
});
unwrap(
  await site.licensing.trustVendor(readFileSync(join(root, "desk", "trust.jwt"), "utf8"), "rig"),
);
const asked = unwrap(await site.licensing.request("DEMO", null, "rig"));
const request = unwrap(await verifyLicenseRequest(asked.document));
const { document } = await issueLicense(desk, demoIssueOptions(request, wallClock()));
const policy = await createPolicy(desk, "p", { product: "DEMO" }, wallClock());
const activation = unwrap(await site.airgap.createActivationCode("K", "", "rig"));
const { confirmation_code: code } = await confirmActivation(desk, {
  policy,
  licenseKey: "K",
  activationCode: activation.code,
  initializationCode: "",
  validUntil: null,
  serial: null,
  allowWeakBinding: true,
  now: wallClock(),
});
const before = site.operations.health().seq;
const confirmed = {
  activation: unwrap(decodeActivationCode(activation.code)),
  licenseKey: "K",
  policyHash: sha256(policy),
  initializationCode: "",
};
const confirms = async (typed: string): Promise<boolean> => {
  const read = decodeConfirmationCode(typed);
  return read.ok && verifyConfirmationCode(confirmed, read.value, desk.key);
};

await count("documents", async () => {
  const changed = mutateDocument(document, random);
  return changed === document || !(await site.licensing.installLicense(changed, "rig")).ok;
});
// Wrong codes are refused past 60 a minute, so the check itself is asked, not the route.
await count("codes", async () => {
  const changed = mutatedSymbols(code);
  if (canonicalizeCode(changed) === canonicalizeCode(code)) return true;
  return !(await confirms(changed));
});
check("nothing was written for any of them", site.operations.health().seq === before);
check("the real license is still taken", (await site.licensing.installLicense(document, "rig")).ok);
check("the real code still confirms", await confirms(code));
site.timekeeping.stop();
await site.operations.close();
finish();

async function count(what: string, refused: () => Promise<boolean>): Promise<void> {
  let accepted = 0;
  for (let n = 0; n < EACH; n += 1) if (!(await refused())) accepted += 1;
  check(`${EACH} mutated ${what}: ${accepted} accepted (seed ${seed})`, accepted === 0);
}

/** A bit of the 68 bytes flipped and the checks put right again: past every typing aid. */
function mutatedSymbols(text: string): string {
  const read = decodeConfirmationCode(text);
  if (!read.ok) throw new Error("the code to begin with is none");
  const bytes = Buffer.from(read.value.bytes, "hex");
  for (let flips = 1 + Math.floor(random() * 3); flips > 0; flips -= 1) {
    const bit = Math.floor(random() * bytes.length * 8);
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  }
  return encodeCode(bytes, 544);
}
