import type { Instant } from "../domain/time.ts";
import { isWeakBinding, type HashedComponent } from "../license/hardware.ts";
import type { PublicKey } from "../license/keys.ts";
import { signLicense } from "../license/license.ts";
import type { LicenseRequest } from "../license/request.ts";
import type { TermsChanges } from "../license/terms-changes.ts";
import type { TermsDocument } from "../license/terms.ts";
import { sha256 } from "../platform/hash.ts";
import { rfc3339 } from "../platform/rfc3339.ts";
import { isContinuation, buildSeenEntry, findReturnedButInstalled } from "./request-continuity.ts";
import type { Desk } from "./desk.ts";
import { refuseReturnedLicense } from "./returned-license.ts";
import { isSignedWithRetiredKey } from "./license-list.ts";
import { isSameLicenseKey, normalizeLicenseKey } from "./license-key.ts";
import { DeskRefused } from "./desk-refused.ts";
import type { LedgerEntry, IssuedEntry } from "./ledger.ts";
import { applyTermsChanges, describeDocumentDifference, isSameTerms } from "./apply-terms.ts";

export interface IssueOptions {
  /** Null: a renewal from the ledger, where nothing can come out of the site. */
  readonly request: LicenseRequest | null;
  readonly renewLicenseId: number | null;
  readonly licenseId: number | null;
  readonly isNew: boolean;
  readonly licenseKey: string | null;
  /** Terms not given are those of the license before. */
  readonly terms: TermsChanges;
  readonly allowWeakBinding: boolean;
  readonly acceptForkReason: string | null;
  readonly now: Instant;
}

/** A license that is ready to be signed; nothing was changed for it yet. */
export interface PreparedLicense {
  /** The license it renews; null: it is a new one. */
  readonly before: IssuedEntry | null;
  /** The license that answers this request already, with these terms; null: there is none. */
  readonly answered: IssuedEntry | null;
  readonly license_id: number;
  readonly serial: number;
  readonly terms: TermsDocument;
  /** What it changes of the license it renews, one text for each term. */
  readonly changes: readonly string[];
  readonly request: LicenseRequest | null;
  readonly bound: ApplianceBinding;
  readonly notes: readonly LedgerEntry[];
  readonly now: Instant;
}

/** Everything that can be refused is refused here. */
export function prepareLicense(desk: Desk, options: IssueOptions): PreparedLicense {
  const { request, now } = options;
  const answered = request === null ? null : answerTo(desk, request);
  if (request !== null && answered !== null) return sameAnswer(desk, request, options, answered);
  const before = previous(desk, options);
  const terms = termsOf(desk, options, before);
  const end = terms.valid_until;
  // A renewal may end a license early; an answer that is over on arrival is a slip of the hand.
  if (request !== null && end !== null && Date.parse(end) <= now) {
    throw new DeskRefused(
      `the license would already have ended on ${end}`,
      "specify a future day with --valid-until",
    );
  }
  const notes = request === null ? [] : checkRequest(desk, request, options, rfc3339(now));
  const bound = bindingOf(request, before);
  const known = request?.licenses.find((one) => one.license_id === before?.license_id);
  const serial = Math.max(before?.serial ?? 0, known?.serial ?? 0) + 1;
  const license_id = before?.license_id ?? newId(desk, request);
  const changes = before === null ? [] : describeDocumentDifference(before.terms, terms);
  return { before, answered, license_id, serial, terms, changes, request, bound, notes, now };
}

/** A request is answered once: with the same terms again, the answer is the same document. */
function sameAnswer(
  desk: Desk,
  request: LicenseRequest,
  options: IssueOptions,
  answered: IssuedEntry,
): PreparedLicense {
  const { license_id, serial, terms } = answered;
  refuseReturnedLicense(desk, answered, "ask the site for a new request; it gets a new license");
  if (isSignedWithRetiredKey(desk, answered)) {
    throw new DeskRefused(
      "this request was answered with a key that is now retired; sites refuse that license",
      "ask the site for a new request",
    );
  }
  const isOther = (options.licenseId ?? license_id) !== license_id;
  if (isOther || !changesNothing(desk, options, answered)) {
    throw new DeskRefused(
      "this request was already answered with other terms",
      "ask the site for a new request, or renew with --renew",
    );
  }
  const bound = bindingOf(request, answered);
  const about = { before: null, changes: [], request, bound, notes: [], now: options.now };
  return { answered, license_id, serial, terms, ...about };
}

