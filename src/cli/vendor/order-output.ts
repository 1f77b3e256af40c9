import type { OrderEntry } from "../../desk/ledger/ledger-entries.ts";
import type { ListedOrder } from "../../desk/orders/order-list.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { escapeToOneLine } from "../frame/terminal.ts";

export const formatEnd = (end: string | null): string => end?.replace(".000Z", "Z") ?? "never";

/** A row for people. */
export const rowOf = ({ order, customer, state, holders, moves }: ListedOrder) => ({
  key: order.license_key,
  customer: customer.name,
  product: order.terms.product,
  slots: order.terms.slots,
  holders: `${holders}/${order.appliances}`,
  moves: `${moves}/${order.moves}`,
  ends: formatEnd(order.terms.valid_until),
  state,
});

export const CSV_COLUMNS = [
  "license_key",
  "customer_id",
  "customer",
  "product",
  "slots",
  "valid_until",
  "appliances",
  "holders",
  "hosts",
  "moves",
  "moves_used",
  "allow_weak_binding",
  "policy_id",
  "state",
  "changed_at",
] as const;

export const csvRowOf = ({ order, customer, state, holders, moves }: ListedOrder) => ({
  license_key: order.license_key,
  customer_id: customer.id,
  customer: customer.name,
  product: order.terms.product,
  slots: order.terms.slots,
  valid_until: formatEnd(order.terms.valid_until),
  appliances: order.appliances,
  holders,
  hosts: order.hosts,
  moves: order.moves,
  moves_used: moves,
  allow_weak_binding: order.allow_weak_binding ? "yes" : "no",
  policy_id: order.policy_id ?? null,
  state,
  changed_at: order.at,
});

export const jsonOf = ({ order, customer, state, use, holders, waiting, moves }: ListedOrder) => {
  const { type: _, at, by = null, customer: _id, ...rest } = order;
  return {
    ...rest,
    customer,
    state,
    holders,
    waiting,
    moves_used: moves,
    changed_at: at,
    changed_by: by,
    licenses: use.licenses.map(({ newest, lastTotal, end }) => ({
      license_id: newest.license_id,
      serial: newest.serial,
      appliance: newest.appliance,
      form: newest.jwk === null ? "code" : "file",
      issued_at: newest.at,
      issued_by: newest.by ?? null,
      use: newest.use ?? null,
      last_total: lastTotal,
      ended: end && { cause: end.cause, free_at: rfc3339(end.freeAt) },
    })),
  };
};

/** What an order sells besides the terms of its licenses. */
export const describeSize = (order: OrderEntry): string[] => [
  `appliances:  ${order.appliances}`,
  `hosts:       ${order.hosts} each`,
  `moves:       ${order.moves} in 365 days`,
  `binding:     ${order.allow_weak_binding ? "weak allowed" : "two components or more"}`,
  `policy:      ${escapeToOneLine(order.policy_id ?? "none: not by telephone")}`,
];
