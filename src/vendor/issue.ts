import type { Instant } from "../domain/time.ts";
import { isWeak, type Frozen } from "../license/hardware.ts";
import type { PublicKey } from "../license/keys.ts";
import { signLicense } from "../license/license.ts";
import type { Request } from "../license/request.ts";
import { decodeTerms, type TermsDocument } from "../license/terms.ts";
import { sha256 } from "../platform/hash.ts";
import { rfc3339 } from "../platform/rfc3339.ts";
import { continues, seenNow } from "./continuity.ts";
import type { Desk } from "./desk.ts";
import { isSameKey, readableKey } from "./license-key.ts";
import { DeskRefused } from "./refusal.ts";
import type { Entry, Issued } from "./ledger.ts";

export interface IssueOptions {
  /** Null: a renewal from the ledger, where nothing can come out of the site. */
  readonly request: Request | null;
  readonly renew: number | null;
  readonly licenseId: number | null;
  readonly isNew: boolean;
  readonly licenseKey: string | null;
  /** Terms not given are those of the license before. */
  readonly terms: Partial<TermsDocument>;
  readonly allowWeakBinding: boolean;
  readonly acceptFork: string | null;
  readonly now: Instant;
}

const DEFAULTS: Omit<TermsDocument, "product" | "product_name"> = {
  license_key: null,
  license_type: "perpetual",
  customer: null,
  metadata: null,
  trial: false,
  enabled: true,
  start: null,
  valid_until: null,
  maintenance_until: null,
  grace_hours: null,
  slots: 1,
  timeout_minutes: 15,
  borrow_hours: null,
  early_return: true,
  move_grace_hours: 72,
  consumption: null,
  features: [],
};

/** Signs a license for one appliance; on the ledger before it leaves. */
export async function issue(desk: Desk, options: IssueOptions): Promise<Issued> {
  const { request, now } = options;
  const at = rfc3339(now);
  const before = previous(desk, options);
  const terms = termsOf(desk, options, before);
  const answered = request && answerTo(desk, request);
  if (answered) {
    if (sameTerms(answered.terms, terms)) return answered;
    throw new DeskRefused(
      "this request was answered already, with other terms",
      "ask the site for a new request, or renew with --renew",
    );
  }
  const end = terms.valid_until;
  // A renewal may end a license early; an answer that is over on arrival is a slip of the hand.
  if (request !== null && end !== null && Date.parse(end) <= now) {
    throw new DeskRefused(
      `the license would be over since ${end}`,
      "name a day to come with --valid-until",
    );
  }
  const notes: Entry[] = request === null ? [] : checkRequest(desk, request, options, at);
  const bound = bindingOf(request, before);
  const known = request?.licenses.find((one) => one.license_id === before?.license_id);
  const serial = Math.max(before?.serial ?? 0, known?.serial ?? 0) + 1;
  const id = before?.license_id ?? newId(desk, request);
  const document = await signLicense(
    {
      iss: desk.vendor.vendor,
      iat: Math.floor(now / 1_000),
      license_id: id,
      serial,
      request_id: request?.request_id ?? null,
      nonce: request?.nonce ?? null,
      appliance: bound.appliance,
      cnf: { jwk: bound.jwk },
      hardware_id: bound.hardware_id,
      terms,
    },
    desk.key,
  );
  const issued: Issued = {
    type: "issued",
    at,
    license_id: id,
    serial,
    ...bound,
    request_id: request?.request_id ?? null,
    terms,
    document,
  };
  await desk.ledger.add(...notes, issued);
  return issued;
}

/** A request is one appliance's: another may have taken its id over. */
const answerTo = (desk: Desk, { request_id, appliance }: Request): Issued | undefined =>
  desk.ledger.issued().find((one) => one.request_id === request_id && one.appliance === appliance);

/** The key that is said, in this order: as a flag, in a file of terms, by the site. */
function keyOf({ licenseKey, terms, request }: IssueOptions): string | null {
  const key = licenseKey ?? terms.license_key ?? request?.license_key ?? null;
  return key === null ? null : readableKey(key);
}

