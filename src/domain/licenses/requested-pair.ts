import type { Fault } from "../model/fault.ts";
import { err, ok, type Result } from "../result.ts";
import type { License, OpenRequest, State } from "../model/state.ts";
import type { ReportedHead, RequestedHost, RequestedPair } from "../model/pair/licensed-host.ts";
import { MAX_HOSTS } from "../model/pair/pair.ts";

/** Absent: as many as the installed license of the product has. */
export type WantedHosts = 1 | 2;

/**
 * The pair that a request names; null: the request is for the leading host alone. The hardware of
 * the leader is that of now, and that of the other host as it was admitted.
 */
export function findRequestedPair(
  state: State,
  { product, hardwareId, hardware }: Pick<OpenRequest, "product" | "hardwareId" | "hardware">,
  wanted: WantedHosts | undefined,
  heads: readonly ReportedHead[],
): Result<RequestedPair | null, Fault> {
  const count = wanted ?? (hasLicenseOfTwoHosts(state, product) && state.pair !== null ? 2 : 1);
  if (count === 1) return ok(null);
  const { pair } = state;
  if (pair === null) return err({ code: "not_a_pair" });
  const hosts = [...pair.hosts.values()].map((host): RequestedHost => {
    const reported = heads.find((head) => head.host === host.name);
    const head = reported === undefined ? null : pickHead(reported);
    const current = host.name === pair.leader ? { hardwareId, hardware } : host;
    const { hardwareId: id, hardware: list } = current;
    return { name: host.name, hardwareId: id, hardware: list, head };
  });
  const isDistinct = new Set(hosts.map((host) => host.hardwareId)).size === MAX_HOSTS;
  if (!isDistinct) return err({ code: "pair_incomplete", hosts: hosts.map(({ name }) => name) });
  return ok({ log: pair.log, epoch: pair.epoch, leader: pair.leader, hosts });
}

const pickHead = ({ seq, sum, at }: ReportedHead): Omit<ReportedHead, "host"> => ({ seq, sum, at });

/** Of the product; null: of any. */
const hasLicenseOfTwoHosts = ({ licenses }: State, product: string | null): boolean =>
  [...licenses.values()].some(
    (license) => isForTwoHosts(license) && (product === null || license.terms.product === product),
  );

export const isForTwoHosts = ({ grant }: Pick<License, "grant">): boolean =>
  grant.hosts !== undefined;
