import type { Decision } from "../model/decision.ts";
import type { Fault, ReturnedLicense } from "../model/fault.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { OpenRequest, State } from "../model/state.ts";
import type { Instant } from "../time.ts";
import { isRequestOpen } from "./open-requests.ts";
import {
  checkHardwareId,
  decideInstallLicense,
  type AnsweredQuestion,
  type CheckedLicense,
  type InstalledLicense,
} from "./install-license.ts";

/** Installs a license that came as a file. */
export interface LicenseUpload extends CheckedLicense {
  readonly type: "LicenseUpload";
  /** The request that the document says it answers; null: none. */
  readonly answers: { readonly request: string; readonly nonce: string } | null;
}

export function decideLicenseUpload(
  state: State,
  command: LicenseUpload,
  { at }: RuleContext,
): Result<Decision<InstalledLicense>, Fault> {
  const answers = findOpenAnswer(state, command);
  const request = answers?.request ?? null;
  const hardware = findRequestedHardware(state, { ...command, answers }, at);
  const answered = { request, activation: null, hardware, ...findReturnedLicense(state, command) };
  return decideInstallLicense(state, command, answered, at);
}

/**
 * A vendor that renews a license cannot know whether the site installed the answer before, so the
 * renewal answers the same request again. Where that one was installed, it is a renewal alone.
 */
function findOpenAnswer(
  state: State,
  { license, answers }: LicenseUpload,
): LicenseUpload["answers"] {
  const isRenewal = answers !== null && state.answeredRequests.get(answers.request) === license;
  return isRenewal ? null : answers;
}

function findReturnedLicense(
  state: State,
  { license }: LicenseUpload,
): { readonly returned?: ReturnedLicense } {
  const tombstone = state.licenses.has(license) ? undefined : state.tombstones.get(license);
  return tombstone === undefined ? {} : { returned: { license, at: tombstone.at } };
}

/** The hardware list that the license is signed for; a fault if it was never part of a request. */
function findRequestedHardware(
  state: State,
  command: LicenseUpload,
  at: Instant,
): AnsweredQuestion["hardware"] {
  const { license, answers, grant } = command;
  if (answers === null) {
    const installed = state.licenses.get(license);
    return installed === undefined
      ? err({ code: "request_unknown", ...findReturnedLicense(state, command) })
      : checkHardwareId(installed.grant, grant);
  }
  const { request, nonce } = answers;
  if (state.answeredRequests.has(request)) return err({ code: "request_used" });
  const openRequest = state.requests.get(request);
  const isOpen = openRequest !== undefined && openRequest.nonce === nonce;
  if (!isOpen || !isRequestOpen(openRequest, at)) {
    const isCancelled = state.cancelledRequests.has(request);
    return err({ code: "request_unknown", ...(isCancelled && { cancelled: true }) });
  }
  return checkHardwareId(sentWith(openRequest), grant);
}

const sentWith = ({ hardwareId, hardware, pair }: OpenRequest) => ({
  hardwareId,
  hardware,
  ...(pair !== undefined && {
    hosts: pair.hosts.map(({ head: _head, ...host }) => host),
  }),
});
