import type { InstallLicense, MakeActivation, MakeRequest, RemoveLicense } from "./command.ts";
import { totalAt } from "./consumption.ts";
import { makeDecision, type Decision } from "./decision.ts";
import type { Fault, ReturnedLicense } from "./fault.ts";
import { limits } from "./limits.ts";
import { err, ok, type Result } from "./result.ts";
import { getBorrowEnd } from "./slots.ts";
import type {
  HardwareDigest,
  License,
  OpenActivation,
  OpenRequest,
  State,
  Tombstone,
} from "./state.ts";
import type { Terms } from "./terms.ts";
import { later, type Instant } from "./time.ts";
import { hasProduct, isStillTrusted } from "./trust.ts";

/** A request for the vendor, remembered until it is answered, dropped or too old. */
export function decideMakeRequest(
  _state: State,
  { request, head, peer }: MakeRequest,
  at: Instant,
): Result<Decision<OpenRequest>, Fault> {
  const made = { ...request, at };
  return makeDecision([{ type: "RequestMade", at, request: made, head, peer }], made);
}

/** An activation code to be read out, remembered until it is confirmed, dropped or too old. */
export function decideMakeActivation(
  _state: State,
  { activation, peer }: MakeActivation,
  at: Instant,
): Result<Decision<OpenActivation>, Fault> {
  const made = { ...activation, at };
  return makeDecision([{ type: "ActivationMade", at, activation: made, peer }], made);
}

/** Those a code may still confirm. */
export const findOpenActivations = (
  state: State,
  licenseKey: string,
  at: Instant,
): OpenActivation[] =>
  [...state.activations.values()].filter(
    (open) => open.licenseKey === licenseKey && at < later(open.at, limits.activationAge),
  );

export interface InstalledLicense {
  readonly license: number;
  /** The terms that it replaced; null: it is new here, or this very document was here already. */
  readonly replacedTerms: Terms | null;
}

/**
 * A license comes in once: by a trusted vendor for its own product, in answer to an open request or
 * as a newer serial of what is installed. The same file again is fine and changes nothing.
 */
export function decideInstallLicense(
  state: State,
  command: InstallLicense,
  at: Instant,
): Result<Decision<InstalledLicense>, Fault> {
  const { license, terms, grant, peer } = command;
  const vendor = state.vendors.get(grant.vendor);
  if (vendor === undefined || !hasProduct(vendor, terms.product))
    return err({ code: "untrusted_vendor" });
  const installed = state.licenses.get(license);
  const tombstone = state.tombstones.get(license);
  if (!isSameVendorAndProduct(installed, tombstone, command))
    return err({ code: "untrusted_vendor" });
  if (installed?.grant.document === grant.document)
    return makeDecision([], { license, replacedTerms: null });
  const newest = installed?.grant.serial ?? tombstone?.serial ?? 0;
  if (grant.serial <= newest) {
    return err({ code: "stale_license", serial: newest, ...findReturnedLicense(state, command) });
  }
  if (!isStillTrusted(state, grant.vendor, command.checkedVersion))
    return err({ code: "untrusted_vendor" });
  const answered = findAnsweredHardware(state, command, installed, at);
  if (!answered.ok) return answered;

  const { answers } = command;
  const request = answers !== null && "request" in answers ? answers.request : null;
  const activation = answers !== null && "activation" in answers ? answers.activation : null;
  const full = { ...grant, hardware: answered.value };
  const installing = { license, terms, grant: full, request, activation, peer };
  const outcome = { license, replacedTerms: installed?.terms ?? null };
  return makeDecision([{ type: "LicenseInstalled", at, ...installing }], outcome);
}

/** Gives a license back for good; asking again names the same tombstone. */
export function decideRemoveLicense(
  state: State,
  { license: id, withBorrows, peer }: RemoveLicense,
  at: Instant,
): Result<Decision<Tombstone>, Fault> {
  const license = state.licenses.get(id);
  if (license === undefined) {
    const tombstone = state.tombstones.get(id);
    return tombstone === undefined
      ? err({ code: "license_not_found" })
      : makeDecision([], tombstone);
  }
  const borrows = [...license.pool.inSlotOrder()]
    .filter((held) => getBorrowEnd(held, at) !== null)
    .map(({ user }) => user);
  if (borrows.length > 0 && !withBorrows) {
    return err({ code: "slots_borrowed", slots: borrows.length });
  }
  const { grant, terms, counter } = license;
  const tombstone: Tombstone = {
    license: id,
    serial: grant.serial,
    vendor: grant.vendor,
    product: terms.product,
    at,
    total: totalAt(counter, at),
    borrows,
  };
  return makeDecision([{ type: "LicenseRemoved", at, license: id, tombstone, peer }], tombstone);
}

/** One id is one vendor's license for one product, for good, also once it was given back. */
function isSameVendorAndProduct(
  installed: License | undefined,
  tombstone: Tombstone | undefined,
  { grant, terms }: InstallLicense,
): boolean {
  const vendor = installed?.grant.vendor ?? tombstone?.vendor ?? grant.vendor;
  const product = installed?.terms.product ?? tombstone?.product ?? terms.product;
  return vendor === grant.vendor && product === terms.product;
}

/** For a refusal of what came as a file: a code is asked for in another way than a new request. */
function findReturnedLicense(
  state: State,
  { license, answers }: InstallLicense,
): { readonly returned?: ReturnedLicense } {
  const tombstone = state.licenses.has(license) ? undefined : state.tombstones.get(license);
  const isByCode = answers !== null && "activation" in answers;
  return tombstone === undefined || isByCode ? {} : { returned: { license, at: tombstone.at } };
}

/** The frozen hardware list the license is signed for, if we ever gave it to a vendor. */
function findAnsweredHardware(
  state: State,
  command: InstallLicense,
  installed: License | undefined,
  at: Instant,
): Result<readonly HardwareDigest[], Fault> {
  const { answers, grant } = command;
  if (answers === null) {
    if (installed === undefined) {
      return err({ code: "request_unknown", ...findReturnedLicense(state, command) });
    }
    return checkHardwareId(installed.grant, grant.hardwareId);
  }
  if ("activation" in answers) {
    const confirmed = state.activations.get(answers.activation);
    return confirmed === undefined
      ? err({ code: "request_used" })
      : checkHardwareId(confirmed, grant.hardwareId);
  }
  const { request, nonce } = answers;
  if (state.answeredRequests.has(request)) return err({ code: "request_used" });
  const open = state.requests.get(request);
  const known = open !== undefined && open.nonce === nonce;
  if (!known || at >= later(open.at, limits.requestAge)) return err({ code: "request_unknown" });
  return checkHardwareId(open, grant.hardwareId);
}

const checkHardwareId = (
  { hardwareId, hardware }: Pick<OpenRequest, "hardwareId" | "hardware">,
  signed: string,
): Result<readonly HardwareDigest[], Fault> =>
  hardwareId === signed ? ok(hardware) : err({ code: "hardware_mismatch" });
