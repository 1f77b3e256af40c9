import type { LedgerIndex } from "../ledger/ledger-index.ts";
import type { IssuedEntry, WrittenOffEntry } from "../ledger/ledger-entries.ts";

/** A machine that was lost, by the word of a person. */
export interface WriteOff {
  readonly appliance: string;
  readonly reason: string;
}

/** `requestId`: of the request, or the activation code, of the appliance that follows. */
export function buildWriteOff(
  lost: IssuedEntry,
  requestId: string,
  reason: string,
  at: string,
): WrittenOffEntry {
  const { appliance, license_id, serial } = lost;
  const { license_key } = lost.terms;
  const license = { appliance, license_id, serial, license_key };
  return { type: "written-off", at, ...license, request_id: requestId, reason };
}

/** The machines that a customer lost: a person should see them whenever it is answered again. */
export const describeWriteOffs = ({ orders }: LedgerIndex, customer: string): string[] => {
  const id = orders.findCustomer(customer)?.id;
  return orders
    .writeOffs()
    .filter(({ license_key }) => {
      const order = license_key === null ? null : orders.findOrder(license_key);
      return order !== null && orders.findCustomer(order.customer)?.id === id;
    })
    .map(
      ({ at, license_id, appliance, reason }) =>
        `this customer's license ${license_id} was written off on ${at.slice(0, 10)} (appliance ${appliance}): ${reason}`,
    );
};
