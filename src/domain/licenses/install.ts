import type { InstallLicense, MakeActivation, MakeRequest, RemoveLicense } from "../command.ts";
import { totalAt } from "../consumption/consumption.ts";
import { makeDecision, type Decision } from "../decision.ts";
import type { Fault, ReturnedLicense } from "../fault.ts";
import { limits } from "../limits.ts";
import { err, ok, type Result } from "../result.ts";
import type { RuleContext } from "../rule-context.ts";
import { getBorrowEnd } from "../slots/slots.ts";
import type {
  HardwareDigest,
  License,
  OpenActivation,
  OpenRequest,
  State,
  Tombstone,
} from "../state.ts";
import type { Terms } from "./terms.ts";
import { later, type Instant } from "../time.ts";
import { hasProduct, isStillTrusted } from "./trust.ts";

/** Creates a request for the vendor. It stays open until it is answered, dropped or too old. */
export function decideMakeRequest(
  _state: State,
  { request, head, peer }: MakeRequest,
  { at }: RuleContext,
): Result<Decision<OpenRequest>, Fault> {
  const openRequest = { ...request, at };
  return makeDecision([{ type: "RequestMade", at, request: openRequest, head, peer }], openRequest);
}

/**
 * Creates an activation code to be read out. It stays open until it is confirmed, dropped or too
 * old.
 */
export function decideMakeActivation(
  _state: State,
  { activation, peer }: MakeActivation,
  { at }: RuleContext,
): Result<Decision<OpenActivation>, Fault> {
  const openActivation = { ...activation, at };
  return makeDecision(
    [{ type: "ActivationMade", at, activation: openActivation, peer }],
    openActivation,
  );
}

/** The activations that a confirmation code may still confirm. */
export const findOpenActivations = (
  state: State,
  licenseKey: string,
  at: Instant,
): OpenActivation[] =>
  [...state.activations.values()].filter(
    (activation) =>
      activation.licenseKey === licenseKey && at < later(activation.at, limits.activationAge),
  );

export interface InstalledLicense {
  readonly license: number;
  /**
   * The terms that it replaced; null: the license is new here, or the same document was already
   * installed.
   */
  readonly replacedTerms: Terms | null;
}

/**
 * Installs a license once. It must come from a trusted vendor, be for a product of that vendor, and
 * answer an open request or have a newer serial than the installed license. Installing the same
 * file again is accepted and changes nothing.
 */
export function decideInstallLicense(
  state: State,
  command: InstallLicense,
  { at }: RuleContext,
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
  const newestSerial = installed?.grant.serial ?? tombstone?.serial ?? 0;
  if (grant.serial <= newestSerial) {
    return err({
      code: "stale_license",
      serial: newestSerial,
      ...findReturnedLicense(state, command),
    });
  }
  if (!isStillTrusted(state, grant.vendor, command.checkedVersion))
    return err({ code: "untrusted_vendor" });
  const hardware = findAnsweredHardware(state, command, installed, at);
  if (!hardware.ok) return hardware;

  const { answers } = command;
  const request = answers !== null && "request" in answers ? answers.request : null;
  const activation = answers !== null && "activation" in answers ? answers.activation : null;
  const fullGrant = { ...grant, hardware: hardware.value };
  const eventFields = { license, terms, grant: fullGrant, request, activation, peer };
  const outcome = { license, replacedTerms: installed?.terms ?? null };
  return makeDecision([{ type: "LicenseInstalled", at, ...eventFields }], outcome);
}

/** Returns a license permanently; repeating the command gives the same tombstone. */
export function decideRemoveLicense(
  state: State,
  { license: id, withBorrows, peer }: RemoveLicense,
  { at }: RuleContext,
): Result<Decision<Tombstone>, Fault> {
  const license = state.licenses.get(id);
  if (license === undefined) {
    const tombstone = state.tombstones.get(id);
    return tombstone === undefined
      ? err({ code: "license_not_found" })
      : makeDecision([], tombstone);
  }
  const borrows = [...license.pool.inSlotOrder()]
    .filter((registration) => getBorrowEnd(registration, at) !== null)
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

/** An id belongs permanently to one vendor and one product, even after the license was returned. */
function isSameVendorAndProduct(
  installed: License | undefined,
  tombstone: Tombstone | undefined,
  { grant, terms }: InstallLicense,
): boolean {
  const vendor = installed?.grant.vendor ?? tombstone?.vendor ?? grant.vendor;
  const product = installed?.terms.product ?? tombstone?.product ?? terms.product;
  return vendor === grant.vendor && product === terms.product;
}

/**
 * Only for a license that came as a file: a confirmation code needs another next step than a new
 * request.
 */
function findReturnedLicense(
  state: State,
  { license, answers }: InstallLicense,
): { readonly returned?: ReturnedLicense } {
  const tombstone = state.licenses.has(license) ? undefined : state.tombstones.get(license);
  const isByCode = answers !== null && "activation" in answers;
  return tombstone === undefined || isByCode ? {} : { returned: { license, at: tombstone.at } };
}

/** The hardware list that the license is signed for; a fault if it was never part of a request. */
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
    const activation = state.activations.get(answers.activation);
    return activation === undefined
      ? err({ code: "request_used" })
      : checkHardwareId(activation, grant.hardwareId);
  }
  const { request, nonce } = answers;
  if (state.answeredRequests.has(request)) return err({ code: "request_used" });
  const openRequest = state.requests.get(request);
  const isOpen = openRequest !== undefined && openRequest.nonce === nonce;
  if (!isOpen || at >= later(openRequest.at, limits.requestAge))
    return err({ code: "request_unknown" });
  return checkHardwareId(openRequest, grant.hardwareId);
}

const checkHardwareId = (
  { hardwareId, hardware }: Pick<OpenRequest, "hardwareId" | "hardware">,
  signedHardwareId: string,
): Result<readonly HardwareDigest[], Fault> =>
  hardwareId === signedHardwareId ? ok(hardware) : err({ code: "hardware_mismatch" });
