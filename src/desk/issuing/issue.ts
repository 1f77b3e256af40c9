import type { Instant } from "../../domain/time.ts";
import { isWeakBinding, type HashedComponent } from "../../license/documents/hardware.ts";
import { keyIdOf, publicPart, type PublicKey } from "../../license/documents/keys.ts";
import { readUnverifiedPayload } from "../../license/documents/document.ts";
import { signLicense, type LicenseDocument } from "../../license/documents/license.ts";
import type { LicenseRequest } from "../../license/requests/request.ts";
import type { TermsDocument } from "../../license/terms/terms.ts";
import { sha256 } from "../../platform/crypto/hash.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { buildSeenEntry, findReturnedButInstalled } from "./request-continuity.ts";
import { findComparedEntries, isContinuation } from "./request-order.ts";
import type { Desk } from "../desk.ts";
import type { Append } from "../ledger/ledger.ts";
import { endOfKey, type DeskFacts } from "../desk-records.ts";
import { refuseEndedLicense, findLostLicense, findRenewedLicense } from "./renewed-license.ts";
import { findWriteOffs, type Reason } from "../orders/judge-use.ts";
import { listHardware, placeUnderOrder, type Placement } from "../orders/order-placement.ts";
import { buildWriteOff } from "../orders/write-off.ts";
import { buildRestoredEntries, findUnknownLicenses } from "../orders/unknown-licenses.ts";
import { isSignedWithRetiredKey } from "../ledger/license-list.ts";
import { DecisionNeeded, DeskRefused } from "../desk-refused.ts";
import { describeHostDifference } from "../../domain/licenses/terms-difference.ts";
import { findSplits } from "./pair-continuity.ts";
import { findRepeatedRestores, listGraces } from "./restore-grace.ts";
import { readLicenseKey, type IssueOptions } from "./issue-options.ts";
import type { LedgerEntry, IssuedEntry, SeenEntry } from "../ledger/ledger-entries.ts";
import { applyTermsChanges, describeDocumentDifference, isSameTerms } from "./apply-terms.ts";

/** A license that is ready to be signed; nothing is written yet. */
export interface PreparedLicense {
  /** The license that it renews; null: it is a new license. */
  readonly before: IssuedEntry | null;
  /** The license that already answers this request with these terms; null: none does. */
  readonly answered: IssuedEntry | null;
  readonly license_id: number;
  readonly serial: number;
  /** The site has this serial, which the ledger does not know; null: it has none such. */
  readonly unknownSerial: number | null;
  readonly terms: TermsDocument;
  /** The differences from the license that it renews, one text for each term. */
  readonly changes: readonly string[];
  readonly request: LicenseRequest | null;
  readonly bound: ApplianceBinding;
  /** What it uses of its order; null: no order concerns it. */
  readonly placement: Placement | null;
  /** The license of a lost machine, which this one replaces; null: none. */
  readonly lost: IssuedEntry | null;
  /** Why a person must decide; empty: the order covers it. */
  readonly reasons: readonly Reason[];
  readonly notes: readonly LedgerEntry[];
  readonly now: Instant;
}

