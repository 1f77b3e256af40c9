import { instant, type Instant } from "../../domain/time.ts";
import { readDocumentHeader } from "../../license/documents/document.ts";
import { describeDocumentFault } from "../../license/documents/document-fault.ts";
import {
  canonicalizeCode,
  CODE_BITS,
  describeCodeFault,
  encodeCode,
} from "../../license/codes/code.ts";
import {
  canHoldEnd,
  signConfirmationCode,
  decodeActivationCode,
  decodeConfirmationCode,
  verifyConfirmationCode,
  type ActivationCode,
  type ConfirmationClaims,
} from "../../license/codes/confirmation.ts";
import { keyIdOf, publicKeyBytes, type PublicKey } from "../../license/documents/keys.ts";
import type { Signer } from "../../license/documents/trust.ts";
import { signPolicy, verifyPolicy, type Policy } from "../../license/terms/policy.ts";
import type { TermsChanges } from "../../license/terms/terms-changes.ts";
import type { TermsDocument } from "../../license/terms/terms.ts";
import { sha256 } from "../../platform/crypto/hash.ts";
import { randomBytes } from "../../platform/crypto/random.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { deriveAirgapLicenseId } from "../../license/codes/airgap-id.ts";
import type { Desk } from "../desk.ts";
import { refuseEndedLicense } from "./renewed-license.ts";
import { normalizeLicenseKey } from "./license-key.ts";
import { DecisionNeeded, DeskRefused } from "../desk-refused.ts";
import {
  findWriteOffs,
  judgeUse,
  needsConsent,
  type Claim,
  type JudgedUse,
  type Reason,
} from "../orders/judge-use.ts";
import { describePolicyDifference } from "../orders/orders.ts";
import { buildWriteOff, type WriteOff } from "../orders/write-off.ts";
import { applyTermsChanges, describeDocumentDifference, isSameTerms } from "./apply-terms.ts";
import type { Append } from "../ledger/ledger.ts";
import type { IssuedEntry, OrderEntry, PolicyEntry } from "../ledger/ledger-entries.ts";

/**
 * Builds the complete terms of a policy. One id names one policy: other terms for an id that is on
 * the ledger are refused, unless they replace it.
 */
export function buildPolicyTerms(
  desk: Desk,
  policyId: string,
  changes: TermsChanges,
  { isReplacing = false } = {},
): TermsDocument {
  const terms = applyTermsChanges(desk, null, changes);
  const before = findPolicy(desk, policyId);
  if (before === undefined || isReplacing || isSameTerms(before.terms, terms)) return terms;
  const difference = describeDocumentDifference(before.terms, terms).join("; ");
  throw new DeskRefused(
    `policy ${policyId} is in the ledger since ${before.at.slice(0, 10)} with other terms: ${difference}`,
    "choose another --policy-id, or use --replace if no site has the earlier policy",
  );
}

/** The same id with the same terms gives the same document again. */
export function createPolicy(
  desk: Desk,
  policyId: string,
  changes: TermsChanges,
  now: Instant,
  replacing: { readonly isReplacing?: boolean } = {},
): Promise<string> {
  return desk.transact(async (append) => {
    const terms = buildPolicyTerms(desk, policyId, changes, replacing);
    const before = findPolicy(desk, policyId);
    if (before !== undefined && isSameTerms(before.terms, terms)) {
      const signed = await verifyPolicy(before.document, [desk.vendor]);
      // The current certificate may be newer: then codes of the policy can be confirmed longer.
      const header = readDocumentHeader(before.document);
      const isCurrent = header.ok && header.value.cert === desk.issuing.cert;
      if (signed.ok && isCurrent) return before.document;
    }
    const iat = Math.floor(now / 1_000);
    const policy = { iss: desk.vendor.vendor, iat, policy_id: policyId, terms };
    const document = await signPolicy(policy, desk.issuing);
    const key = keyIdOf(desk.issuing.key);
    await append({ type: "policy", at: rfc3339(now), key, policy_id: policyId, terms, document });
    return document;
  });
}

/** The newest policy with this id. */
const findPolicy = (desk: Desk, id: string): PolicyEntry | undefined =>
  desk.ledger.policiesNamed(id).at(-1);

/**
 * Refuses a policy that was replaced. Returns the entry to append for a policy that the desk signed
 * and whose line is lost.
 */
function checkPolicy(
  desk: Desk,
  { policy_id, terms }: Policy,
  document: string,
  key: string,
): NewPolicy[] {
  const newest = findPolicy(desk, policy_id);
  if (newest === undefined) return [{ type: "policy", key, policy_id, terms, document }];
  const isListed = desk.ledger
    .policiesNamed(policy_id)
    .some((entry) => entry.document === document);
  if (isListed && newest.document !== document) {
    throw new DeskRefused(
      `policy ${policy_id} was replaced on ${newest.at.slice(0, 10)}`,
      "use the newer policy with this id, both at the site and for --policy",
    );
  }
  return [];
}

