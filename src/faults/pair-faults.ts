import { rfc3339 } from "../platform/rfc3339.ts";
import { SAMPLE_TIME } from "./fault-parts.ts";
import type { FaultRow, FaultRows } from "./fault-row.ts";
import type { AdmissionFault, HandOverFault } from "./fault-types.ts";

type PairFaultCode =
  | "pair_complete"
  | "host_not_admitted"
  | "not_a_pair"
  | "in_a_pair"
  | "pair_ended"
  | "pair_incomplete"
  | "needs_pair"
  | "codes_not_for_pairs"
  | "hardware_mismatch";

const REQUEST_FOR_TWO =
  "berth license request --hosts 2 makes a request for a license of both hosts";

const hardwareMismatch: FaultRow<"hardware_mismatch"> = {
  status: 400,
  message: ({ until, appliances, pair }) => {
    if (pair !== undefined) {
      const { leader, hosts } = pair;
      return hosts.length === 0
        ? `the license is for none of the hosts of this pair, and does not serve while ${leader} leads`
        : `the license is for host ${hosts.join(" and ")} and serves only while that host leads; ` +
            `${leader} leads now`;
    }
    if (until !== undefined) {
      return `the license was signed for another host and was valid here until ${rfc3339(until)}; create a new request on this machine`;
    }
    return appliances === undefined
      ? "the license was signed for other hardware; create a new request on this machine"
      : `the license is for appliance ${appliances.signed}; this one is ${appliances.here}: ` +
          "install it there, or create a new request here";
  },
  hint: ({ pair }) => {
    if (pair === undefined) return "create a new request with berth license request";
    return pair.hosts.length === 0
      ? REQUEST_FOR_TWO
      : `berth pair hand-over lets the other host lead; ${REQUEST_FOR_TWO}`;
  },
};

/** One row for each refusal that concerns the hosts of an appliance. */
export const PAIR_FAULTS: FaultRows<PairFaultCode> = {
  pair_complete: {
    status: 409,
    message: ({ hosts }) => `the pair already has two hosts: ${hosts.join(" and ")}`,
    hint: "berth pair status shows both; berth pair leave ends the pair",
    sample: { hosts: ["alpha", "beta"] },
  },
  host_not_admitted: {
    status: 409,
    message: ({ host }) => `host ${host} was not admitted to the pair`,
    hint: "berth pair request on that host makes the request, berth pair admit on the other admits it",
    sample: { host: "beta" },
  },
  not_a_pair: {
    status: 409,
    message: () => "this appliance is served by one host alone",
    hint: "berth help guide pair says how to form a pair",
  },
  pair_incomplete: {
    status: 409,
    message: ({ hosts }) =>
      hosts.length < 2
        ? `the pair has one host (${hosts.join("")}), and a license of two hosts needs two`
        : `hosts ${hosts.join(" and ")} have the same hardware, and a license names two machines`,
    hint: ({ hosts }) =>
      hosts.length < 2
        ? "berth pair admit admits the other host; omit --hosts to request a license of this host"
        : "run the hosts on two machines; omit --hosts to request a license of this host",
    sample: { hosts: ["alpha"] },
  },
  needs_pair: {
    status: 400,
    message: () => "the license is for the two hosts of a pair, and this host serves alone",
    hint: "berth help guide pair says how to form the pair; berth license request --hosts 1 makes a request for this host",
  },
  codes_not_for_pairs: {
    status: 409,
    message: () =>
      "a pair cannot be activated by codes: a code has room for the hardware of one host only",
    hint: `${REQUEST_FOR_TWO}, without --hosts one for the leading host`,
  },
  hardware_mismatch: hardwareMismatch,
  in_a_pair: {
    status: 409,
    message: () => "two hosts serve this appliance",
    hint: "berth pair leave ends the pair; then one host can be moved",
  },
  pair_ended: {
    status: 409,
    message: ({ host, at }) => `the pair ended at ${rfc3339(at)}: host ${host} serves alone`,
    hint: "to form a pair again, use an empty database: berth help guide pair",
    sample: { host: "alpha", at: SAMPLE_TIME },
  },
};

/** One row for each reason why a host is not admitted. */
export const ADMISSION_FAULTS: FaultRows<AdmissionFault["code"]> = {
  invalid_pair_request: {
    status: 400,
    message: () => "this is not a request to join a pair",
    field: "request",
    hint: "berth pair request on the other host writes one",
  },
  pair_host_taken: {
    status: 409,
    message: ({ host }) => `the request is of host ${host}, which is the name of this host`,
    hint: "make the request again with another --pair-host",
    sample: { host: "alpha" },
  },
  pair_same_machine: {
    status: 409,
    message: ({ host }) =>
      `host ${host} has the hardware of this host: it runs on the same machine, or on a copy of it`,
    field: "request",
    hint: "give a copied machine its own machine id and serial numbers, and make the request again",
    sample: { host: "beta" },
  },
  pair_version_differs: {
    status: 409,
    message: ({ host, version, ownVersion }) =>
      `host ${host} has berth ${version}, and this host has ${ownVersion}`,
    hint: "install the same version on both hosts, and make the request again",
    sample: { host: "beta", version: "0.1.0", ownVersion: "0.2.0" },
  },
  pair_clock_differs: {
    status: 409,
    message: ({ host, seconds }) =>
      `the clock of host ${host} differs from the clock of this host by ${seconds} s`,
    hint: "set both clocks by NTP, and make the request again",
    sample: { host: "beta", seconds: 42 },
  },
};

type HandOverMessage = (host: string, products: string) => string;

const HAND_OVER_MESSAGES: Readonly<Record<HandOverFault["reason"], HandOverMessage>> = {
  alone: () => "the pair has no other host that could lead",
  silent: (host) => `host ${host} has not reported for several seconds; this host still leads`,
  behind: (host) => `host ${host} has not read the newest changes yet; this host still leads`,
  skew: (host) => `the clocks of this host and of host ${host} differ by more than 10 seconds`,
  unlicensed: (host, products) =>
    `host ${host} cannot serve ${products}: no license names it, so calls would be refused with hardware_mismatch; this host still leads`,
  not_taken: (host) => `host ${host} did not take over within 5 seconds; either host leads again`,
};

const HAND_OVER_HINTS: Readonly<Record<HandOverFault["reason"], string>> = {
  alone: "berth pair request on the other host, then berth pair admit here, admits it",
  silent: "start the server on the other host; berth pair status shows when it reported",
  behind: "try again in a few seconds; berth pair status shows how far it is behind",
  skew: "correct the clocks of both hosts, for example with NTP",
  unlicensed: `${REQUEST_FOR_TWO}; until then, stop the server of this host if the other one must lead`,
  not_taken:
    "look at the log of the server on the other host; berth pair status shows which host leads",
};

export const HAND_OVER_FAULTS: FaultRows<"hand_over_refused"> = {
  hand_over_refused: {
    status: 409,
    message: ({ reason, host, products = [] }) =>
      HAND_OVER_MESSAGES[reason](host ?? "", products.join(", ")),
    hint: ({ reason }) => HAND_OVER_HINTS[reason],
    sample: { reason: "silent", host: "beta" },
  },
};