/** Makes every check, and writes nothing. */
export function prepareLicense(desk: DeskFacts, options: IssueOptions): PreparedLicense {
  const { request, now } = options;
  const answered = request === null ? null : findAnswer(desk, request);
  if (request !== null && answered !== null) return repeatAnswer(desk, request, options, answered);
  const { writeOff } = options;
  const recovered = findRecovered(desk, options);
  const wanted = recovered === null ? options : { ...options, licenseId: null, isNew: true };
  const placement = placeUnderOrder(desk, wanted);
  const lost =
    placement === null && writeOff !== null
      ? findLostLicense(desk.ledger, wanted, writeOff.appliance)
      : (placement?.lost ?? null);
  const before =
    placement === null && lost === null
      ? findRenewedLicense(desk.ledger, wanted)
      : (placement?.before ?? null);
  const terms = placement?.terms ?? buildTerms(desk, options, before, lost);
  if (recovered !== null && recovered.product !== terms.product)
    throw otherProduct(recovered.license_id, recovered.product, terms.product);
  const end = terms.valid_until;
  // A renewal may end a license early; an answer to a request that has already ended is a typo.
  if (request !== null && end !== null && Date.parse(end) <= now) {
    throw new DeskRefused(
      `the license would already have ended on ${end}`,
      "specify a future day with --valid-until",
    );
  }
  const at = rfc3339(now);
  const allowWeakBinding = options.allowWeakBinding || placement?.order.allow_weak_binding === true;
  const checked =
    request === null ? [] : checkRequest(desk, request, { ...options, allowWeakBinding }, at);
  const unknown = request === null ? [] : findUnknownLicenses(desk, request);
  const notes = [
    ...checked,
    ...buildRestoredEntries(desk, unknown, placement !== null, at),
    ...(request === null || lost === null || writeOff === null
      ? []
      : [buildWriteOff(lost, request.request_id, writeOff.reason, at)]),
  ];
  const ordered = request === null ? null : (placement?.order.hosts ?? null);
  const hosts = chooseHosts({ request, hosts: options.hosts ?? ordered }, before);
  const bound = bindingOf(request, before, hosts);
  const installed = request?.licenses.find((entry) => entry.license_id === before?.license_id);
  const known = before?.serial ?? recovered?.serial ?? 0;
  // Only a person goes on from a serial that the ledger lacks: a site could claim the last one.
  const isChosen = options.licenseId !== null && installed !== undefined;
  const serial = (isChosen ? Math.max(known, installed.serial) : known) + 1;
  const unknownSerial =
    installed !== undefined && installed.serial >= serial ? installed.serial : null;
  const license_id =
    before?.license_id ?? recovered?.license_id ?? deriveNewLicenseId(desk, request);
  const changes =
    before === null
      ? []
      : [
          ...describeDocumentDifference(before.terms, terms),
          ...describeHostDifference(before.hosts, hosts ?? undefined),
        ];
  const facts = { before, answered, license_id, serial, unknownSerial, terms, changes };
  const reasons =
    placement?.reasons ?? (request === null ? [] : findWriteOffs(desk.ledger, request.appliance));
  return { ...facts, request, bound, placement, lost, reasons, notes, now };
}

/**
 * The license that the vendor chose to go on with although the ledger lacks it, as in a desk that
 * was restored: by the site's own word. A new license beside it would add its slots.
 */
function findRecovered(desk: DeskFacts, { request, licenseId }: IssueOptions) {
  if (licenseId === null || desk.ledger.issuedAs(licenseId).length > 0) return null;
  const { vendor } = desk.vendor;
  return (
    request?.licenses.find((entry) => entry.license_id === licenseId && entry.vendor === vendor) ??
    null
  );
}

const otherProduct = (id: number, product: string, wanted: string | undefined): DeskRefused =>
  new DeskRefused(
    `license ${id} is for ${product}, not for ${wanted}`,
    "for another product, issue a new license: --request FILE --new",
  );