function changesNothing(desk: Desk, options: IssueOptions, { terms }: IssuedEntry): boolean {
  // What the answer took away is gone from it, and cannot be taken away once more.
  const features = [...terms.features, ...(options.terms.features ?? [])];
  const codes = new Set(features.map(({ code }) => code));
  const without = (options.terms.without ?? []).filter((code) => codes.has(code));
  const product = options.terms.product ?? options.request?.product ?? terms.product;
  const license_key = keyOf(options) ?? terms.license_key;
  const changes = { ...options.terms, product, license_key, without };
  return isSameTerms(terms, applyTermsChanges(desk, terms, changes));
}

/** Signs a license for one appliance; on the ledger before it leaves. */
export async function issueLicense(desk: Desk, options: IssueOptions): Promise<IssuedEntry> {
  return signPreparedLicense(desk, prepareLicense(desk, options));
}

export async function signPreparedLicense(
  desk: Desk,
  prepared: PreparedLicense,
): Promise<IssuedEntry> {
  const { answered, license_id, serial, terms, request, bound, notes, now } = prepared;
  if (answered !== null) return answered;
  const request_id = request?.request_id ?? null;
  const document = await signLicense(
    {
      iss: desk.vendor.vendor,
      iat: Math.floor(now / 1_000),
      license_id,
      serial,
      request_id,
      nonce: request?.nonce ?? null,
      appliance: bound.appliance,
      cnf: { jwk: bound.jwk },
      hardware_id: bound.hardware_id,
      terms,
    },
    desk.key,
  );
  const signed = { license_id, serial, ...bound, request_id, terms, document };
  const issued: IssuedEntry = { type: "issued", at: rfc3339(now), ...signed };
  await desk.ledger.append(...notes, issued);
  return issued;
}

/** A request is one appliance's: another may have taken its id over. */
const answerTo = (desk: Desk, { request_id, appliance }: LicenseRequest): IssuedEntry | null =>
  desk.ledger
    .issuedEntries()
    .find((one) => one.request_id === request_id && one.appliance === appliance) ?? null;

/** The key that is said, in this order: as a flag, in a file of terms, by the site. */
function keyOf({ licenseKey, terms, request }: IssueOptions): string | null {
  const key = licenseKey ?? terms.license_key ?? request?.license_key ?? null;
  return key === null ? null : normalizeLicenseKey(key);
}

/** The license this answer continues, if any. */
function previous(desk: Desk, options: IssueOptions): IssuedEntry | null {
  const { request, renewLicenseId, licenseId, isNew } = options;
  const issued = desk.ledger.issuedEntries();
  const wanted = renewLicenseId ?? licenseId;
  if (wanted !== null) {
    const found = issued.find((one) => one.license_id === wanted);
    if (found === undefined) {
      throw new DeskRefused(
        `license ${wanted} is not in the ledger`,
        "berth vendor list shows the licenses",
      );
    }
    if (request !== null && found.appliance !== request.appliance) {
      throw new DeskRefused(
        `license ${wanted} belongs to another appliance`,
        "ask that site to return it first, or issue an additional license with --new",
      );
    }
    refuseReturnedLicense(
      desk,
      found,
      request === null
        ? "ask the site for a new request; berth vendor issue --request FILE creates a new license"
        : "omit --license-id to issue a new license for the request",
    );
    return found;
  }
  if (isNew || request === null) return null;
  const product = options.terms.product ?? request.product;
  const key = keyOf(options);
  const candidates = new Map<number, IssuedEntry>();
  for (const one of issued) {
    const fits = one.appliance === request.appliance && one.terms.product === product;
    const keyed = key === null || isSameLicenseKey(one.terms.license_key, key);
    const gone = one.jwk === null || desk.ledger.isReturned(one);
    const fresh = !candidates.has(one.license_id);
    if (fits && keyed && !gone && fresh) candidates.set(one.license_id, one);
  }
  const elsewhere = issued.some(
    (one) =>
      key !== null &&
      isSameLicenseKey(one.terms.license_key, key) &&
      one.appliance !== request.appliance &&
      !desk.ledger.isReturned(one),
  );
  if (elsewhere) {
    throw new DeskRefused(
      "another appliance has a license with this license key",
      "ask that site to return it first, or issue an additional license with --new",
    );
  }
  if (candidates.size > 1) {
    throw new DeskRefused(
      "the ledger has several licenses of this product for this appliance",
      "choose one with --license-id ID, or issue an additional license with --new",
    );
  }
  return candidates.values().next().value ?? null;
}

