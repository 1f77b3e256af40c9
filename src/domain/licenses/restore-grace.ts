import { isForTwoHosts } from "./requested-pair.ts";
import type { License } from "../model/state.ts";
import { HOUR, later, type Instant } from "../time.ts";

/** One host alone cannot serve it without a grace period. */
export const isForOtherHosts = (
  license: License,
  isSignedForThisMachine: (license: License) => boolean,
): boolean => isForTwoHosts(license) || !isSignedForThisMachine(license);

/** What a restore at this instant makes of the license: repeated ones extend no grace period. */
export const beginRestoreGrace = (
  { restored, grant: { serial } }: License,
  at: Instant,
): Required<License>["restored"] => (restored?.serial === serial ? restored : { at, serial });

/**
 * The end of the grace period on hardware the license was not signed for; null: it was not moved.
 */
export const moveGraceEnd = ({ movedAt, terms }: License): Instant | null =>
  movedAt === null ? null : later(movedAt, terms.moveGraceHours * HOUR);

/** The end of the grace period of a restore; null: the license has none. */
export const restoreGraceEnd = ({ restored, terms }: License): Instant | null =>
  restored === undefined || terms.restoreGraceHours === undefined
    ? null
    : later(restored.at, terms.restoreGraceHours * HOUR);

/**
 * Until when a license may serve on one host that it is not signed for; null: it was neither moved
 * nor restored there. The grace period of a move is not for a license of two hosts.
 */
export function hostGraceEnd(license: License): Instant | null {
  const [moved, restored] = [moveGraceEnd(license), restoreGraceEnd(license)];
  if (isForTwoHosts(license) || moved === null) return restored;
  return restored === null || restored < moved ? moved : restored;
}