/** A request is answered once: the same request and terms give the same document again. */
function repeatAnswer(
  desk: DeskFacts,
  request: LicenseRequest,
  options: IssueOptions,
  answered: IssuedEntry,
): PreparedLicense {
  const { license_id, serial, terms, hosts = null } = answered;
  refuseEndedLicense(
    desk.ledger,
    answered,
    "ask the site for a new request; it gets a new license",
  );
  if (isSignedWithRetiredKey(desk, answered)) {
    throw new DecisionNeeded(
      "key_retired",
      "this request was answered with a key that is now retired; sites refuse that license",
      "ask the site for a new request",
    );
  }
  const answeredWith = desk.keys.find(({ id }) => id === answered.key);
  if (answeredWith !== undefined && endOfKey(answeredWith) <= options.now) {
    throw new DecisionNeeded(
      "key_ended",
      "this request was answered with a key that has ended since; sites refuse that license",
      "ask the site for a new request",
    );
  }
  const isWrittenOff = desk.ledger.orders
    .writeOffsOf(options.writeOff?.appliance ?? "")
    .some(({ request_id }) => request_id === request.request_id);
  if (options.writeOff !== null && !isWrittenOff) {
    throw new DeskRefused(
      `this request was already answered with license ${license_id}`,
      "a write-off needs a new request of the appliance that takes the place",
    );
  }
  const isOtherLicense = (options.licenseId ?? license_id) !== license_id;
  const isOtherCount = (options.hosts ?? hosts?.length ?? 1) !== (hosts?.length ?? 1);
  if (isOtherLicense || isOtherCount || !isUnchanged(desk, options, answered)) {
    throw new DeskRefused(
      "this request was already answered with other terms",
      "ask the site for a new request, or renew with --renew",
    );
  }
  const bound = bindingOf(request, answered, hosts);
  const unchanged = {
    before: null,
    unknownSerial: null,
    changes: [],
    placement: null,
    lost: null,
    reasons: [],
    notes: [],
  };
  return { answered, license_id, serial, terms, request, bound, now: options.now, ...unchanged };
}

function isUnchanged(desk: DeskFacts, options: IssueOptions, { terms }: IssuedEntry): boolean {
  // A feature that the answer removed is not in its terms, and removing it again would be refused.
  const features = [...terms.features, ...(options.terms.features ?? [])];
  const codes = new Set(features.map(({ code }) => code));
  const without = (options.terms.without ?? []).filter((code) => codes.has(code));
  const product = options.terms.product ?? options.request?.product ?? terms.product;
  const license_key = readLicenseKey(options) ?? terms.license_key;
  const changes = { ...options.terms, product, license_key, without };
  return isSameTerms(terms, applyTermsChanges(desk, terms, changes));
}

/**
 * Signs a license for one appliance. It is on the ledger before it is returned. `shown`: what the
 * vendor saw before; refused if it is something else by now.
 */
export function issueLicense(
  desk: Desk,
  options: IssueOptions,
  shown: PreparedLicense | null = null,
): Promise<IssuedEntry> {
  return desk.transact(async (append) => {
    const prepared = prepareLicense(desk, options);
    if (prepared.answered === null && shown !== null && !isSameLicense(shown, prepared)) {
      throw new DeskRefused(
        "another command changed this license at the desk meanwhile; nothing was signed",
        "run the command again",
      );
    }
    return signPrepared(desk, prepared, append);
  });
}

/** The recorded answer, or a new one. Only in the transaction in which it was prepared. */
export async function signPrepared(
  desk: Desk,
  prepared: PreparedLicense,
  append: Append,
): Promise<IssuedEntry> {
  const { answered, license_id, serial, terms, bound, now } = prepared;
  if (answered !== null) return answered;
  const document = await signLicense(
    {
      iss: desk.vendor.vendor,
      iat: Math.floor(now / 1_000),
      license_id,
      serial,
      ...readAnswered(prepared),
      appliance: bound.appliance,
      cnf: { jwk: bound.jwk },
      hardware_id: bound.hardware_id,
      ...(bound.hosts !== undefined && { hosts: [...bound.hosts] }),
      terms,
    },
    desk.issuing,
  );
  const issued = buildIssuedEntry(prepared, keyIdOf(desk.issuing.key), document);
  await append(...prepared.notes, issued);
  return issued;
}

type AnsweredRequest = Pick<LicenseDocument, "request_id" | "nonce">;

/**
 * The request that a license answers. A renewal without a request answers that of the license
 * before again: the site may not have installed that one.
 */
function readAnswered({ request, before }: PreparedLicense): AnsweredRequest {
  if (request !== null) return { request_id: request.request_id, nonce: request.nonce };
  if (before === null) return { request_id: null, nonce: null };
  const { nonce = null } = readUnverifiedPayload(before.document) as Partial<AnsweredRequest>;
  return { request_id: before.request_id, nonce };
}