/** The license this answer continues, if any. */
function previous(desk: Desk, options: IssueOptions): Issued | null {
  const { request, renew, licenseId, isNew } = options;
  const issued = desk.ledger.issued();
  const wanted = renew ?? licenseId;
  if (wanted !== null) {
    const found = issued.find((one) => one.license_id === wanted);
    if (found === undefined) {
      throw new DeskRefused(`no license ${wanted} is on the ledger`, "berth vendor list");
    }
    if (request !== null && found.appliance !== request.appliance) {
      throw new DeskRefused(
        `license ${wanted} belongs to another appliance`,
        "have that site give it back first, or make another with --new",
      );
    }
    return found;
  }
  if (isNew || request === null) return null;
  const product = options.terms.product ?? request.product;
  const key = keyOf(options);
  const candidates = new Map<number, Issued>();
  for (const one of issued) {
    const fits = one.appliance === request.appliance && one.terms.product === product;
    const keyed = key === null || isSameKey(one.terms.license_key, key);
    const gone = one.jwk === null || desk.ledger.isGivenBack(one);
    const fresh = !candidates.has(one.license_id);
    if (fits && keyed && !gone && fresh) candidates.set(one.license_id, one);
  }
  const elsewhere = issued.some(
    (one) =>
      key !== null &&
      isSameKey(one.terms.license_key, key) &&
      one.appliance !== request.appliance &&
      !desk.ledger.isGivenBack(one),
  );
  if (elsewhere) {
    throw new DeskRefused(
      "another appliance holds a license with this key",
      "have that site give it back first, or make another with --new",
    );
  }
  if (candidates.size > 1) {
    throw new DeskRefused(
      "several licenses of this product are on the ledger for this appliance",
      "say which with --license-id ID, or make another with --new",
    );
  }
  return candidates.values().next().value ?? null;
}

function termsOf(desk: Desk, options: IssueOptions, before: Issued | null): TermsDocument {
  const { terms, request } = options;
  const product = terms.product ?? request?.product ?? before?.terms.product ?? undefined;
  const license_key = keyOf(options) ?? before?.terms.license_key ?? null;
  return withDefaults(desk, {
    ...before?.terms,
    ...terms,
    license_key,
    ...(product !== undefined && { product }),
  });
}

/** Whole terms from those given, for a product this vendor may license. */
export function withDefaults(desk: Desk, given: Partial<TermsDocument>): TermsDocument {
  const { product } = given;
  if (product === undefined) throw new DeskRefused("no product is named", "say --product CODE");
  if (!desk.vendor.products.includes(product)) {
    throw new DeskRefused(
      `${product} is not among this vendor's products`,
      `it may license: ${desk.vendor.products.join(", ")}`,
    );
  }
  const terms = { ...DEFAULTS, product_name: product, ...given, product };
  const ends = terms.license_type === "time-limited" || terms.license_type === "subscription";
  if (ends && terms.valid_until === null) {
    throw new DeskRefused(
      `a ${terms.license_type} license needs an end`,
      "--valid-until 2028-01-01",
    );
  }
  if (decodeTerms(terms) === null) {
    throw new DeskRefused("the terms are not valid", "check dates, counts and feature codes");
  }
  return terms;
}

/** What an answer must not be given to, unless somebody says so. */
function checkRequest(desk: Desk, request: Request, options: IssueOptions, at: string): Entry[] {
  const hardware = request.hardware as readonly Frozen[];
  if (hardware.length === 0 || (isWeak(hardware) && !options.allowWeakBinding)) {
    throw new DeskRefused(
      "the appliance is bound weakly: fewer than two parts of its hardware can be told",
      hardware.length === 0 ? "run it where its hardware shows" : "--allow-weak-binding goes on",
    );
  }
  const seen = seenNow(desk, request, at);
  if (continues(desk, request)) return [seen];
  const { appliance, request_id } = request;
  if (options.acceptFork === null) {
    throw new DeskRefused(
      "the site's record does not continue the one seen last: a restored copy, or a cloned machine",
      '--accept-fork "REASON" goes on and is put on the ledger',
    );
  }
  return [{ type: "forked", at, appliance, request_id, reason: options.acceptFork }, seen];
}

interface Bound {
  readonly appliance: string;
  readonly jwk: PublicKey;
  readonly hardware_id: string;
}

function bindingOf(request: Request | null, before: Issued | null): Bound {
  const from = request ?? before;
  if (from === null) {
    throw new DeskRefused("there is nothing to answer", "give --request or --renew");
  }
  const { appliance, jwk, hardware_id } = from;
  if (jwk === null) {
    throw new DeskRefused(
      "that license went out as a code, and no key of the appliance is on the ledger",
      "berth vendor confirm answers its next activation code",
    );
  }
  return { appliance, jwk, hardware_id };
}

/** 48 bits of who asked whom: fits every number type there is. */
const newId = (desk: Desk, request: Request | null): number =>
  Number.parseInt(sha256(nameOf(desk, request)).slice(0, 12), 16) || 1;

const nameOf = (desk: Desk, request: Request | null): string =>
  [desk.vendor.vendor, request?.appliance, request?.request_id].join(" ");

const sameTerms = (a: TermsDocument, b: TermsDocument): boolean =>
  Bun.deepEquals(decodeTerms(a), decodeTerms(b));
