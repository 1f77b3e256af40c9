import { moveGraceEnd, hostGraceEnd, isForOtherHosts, restoreGraceEnd } from "./restore-grace.ts";
import type { Fault } from "../model/fault.ts";
import { isForTwoHosts } from "./requested-pair.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { License, State } from "../model/state.ts";
import { HOUR, later, type Instant } from "../time.ts";

type HostContext = Pick<RuleContext, "at" | "hasLog" | "isSignedForThisMachine">;

/**
 * Why a license must not serve on this host; null: it may. A license of two hosts serves only in
 * their pair: alone, each of them could grant all of its slots.
 */
export function checkLicenseHost(
  state: State,
  license: License,
  context: HostContext,
): Fault | null {
  const { pair } = state;
  const isNamed = context.isSignedForThisMachine(license);
  if (isForTwoHosts(license) && (pair === null || context.hasLog !== true))
    return (isNamed && isInLeaveGrace(state, license, context)) ||
      isBefore(context.at, findRestoreGraceEnd(state, license, context))
      ? null
      : { code: "needs_pair" };
  if (isNamed) return null;
  if (pair !== null) {
    const hosts = findLicensedHosts(state, license);
    // The leader has other hardware than when it was admitted.
    if (hosts.includes(pair.leader)) return { code: "hardware_mismatch" };
    return { code: "hardware_mismatch", pair: { leader: pair.leader, hosts } };
  }
  const until = hostGraceEnd(license);
  if (until === null) return { code: "hardware_mismatch" };
  return isBefore(context.at, until) ? null : { code: "hardware_mismatch", until };
}

const isBefore = (at: Instant, end: Instant | null): boolean => end !== null && at < end;

/**
 * A host that left its pair, because the database or the other host is lost, serves as long as one
 * that was moved: so long the vendor has time to sign a license for one host.
 */
const isInLeaveGrace = (
  { pair, endedPair }: State,
  { terms }: License,
  { at }: HostContext,
): boolean =>
  pair === null && endedPair !== null && at < later(endedPair.at, terms.moveGraceHours * HOUR);

/**
 * Until when a license that was moved here serves on hardware that it is not signed for; null: it
 * was not moved. A pair has no such time: its license serves on the host that it names.
 */
export const findMoveGraceEnd = (
  { pair }: State,
  license: License,
  { isSignedForThisMachine }: Pick<RuleContext, "isSignedForThisMachine">,
): Instant | null =>
  pair !== null || isSignedForThisMachine(license) ? null : moveGraceEnd(license);

/**
 * Until when a license that was restored here serves although it is not signed for this host alone;
 * null: it was not restored, or has no such time. A pair has none either.
 */
export const findRestoreGraceEnd = (
  { pair }: State,
  license: License,
  { isSignedForThisMachine }: Pick<RuleContext, "isSignedForThisMachine">,
): Instant | null =>
  pair === null && isForOtherHosts(license, isSignedForThisMachine)
    ? restoreGraceEnd(license)
    : null;

/** The hosts of the pair that a license names, by their names. */
function findLicensedHosts({ pair }: State, { grant }: License): string[] {
  const ids = grant.hosts?.map(({ hardwareId }) => hardwareId) ?? [grant.hardwareId];
  const hosts = [...(pair?.hosts.values() ?? [])];
  return hosts.filter(({ hardwareId }) => ids.includes(hardwareId)).map(({ name }) => name);
}