type NewPolicy = Omit<PolicyEntry, "at">;

/** One full row: too long to guess, short enough to read out. */
export const generateInitializationCode = (): string =>
  encodeCode(Buffer.from(randomBytes(12), "hex"), CODE_BITS.initialization);

export interface ConfirmOptions {
  readonly policy: string;
  readonly licenseKey: string;
  readonly activationCode: string;
  readonly initializationCode: string;
  readonly validUntil: Instant | null;
  readonly serial: number | null;
  readonly allowWeakBinding: boolean;
  /** The lost machine whose place the appliance takes; null: none was lost. */
  readonly writeOff: WriteOff | null;
  /** Whether a person saw why the order does not cover it, and decided to confirm it. */
  readonly isDecided: boolean;
  readonly now: Instant;
}

/** To confirm a code without any choice of the vendor. */
export const USUAL_CONFIRMATION = {
  initializationCode: "",
  validUntil: null,
  serial: null,
  allowWeakBinding: false,
  writeOff: null,
  isDecided: false,
} as const;

const MAX_SERIAL = 65_535;

export interface Confirmed {
  readonly policy_id: string;
  readonly terms: TermsDocument;
  readonly confirmation_code: string;
  /** Why the order did not cover it, and a person decided; empty: it did. */
  readonly reasons: readonly Reason[];
  /** The license of the lost machine; null: none was lost. */
  readonly lost: IssuedEntry | null;
}

/** Signs a confirmation code for one appliance's activation code. */
export async function confirmActivation(desk: Desk, options: ConfirmOptions): Promise<Confirmed> {
  const document = options.policy.replaceAll(/\s/g, "");
  const policy = await verifyPolicy(document, [desk.vendor]);
  if (!policy.ok) {
    throw new DeskRefused(
      `the policy ${describeDocumentFault(policy.fault)}`,
      "create one with berth vendor policy",
    );
  }
  const activation = decodeActivationCode(options.activationCode);
  if (!activation.ok) {
    throw new DeskRefused(
      `this is not an activation code: ${describeCodeFault(activation.fault)}`,
      "ask the site to read it out again",
    );
  }
  // Before others wait for this command: a key with a passphrase takes a moment.
  await desk.openKey(policy.value.signer, options.now);
  const { signer } = policy.value;
  const checked = { document, policy: policy.value.policy, signer, activation: activation.value };
  return desk.transact((append) => signCode(desk, options, checked, append));
}

interface CheckedActivation {
  readonly document: string;
  readonly policy: Policy;
  readonly signer: Signer;
  readonly activation: ActivationCode;
}

async function signCode(
  desk: Desk,
  options: ConfirmOptions,
  { document, policy, signer, activation }: CheckedActivation,
  append: Append,
): Promise<Confirmed> {
  const key = await desk.openKey(signer, options.now);
  const keyId = keyIdOf(signer.key);
  const { appliance, nonce } = activation;
  const { policy_id } = policy;
  const newPolicies = checkPolicy(desk, policy, document, keyId);
  const license_key = normalizeLicenseKey(options.licenseKey);
  const order = desk.ledger.orders.findOrder(license_key);
  if (activation.weak && !options.allowWeakBinding && order?.allow_weak_binding !== true) {
    throw new DeskRefused(
      "the appliance has a weak hardware binding",
      "--allow-weak-binding accepts it",
    );
  }
  const validUntil = order === null ? options.validUntil : readCodeEnd(order, options);
  const end = validUntil === null ? {} : { valid_until: rfc3339(validUntil) };
  const terms = { ...policy.terms, license_key, ...end };
  const initialization_code = canonicalizeCode(options.initializationCode);
  const before = desk.ledger
    .issuedTo(appliance)
    .filter((entry) => entry.request_id === nonce)
    .toReversed();
  for (const entry of before) {
    refuseEndedLicense(desk.ledger, entry, "ask the site to create a new activation code");
  }
  const policy_hash = sha256(document);
  const hasOtherTerms = (entry: IssuedEntry): boolean =>
    entry.policy_hash !== policy_hash || !Bun.deepEquals(entry.terms, terms);
  if (before.some(hasOtherTerms)) {
    throw new DeskRefused(
      "this activation code was already confirmed with other terms",
      "ask the site to create a new one",
    );
  }
  // Another initialization code gives another answer; the site can use at most one of them.
  const sameCode = before.filter((entry) => entry.initialization_code === initialization_code);
  const claims: ConfirmationClaims = {
    activation,
    licenseKey: license_key,
    policyHash: policy_hash,
    initializationCode: options.initializationCode,
  };
  // The site does not accept a code for the other kind of activation.
  const confirmed: Omit<Confirmed, "confirmation_code"> = {
    policy_id,
    terms,
    reasons: [],
    lost: null,
  };
  for (const { document: code } of sameCode) {
    if (await isValidCode(claims, code, key)) {
      return { ...confirmed, confirmation_code: code };
    }
  }
  const judged = order === null ? null : judgeCode(desk, order, policy, options, activation);
  const reasons = judged?.reasons ?? findWriteOffs(desk.ledger, appliance);
  if (!options.isDecided && reasons.some(needsConsent)) {
    throw new DecisionNeeded(
      "reasons",
      reasons.map(({ text }) => text).join("; "),
      "--yes confirms the code nevertheless",
    );
  }
  const id = deriveAirgapLicenseId(publicKeyBytes(desk.vendor.jwk), license_key);
  const serial =
    options.serial ??
    sameCode[0]?.serial ??
    nextSerial(desk, id, order === null ? appliance : null);
  if (serial < 1 || serial > MAX_SERIAL) {
    throw new DeskRefused(`the serial must be from 1 to ${MAX_SERIAL}`, "omit --serial");
  }
  const code = await signConfirmationCode(claims, { validUntil, serial }, key);
  const decoded = decodeConfirmationCode(code);
  if (!decoded.ok) throw new Error("the created code cannot be read");
  const at = rfc3339(options.now);
  const lost = judged?.lost ?? null;
  const writeOffs =
    lost === null || options.writeOff === null
      ? []
      : [buildWriteOff(lost, nonce, options.writeOff.reason, at)];
  await append(...newPolicies.map((policyEntry) => ({ ...policyEntry, at })), ...writeOffs, {
    type: "issued",
    at,
    key: keyId,
    license_id: id,
    serial,
    appliance,
    jwk: null,
    hardware_id: activation.hardwarePrefix,
    request_id: nonce,
    initialization_code,
    policy_hash,
    ...(judged !== null && { use: judged.use }),
    terms,
    document: code,
  });
  return { policy_id, terms, reasons, lost, confirmation_code: code };
}

