import { isSameMachine } from "../../domain/model/hardware-digest.ts";
import type { Pair } from "../../domain/model/pair/pair.ts";
import { FolderRefused } from "../../store/folder/refusal.ts";
import type { LeadershipOptions } from "./leadership-types.ts";

type Machine = Pick<LeadershipOptions, "host" | "hardware" | "hardwareId">;

/** Whether this machine was admitted under the name of the host; true if there is no pair yet. */
export const isMember = (pair: Pair | null, { host, hardware }: Omit<Machine, "hardwareId">) =>
  pair === null || isSameMachine(pair.hosts.get(host)?.hardware ?? [], hardware);

/**
 * A host with a name that is not in the pair could never lead. Two machines with one name would
 * each take the other's term for their own. A machine of which a part was replaced is still the
 * same one, as for a license.
 */
export function requireMember(pair: Pair | null, machine: Machine): void {
  if (pair === null || isMember(pair, machine)) return;
  const { host, hardwareId } = machine;
  const known = pair.hosts.get(host);
  if (known === undefined) {
    throw new FolderRefused(
      `host ${host} is no host of the pair (${[...pair.hosts.keys()].join(" and ")})`,
      "set pair_host to the name with which this host was admitted",
    );
  }
  throw new FolderRefused(
    `host ${host} of the pair is another machine: its hardware id is ${known.hardwareId}, and that of this machine is ${hardwareId}`,
    "give each host its own name with pair_host; a new machine is admitted with berth pair request",
  );
}
