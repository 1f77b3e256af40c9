import type { Pair } from "../../domain/model/pair/pair.ts";
import type { LogLeader } from "../../store/log/shared-log.ts";
import type { Role } from "./leadership-types.ts";

export const UNKNOWN_LEADER: Role = { role: "standby", leader: null, url: null };

/**
 * Which other host leads, as a host on standby knows it after it read all lines. A host that has
 * the term leads only once its first line is in the log: the database may not accept it.
 */
export function findOtherLeader(row: LogLeader, host: string, pair: Pair | null): Role {
  const { holder: leader, url, epoch, remainingMs } = row;
  const leads = remainingMs > 0 && leader !== host && pair?.epoch === epoch;
  return leads ? { role: "standby", leader, url } : UNKNOWN_LEADER;
}
