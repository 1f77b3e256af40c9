// A site before its first license: one vendor is trusted, and requests to it are open.
import type { LicenseUpload } from "../../src/domain/requests/license-upload.ts";
import type { LicenseGenerate } from "../../src/domain/requests/license-generate.ts";
import {
  type Grant,
  type OpenRequest,
  type State,
  type TrustedVendor,
} from "../../src/domain/model/state.ts";
import type { SigningKey } from "../../src/domain/trust/trust.ts";
import type { Terms } from "../../src/domain/model/licenses/terms.ts";
import { keyIdOf, keyOfSeed, publicPart } from "../../src/license/documents/keys.ts";
import { instant } from "../../src/domain/time.ts";
import { emptyMutableState, type MutableState } from "../../src/domain/evolve/mutable-state.ts";

/** The keys of the vendor, always the same. */
export const ROOT = keyOfSeed(new Uint8Array(32).fill(1));
export const ISSUING = keyOfSeed(new Uint8Array(32).fill(2));

export const VENDOR: TrustedVendor = {
  vendor: keyIdOf(ROOT),
  name: "Vendor",
  version: 1,
  products: ["cad", "cam", "constructor", "__proto__", "toString", "hasOwnProperty", "valueOf"],
  jwk: publicPart(ROOT),
  retired: [],
  document: "trust 1",
  sum: "e5".repeat(32),
  notice: null,
};

/** The issuing key of the vendor, which does not end. */
export const SIGNER: SigningKey = {
  vendor: VENDOR.vendor,
  key: keyIdOf(ISSUING),
  trust: 1,
  until: 253_402_300_799,
};

export const HARDWARE = [
  { kind: "machine_id", digest: "a1".repeat(32) },
  { kind: "mac", digest: "b2".repeat(32) },
];
export const HARDWARE_ID = "c3".repeat(32);
export const AUDIT_HEAD = { auditSeq: 7, auditSum: "d4".repeat(32) };

/** Nine in the morning, UTC, of 2 March 2026. */
const MADE_AT = instant(1_772_442_000_000);
const OPEN_REQUESTS = 24;

export const makeOpenRequest = (request: string): OpenRequest => ({
  request,
  nonce: `nonce of ${request}`,
  at: MADE_AT,
  product: null,
  licenseKey: null,
  hardwareId: HARDWARE_ID,
  hardware: HARDWARE,
  report: { createdAt: MADE_AT, licenses: [], restores: [], trust: [] },
});

export function makeRequestCommand(request: string): LicenseGenerate {
  const { at: _at, report: _report, ...fields } = makeOpenRequest(request);
  return { type: "LicenseGenerate", request: fields, head: AUDIT_HEAD, peer: "10.0.0.1" };
}

/** The id of the open request for a license. */
export const requestIdFor = (license: number): string => `request ${license}`;

export const answerTo = (request: string): LicenseUpload["answers"] => ({
  request,
  nonce: makeOpenRequest(request).nonce,
});

/** The initial state of every scenario: exactly what `install` needs to be granted. */
export function makeNewSite(): MutableState {
  const state = emptyMutableState("site");
  state.vendors.set(VENDOR.vendor, VENDOR);
  for (let license = 1; license <= OPEN_REQUESTS; license += 1) {
    const open = makeOpenRequest(requestIdFor(license));
    state.requests.set(open.request, open);
  }
  return state;
}

/** Other terms or another serial give another document, as with real signatures. */
export function makeGrant(license: number, terms: Terms, serial = 1): Grant {
  const document = `license ${license}.${serial}.${Bun.hash(JSON.stringify(terms))}`;
  const lic = new Bun.CryptoHasher("sha256").update(document).digest("hex");
  const binding = { hardwareId: HARDWARE_ID, hardware: HARDWARE };
  const { vendor, key, until: keyUntil } = SIGNER;
  return { vendor, key, keyUntil, serial, document, lic, policyId: null, ...binding };
}

/** The vendor's next license: a newer serial if it is installed, else an answer to a request. */
export function makeNextInstall(state: State, command: LicenseUpload): LicenseUpload {
  const { license, terms, grant } = command;
  const installed = state.licenses.get(license);
  const lastSerial = installed?.grant.serial ?? state.tombstones.get(license)?.serial ?? 0;
  const { hardware: _hardware, ...next } = makeGrant(license, terms, lastSerial + 1);
  const [open] = state.requests.keys();
  const answers = installed !== undefined || open === undefined ? null : answerTo(open);
  return { ...command, grant: { ...grant, ...next }, answers };
}