function termsOf(desk: Desk, options: IssueOptions, before: IssuedEntry | null): TermsDocument {
  const { terms, request } = options;
  const product = terms.product ?? request?.product ?? before?.terms.product;
  if (before !== null && product !== before.terms.product) {
    throw new DeskRefused(
      `license ${before.license_id} is for ${before.terms.product}, not for ${product}`,
      "for another product, issue a new license: --request FILE --new",
    );
  }
  const license_key = keyOf(options) ?? before?.terms.license_key ?? null;
  const changes = { ...terms, license_key, ...(product !== undefined && { product }) };
  return applyTermsChanges(desk, before?.terms ?? null, changes);
}

const FORKED =
  "the site's audit log does not continue the last one seen: it is a restored copy or a cloned machine";

/** What an answer must not be given to, unless somebody says so. */
function checkRequest(
  desk: Desk,
  request: LicenseRequest,
  options: IssueOptions,
  at: string,
): LedgerEntry[] {
  const hardware = request.hardware as readonly HashedComponent[];
  if (hardware.length === 0 || (isWeakBinding(hardware) && !options.allowWeakBinding)) {
    throw new DeskRefused(
      "the appliance has a weak hardware binding: fewer than two components can be identified",
      hardware.length === 0
        ? "run the server on a machine whose hardware can be identified"
        : "--allow-weak-binding accepts it",
    );
  }
  const seen = buildSeenEntry(desk, request, at);
  const isForked = !isContinuation(desk, request);
  const installed = findReturnedButInstalled(desk, request);
  if (!isForked && installed.length === 0) return [seen];
  const { appliance, request_id } = request;
  if (options.acceptForkReason === null) {
    const giveBack = "ask the site to remove it again and create a new request; ";
    throw new DeskRefused(
      [...(isForked ? [FORKED] : []), ...installed].join("; "),
      `${installed.length === 0 ? "" : giveBack}--accept-fork "REASON" accepts it and records the reason in the ledger`,
    );
  }
  return [{ type: "forked", at, appliance, request_id, reason: options.acceptForkReason }, seen];
}

interface ApplianceBinding {
  readonly appliance: string;
  readonly jwk: PublicKey;
  readonly hardware_id: string;
}

function bindingOf(request: LicenseRequest | null, before: IssuedEntry | null): ApplianceBinding {
  const from = request ?? before;
  if (from === null) {
    throw new DeskRefused("there is no request to answer", "use --request or --renew");
  }
  const { appliance, jwk, hardware_id } = from;
  if (jwk === null) {
    throw new DeskRefused(
      "this license was issued as a code, and the ledger has no key of the appliance",
      "confirm its next activation code with berth vendor confirm",
    );
  }
  return { appliance, jwk, hardware_id };
}

/** 48 bits of who asked whom: fits every number type there is. */
const newId = (desk: Desk, request: LicenseRequest | null): number =>
  Number.parseInt(sha256(nameOf(desk, request)).slice(0, 12), 16) || 1;

const nameOf = (desk: Desk, request: LicenseRequest | null): string =>
  [desk.vendor.vendor, request?.appliance, request?.request_id].join(" ");
