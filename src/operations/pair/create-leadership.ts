import type { Pair } from "../../domain/pair/pair.ts";
import { wallClock, type ApplianceClock } from "../../platform/clock.ts";
import { version } from "../../platform/embedded/version.ts";
import { readBootClock } from "../../platform/system/boot-clock.ts";
import { FolderRefused } from "../../store/folder/refusal.ts";
import type { HostLog } from "../../store/log/shared-log.ts";
import type { Store } from "../../store/store.ts";
import type { Identity } from "../identity.ts";
import { Leadership } from "./leadership.ts";
import { LogTrimmer } from "./log-trimmer.ts";
import type { PairOptions } from "./open-log.ts";

const POLL_MS = 200;
/** So that a short term does not pass between two steps. */
const POLLS_PER_TERM = 10;

/** The leadership of this host, with the real clocks. */
export function createLeadership(
  { host, clientUrl: url, termMs }: PairOptions,
  log: HostLog,
  store: Store,
  { identity, clock }: { readonly identity: Identity; readonly clock: ApplianceClock },
): Leadership {
  const { hardware, hardwareId } = identity.hashHardware();
  const leadership = new Leadership({
    store,
    log,
    host,
    hardware,
    hardwareId,
    url,
    version,
    termMs,
    pollMs: Math.min(POLL_MS, termMs / POLLS_PER_TERM),
    bootMs: readBootClock,
    systemTime: wallClock,
    clock,
  });
  leadership.addListener(new LogTrimmer({ store, log }));
  return leadership;
}

/**
 * A host with a name that is not in the pair could never lead. Two machines with one name would
 * each take the other's term for their own. A machine of which a part was replaced is still the
 * same one, as for a license.
 */
export function refuseOtherHost(
  pair: Pair | null,
  host: string,
  identity: Pick<Identity, "hashHardware" | "isThisMachine">,
): void {
  if (pair === null) return;
  const known = pair.hosts.get(host);
  if (known === undefined) {
    throw new FolderRefused(
      `host ${host} is no host of the pair (${[...pair.hosts.keys()].join(" and ")})`,
      "set pair_host to the name with which this host was admitted",
    );
  }
  if (identity.isThisMachine(known.hardware)) return;
  const { hardwareId } = identity.hashHardware();
  throw new FolderRefused(
    `host ${host} of the pair is another machine: its hardware id is ${known.hardwareId}, and that of this machine is ${hardwareId}`,
    "give each host its own name with pair_host; a new machine is admitted with berth pair request",
  );
}
