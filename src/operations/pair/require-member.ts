import type { State } from "../../domain/state.ts";

/** True, or throws why this host may not lead, whatever the log says of the leader. */
export function requireMember({ pair, endedPair }: State, log: string, host: string): true {
  if (pair === null && endedPair?.log === log)
    throw new Error(`the pair has ended: host ${endedPair.host} serves alone`);
  // The first host forms the pair.
  if (pair === null || pair.hosts.has(host)) return true;
  throw new Error(`host ${host} was not admitted to the pair`);
}