/** The line of the ledger with a document that was signed. */
export function buildIssuedEntry(
  { license_id, serial, terms, request, before, bound, placement, now }: PreparedLicense,
  key: string,
  document: string,
): IssuedEntry {
  return {
    type: "issued",
    at: rfc3339(now),
    key,
    license_id,
    serial,
    ...bound,
    request_id: (request ?? before)?.request_id ?? null,
    ...(placement !== null && { use: placement.use }),
    ...(placement !== null && placement.usedBefore > 0 && { used_before: placement.usedBefore }),
    terms,
    document,
  };
}

const isSameLicense = (a: PreparedLicense, b: PreparedLicense): boolean =>
  a.license_id === b.license_id &&
  a.serial === b.serial &&
  Bun.deepEquals(a.terms, b.terms) &&
  Bun.deepEquals(a.reasons, b.reasons);

/**
 * The license that answers a request already. Renewals without a request answer it again: they
 * count if the key of the first answer is retired. Compares the appliance too, because another one
 * could reuse a request id.
 */
export function findAnswer(
  desk: DeskFacts,
  { request_id, appliance }: LicenseRequest,
): IssuedEntry | null {
  const answers = desk.ledger
    .issuedTo(appliance)
    .filter((entry) => entry.request_id === request_id);
  const usable = answers.filter((entry) => !isSignedWithRetiredKey(desk, entry));
  const [first] = answers;
  return (first === usable[0] ? first : usable.at(-1)) ?? first ?? null;
}

function buildTerms(
  desk: DeskFacts,
  options: IssueOptions,
  before: IssuedEntry | null,
  lost: IssuedEntry | null,
): TermsDocument {
  const { terms, request } = options;
  const earlier = (before ?? lost)?.terms ?? null;
  const product = terms.product ?? request?.product ?? earlier?.product;
  if (before !== null && product !== before.terms.product) {
    throw otherProduct(before.license_id, before.terms.product, product);
  }
  const license_key = readLicenseKey(options) ?? earlier?.license_key ?? null;
  const changes = { ...terms, license_key, ...(product !== undefined && { product }) };
  return applyTermsChanges(desk, earlier, changes);
}

const FORKED =
  "the site's audit log does not continue the last one seen: it is a restored copy or a cloned machine";

/** Refuses a weak binding and a forked site, unless an option accepts them. */
function checkRequest(
  desk: DeskFacts,
  request: LicenseRequest,
  options: IssueOptions,
  at: string,
): LedgerEntry[] {
  const hosts = [request, ...(request.pair?.hosts ?? [])];
  const lists = hosts.map(({ hardware }) => hardware as readonly HashedComponent[]);
  const hasNone = lists.some(({ length }) => length === 0);
  if (hasNone || (lists.some(isWeakBinding) && !options.allowWeakBinding)) {
    throw new DecisionNeeded(
      "weak_binding",
      "the appliance has a weak hardware binding: fewer than two components can be identified",
      hasNone
        ? "run the server on a machine whose hardware can be identified"
        : "--allow-weak-binding accepts it",
    );
  }
  const grace = listGraces(desk, request);
  const buildEntry = (seen: readonly SeenEntry[]): SeenEntry => ({
    ...buildSeenEntry(desk, request, at, seen),
    ...(grace.length > 0 && { grace }),
  });
  const splits = findSplits(desk, request);
  const isForked = splits.length > 0 || !isContinuation(desk, request);
  const installed = findReturnedButInstalled(desk, request);
  const restored = findRepeatedRestores(desk, request);
  if (!isForked && installed.length === 0 && restored.length === 0)
    return [buildEntry(findComparedEntries(desk, request))];
  const { appliance, request_id } = request;
  if (options.acceptForkReason === null) {
    const removeHint = "ask the site to remove it again and create a new request; ";
    throw new DecisionNeeded(
      "fork",
      [
        ...(isForked ? (splits.length > 0 ? splits : [FORKED]) : []),
        ...installed,
        ...restored,
      ].join("; "),
      `${installed.length === 0 ? "" : removeHint}--accept-fork "REASON" accepts it and records the reason in the ledger`,
    );
  }
  const reason = options.acceptForkReason;
  const split = splits.length > 0 && { split: splits };
  return [{ type: "forked", at, appliance, request_id, reason, ...split }, buildEntry([])];
}

