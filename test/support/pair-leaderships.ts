// Two hosts of a pair with their leadership, on a simulated log. The clock of the log is that of
// both hosts, unless a test moves one of them.
import { Leadership } from "../../src/operations/pair/leadership.ts";
import type { LeadershipOptions } from "../../src/operations/pair/leadership-types.ts";
import type { OpenSite } from "./licensed-store.ts";
import { HARDWARE, HARDWARE_ID } from "./new-site.ts";
import { openPair } from "./pair-of-sites.ts";
import type { SimulatedLog } from "./simulated-log.ts";

const TERM = 10_000;

export interface HostOfPair extends OpenSite {
  readonly leadership: Leadership;
}

export interface HostsOfPair {
  readonly log: SimulatedLog;
  readonly alpha: HostOfPair;
  readonly beta: HostOfPair;
}

/** The leadership of a host; `changes` replaces some of its options. */
export const leadershipOf = (
  log: SimulatedLog,
  { store }: Pick<OpenSite, "store">,
  host: string,
  changes: Partial<LeadershipOptions> = {},
): Leadership =>
  new Leadership({
    store,
    log: log.connect(host),
    host,
    hardwareId: HARDWARE_ID,
    hardware: HARDWARE,
    url: `https://${host}.example`,
    version: "1.0.0",
    termMs: TERM,
    pollMs: 200,
    bootMs: () => log.now,
    systemTime: () => log.now,
    ...changes,
  });

export async function openHosts(
  changes: Partial<Record<"alpha" | "beta", Partial<LeadershipOptions>>> = {},
): Promise<HostsOfPair> {
  const { log, alpha, beta } = await openPair();
  return {
    log,
    alpha: { ...alpha, leadership: leadershipOf(log, alpha, "alpha", changes.alpha) },
    beta: { ...beta, leadership: leadershipOf(log, beta, "beta", changes.beta) },
  };
}

/** Which of the hosts may answer. */
export const answers = ({ alpha, beta }: HostsOfPair) => ({
  alpha: alpha.leadership.mayAnswer(),
  beta: beta.leadership.mayAnswer(),
});