async function isValidCode(
  claims: ConfirmationClaims,
  code: string,
  key: PublicKey,
): Promise<boolean> {
  const decoded = decodeConfirmationCode(code);
  return decoded.ok && verifyConfirmationCode(claims, decoded.value, key);
}

/** The end of an order is that of the code; the code has no other terms of its own. */
function readCodeEnd({ license_key, terms }: OrderEntry, { validUntil }: ConfirmOptions) {
  const end = terms.valid_until === null ? null : instant(Date.parse(terms.valid_until));
  if (validUntil !== null && validUntil !== end) {
    throw new DeskRefused(
      `the order ${license_key} ${end === null ? "has no end" : `ends on ${rfc3339(end)}`}`,
      `omit --valid-until, or change the order: berth vendor order change ${license_key}`,
    );
  }
  if (end === null || canHoldEnd(end)) return end;
  throw new DeskRefused(
    `the order ${license_key} ends on ${rfc3339(end)}, and a code can only hold a day until 2149`,
    `change its end: berth vendor order change ${license_key} --valid-until DAY`,
  );
}

function judgeCode(
  desk: Desk,
  order: OrderEntry,
  { policy_id, terms }: Policy,
  { serial, writeOff, now }: ConfirmOptions,
  { appliance, hardwarePrefix }: ActivationCode,
): JudgedUse {
  const { license_key } = order;
  if (order.policy_id !== policy_id) {
    throw new DeskRefused(
      order.policy_id === undefined
        ? `the order ${license_key} names no policy`
        : `the order ${license_key} is for policy ${order.policy_id}, not for ${policy_id}`,
      `berth vendor order change ${license_key} --policy-id ID`,
    );
  }
  const differences = describePolicyDifference(order.terms, terms);
  if (differences.length > 0) {
    throw new DeskRefused(
      `policy ${policy_id} differs from the order ${license_key}: ${differences.join("; ")}`,
      "change the order to the terms of the policy, or sign another policy and name it in the order",
    );
  }
  if (serial !== null) {
    throw new DeskRefused(
      `the order ${license_key} decides whether a code may be confirmed`,
      "omit --serial; --write-off APPLIANCE frees the place of a lost machine",
    );
  }
  const claim: Claim = {
    appliance,
    form: "code",
    isElsewhere: (license) => license.hardware_id !== hardwarePrefix,
    hasInstalled: () => null,
    showsLoss: false,
    lostAppliance: writeOff?.appliance ?? null,
  };
  return judgeUse(desk.ledger, order, claim, now);
}

/** The next serial of a license. `appliance`: refused while another one uses it; null: it may. */
function nextSerial(desk: Desk, id: number, appliance: string | null): number {
  const issued = desk.ledger.issuedAs(id);
  const otherLicense =
    appliance === null ? undefined : issued.findLast((entry) => entry.appliance !== appliance);
  if (otherLicense !== undefined && !desk.ledger.isEnded(otherLicense)) {
    throw new DeskRefused(
      "another appliance has a license with this license key",
      "ask that site to return it first, or use --serial N to continue anyway",
    );
  }
  return Math.max(0, ...issued.map(({ serial }) => serial)) + 1;
}