interface ApplianceBinding {
  readonly appliance: string;
  readonly jwk: PublicKey;
  readonly hardware_id: string;
  readonly hosts?: readonly string[];
  readonly hardware?: NonNullable<IssuedEntry["hardware"]>;
}

function bindingOf(
  request: LicenseRequest | null,
  before: IssuedEntry | null,
  hosts: readonly string[] | null,
): ApplianceBinding {
  const source = request ?? before;
  if (source === null) {
    throw new DeskRefused("there is no request to answer", "use --request or --renew");
  }
  const { appliance, jwk, hardware_id } = source;
  if (jwk === null) {
    throw new DeskRefused(
      "this license was issued as a code, and the ledger has no key of the appliance",
      "confirm its next activation code with berth vendor confirm",
    );
  }
  const hardware =
    request === null ? before?.hardware : listHardware(request, hosts === null ? 1 : 2);
  return {
    appliance,
    // A request is signed by its site alone, and could have more in its key, even the private part.
    jwk: publicPart(jwk),
    hardware_id,
    ...(hosts !== null && { hosts }),
    ...(hardware !== undefined && { hardware }),
  };
}

/** A site could search for a request whose license gets the id of another one. */
function deriveNewLicenseId(desk: DeskFacts, request: LicenseRequest | null): number {
  const id = deriveLicenseId(desk, request);
  if (desk.ledger.issuedAs(id).length === 0) return id;
  throw new DeskRefused(
    `another license has the id ${id}, which this request would get`,
    "ask the site for a new request",
  );
}

/** 48 bits of a digest of vendor, appliance and request: exact in a double, and never 0. */
function deriveLicenseId(desk: DeskFacts, request: LicenseRequest | null): number {
  const name = [desk.vendor.vendor, request?.appliance, request?.request_id].join(" ");
  return Number.parseInt(sha256(name).slice(0, 12), 16) || 1;
}

type HostOptions = Pick<IssueOptions, "request" | "hosts">;

/**
 * The hardware ids of both hosts, for a license of two; null: it is for one host. Two hosts are
 * never granted without the vendor's word: a pair that is split on purpose can grant each slot
 * twice.
 */
function chooseHosts(
  { request, hosts: wanted }: HostOptions,
  before: IssuedEntry | null,
): readonly string[] | null {
  const hadTwo = before?.hosts !== undefined;
  if (request === null) {
    if (wanted !== null && (wanted === 2) !== hadTwo) throw needsRequest(wanted);
    return before?.hosts ?? null;
  }
  const requested = request.pair?.hosts.map(({ hardware_id }) => hardware_id) ?? null;
  if (wanted === 1) return null;
  if (requested === null) {
    if (wanted === 2) throw needsRequest(2);
    if (!hadTwo) return null;
    throw new DeskRefused(
      `license ${before.license_id} is for two hosts, and the request is for one`,
      "--hosts 1 binds the license to that host; berth license request --hosts 2 at the site requests two",
    );
  }
  if (wanted === null && !hadTwo) throw needsConsent(request);
  return requested;
}

const needsRequest = (hosts: number): DeskRefused =>
  new DeskRefused(
    hosts === 2 ? "the request is for one host" : "a renewal from the ledger keeps both hosts",
    `ask the site for a new request: berth license request --hosts ${hosts}`,
  );

const needsConsent = ({ pair }: LicenseRequest): DeskRefused =>
  new DeskRefused(
    `the site asks for a license of two hosts, ${pair?.hosts.map(({ name }) => name).join(" and ")}`,
    `--hosts 2 grants it; --hosts 1 binds the license to ${pair?.leader} alone`,
  );
