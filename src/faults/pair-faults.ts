import type { FaultRows } from "./fault-row.ts";

/** One row for each refusal that concerns the hosts of a pair. */
export const PAIR_FAULTS: FaultRows<"pair_complete" | "host_not_admitted" | "not_a_pair"> = {
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
    hint: "berth help pair says how to form a pair",
  },
};
