import { csvRecords } from "../../../domain/text/csv.ts";
import { later } from "../../../domain/time.ts";
import { describeTerms } from "../../../desk/issuing/describe-terms.ts";
import type { DeskRecords } from "../../../desk/desk-records.ts";
import type { OrderEntry } from "../../../desk/ledger/ledger-entries.ts";
import {
  describeOrder,
  filterOrders,
  listOrders,
  ORDER_STATES,
} from "../../../desk/orders/order-list.ts";
import {
  addOrders,
  changeOrders,
  closeOrder,
  getOpenOrder,
  prepareChange,
  prepareOrders,
  USUAL_SIZE,
  type NewOrder,
  type OrderChanges,
} from "../../../desk/orders/orders.ts";
import { combineTermsChanges } from "../../../license/terms/terms-changes.ts";
import { wallClock } from "../../../platform/clock.ts";
import { Failure, type Command } from "../../frame/command.ts";
import { confirm } from "../../frame/confirm.ts";
import { defineCommand, type Values } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { oneOf } from "../../frame/option-parsers.ts";
import { flag, Misuse, text } from "../../frame/options.ts";
import { escapeToOneLine, formatCount, formatList, type Text } from "../../frame/terminal.ts";
import { csvOption, endingWithinOption, textFilter } from "../../vendor/list-filters.ts";
import { openDeskRecords } from "../../vendor/open-desk.ts";
import { readPreset } from "../../vendor/preset.ts";
import { readTermsChanges } from "../../vendor/read-terms-flags.ts";
import { termsOptions } from "../../vendor/terms-flags.ts";
import { CSV_COLUMNS, csvRowOf, describeSize, jsonOf, rowOf } from "../../vendor/order-output.ts";
import { adoptOrdersCommand } from "./adopt-orders.ts";
import { importOrdersCommand } from "./import-orders.ts";
import { renewOrdersCommand } from "./renew-orders.ts";

const sizeOptions = {
  appliances: option.appliances,
  hosts: option.orderHosts,
  moves: option.moves,
  policyId: option.orderPolicy,
};

const addOptions = {
  dir: option.deskFolder,
  licenseKey: {
    ...option.licenseKey,
    help: "a license key of your own; default: the desk makes one",
  },
  ...sizeOptions,
  allowWeakBinding: option.allowWeakBinding,
  preset: option.preset,
  dryRun: option.dryRun,
  json: option.json,
  ...termsOptions,
};

const add = defineCommand({
  name: "vendor order add",
  summary: "add an order: what a customer bought, before its site asks; prints the license key",
  options: addOptions,
  examples: [
    "berth vendor order add --dir desk --customer Initech --product CAD --slots 10 --valid-until 2027-12-31",
    "berth vendor order add --dir desk --customer Initech --preset cad-10 --valid-until never --appliances 2",
  ],
  async run(options, { sources }) {
    const { dir, dryRun } = options;
    const flagTerms = readTermsChanges(options, sources);
    const preset = options.preset === null ? {} : readPreset(dir, options.preset);
    const { customer, license_key, ...terms } = combineTermsChanges(preset, flagTerms);
    if (customer == null) throw new Misuse("--customer is required", "--customer NAME, or its id");
    const { appliances, hosts, moves, policy_id } = { ...USUAL_SIZE, ...readSize(options) };
    const wanted: NewOrder = {
      customer,
      licenseKey: options.licenseKey ?? license_key ?? null,
      terms,
      appliances,
      hosts,
      moves,
      policy_id,
      allow_weak_binding: options.allowWeakBinding,
    };
    const records = await openDeskRecords(dir);
    const now = wallClock();
    const [order] = dryRun
      ? prepareOrders(records, [wanted], now).orders
      : await addOrders(records, [wanted], now);
    if (order === undefined) throw new Error("no order was made");
    const listed = describeOrder(records, order, now);
    const customerName = dryRun ? customer : listed.customer.name;
    const all = { ...order.terms, license_key: order.license_key, customer: customerName };
    return {
      notes: dryRun ? ["nothing was added: the key is an example"] : [],
      json: jsonOf(listed),
      text: [
        `license key ${escapeToOneLine(order.license_key)}`,
        "",
        ...describeSize(order),
        ...describeTerms(all).map(escapeToOneLine),
      ].join("\n"),
    };
  },
});

/** The members of an order that are set; `none` unsets the policy. */
function readSize(options: Values<typeof sizeOptions>): OrderChanges {
  const { appliances, hosts, moves, policyId } = options;
  return {
    ...(appliances !== null && { appliances }),
    ...(hosts !== null && { hosts }),
    ...(moves !== null && { moves }),
    ...(policyId !== null && { policy_id: policyId === "none" ? null : policyId }),
  };
}

const list = defineCommand({
  name: "vendor order list",
  summary: "list orders, with the places and moves that are used; needs no passphrase",
  options: {
    dir: option.deskFolder,
    customer: textFilter("--customer TEXT", "only customers whose name contains this text"),
    product: textFilter("--product CODE", "only this product"),
    licenseKey: textFilter("--license-key KEY", "only this license key"),
    state: text("--state STATE", `only orders in this state: ${ORDER_STATES.join(", ")}`, {
      parse: oneOf(...ORDER_STATES),
    }),
    endingWithin: endingWithinOption("only orders that end within this time, for example 60d"),
    csv: csvOption,
    json: option.json,
  },
  examples: [
    "berth vendor order list --dir desk --ending-within 60d",
    "berth vendor order list --dir desk --customer initech --csv > orders.csv",
  ],
  async run({ csv, json, ...options }) {
    if (csv && json)
      throw new Misuse("--csv and --json cannot be combined", "use only one of them");
    const records = await openDeskRecords(options.dir);
    const now = wallClock();
    const { customer, product, licenseKey, state, endingWithin } = options;
    const endingBefore = endingWithin === null ? null : later(now, endingWithin);
    const filter = { customer, product, licenseKey, state, endingBefore };
    const orders = filterOrders(listOrders(records, now), filter);
    const display = (): Text => {
      if (csv) return { csv: csvRecords(CSV_COLUMNS, orders.map(csvRowOf)) };
      if (records.ledger.orders.orders().length === 0) return "there are no orders yet";
      return formatList(orders.map(rowOf), "no order matches");
    };
    return { json: orders.map(jsonOf), text: display };
  },
});

const show = defineCommand({
  name: "vendor order show",
  summary: "show an order: its terms, and every license issued for it; needs no passphrase",
  options: { dir: option.deskFolder, json: option.json },
  arguments: ["KEY"],
  examples: ["berth vendor order show KEY --dir desk"],
  async run({ dir }, { args: [key] }) {
    const records = await openDeskRecords(dir);
    const order = findOrder(records, key);
    const listed = describeOrder(records, order, wallClock());
    const closing = records.ledger.orders.findClosing(order.license_key);
    const terms = {
      ...order.terms,
      license_key: order.license_key,
      customer: listed.customer.name,
    };
    const licenses = listed.use.licenses.map(({ newest, end }) => ({
      license: newest.license_id,
      serial: newest.serial,
      appliance: newest.appliance,
      form: newest.jwk === null ? "code" : "file",
      issued: newest.at.slice(0, 10),
      by: newest.by ?? null,
      state: end === null ? "holds the order" : end.cause,
    }));
    const state = closing === null ? listed.state : `closed: ${closing.reason}`;
    return {
      json: { ...jsonOf(listed), closed: closing?.reason ?? null },
      text: [
        `order ${escapeToOneLine(order.license_key)} of customer ${listed.customer.id}, ${escapeToOneLine(listed.customer.name)}`,
        `state:       ${escapeToOneLine(state)}, ${listed.holders} of ${order.appliances} held, ${listed.moves} of ${order.moves} moves used`,
        ...describeSize(order),
        ...describeTerms(terms).map(escapeToOneLine),
        "",
        formatList(licenses, "no license was issued yet"),
      ].join("\n"),
    };
  },
});

function findOrder({ ledger }: DeskRecords, key: string | undefined): OrderEntry {
  if (key === undefined || key === "")
    throw new Misuse("KEY is required: the license key of an order", "berth vendor order list");
  const order = ledger.orders.findOrder(key);
  if (order !== null) return order;
  throw new Failure(
    `there is no order ${escapeToOneLine(key)}`,
    "berth vendor order list shows the orders",
  );
}

/** What is not named stays as it is. */
const changeOptions = {
  appliances: { ...sizeOptions.appliances, help: "appliances that may hold the order at a time" },
  hosts: { ...sizeOptions.hosts, help: "hosts that each license is for, 1 or 2" },
  moves: { ...sizeOptions.moves, help: "moves in any 365 days that need no person" },
  policyId: {
    ...sizeOptions.policyId,
    help: "the policy whose codes may be confirmed for the order, or none",
  },
};

const change = defineCommand({
  name: "vendor order change",
  summary: "change what an order sells; the next answer to its site has the new terms",
  options: {
    dir: option.deskFolder,
    ...changeOptions,
    allowWeakBinding: option.allowWeakBinding,
    noWeakBinding: flag("--no-weak-binding", "refuse appliances with too few hardware components"),
    dryRun: option.dryRun,
    json: option.json,
    ...termsOptions,
  },
  arguments: ["KEY"],
  examples: [
    "berth vendor order change KEY --dir desk --slots 20 --dry-run",
    "berth vendor order change KEY --dir desk --appliances 2",
  ],
  async run(options, { args: [key], sources }) {
    const { allowWeakBinding, noWeakBinding, dryRun } = options;
    if (allowWeakBinding && noWeakBinding) {
      throw new Misuse(
        "--allow-weak-binding and --no-weak-binding cannot be combined",
        "omit one of them",
      );
    }
    const { customer, ...terms } = readTermsChanges(options, sources);
    if (terms.license_key != null)
      throw new Misuse("the license key of an order cannot be changed", "omit it from the terms");
    const changes: OrderChanges = {
      ...readSize(options),
      ...(customer != null && { customer }),
      ...((allowWeakBinding || noWeakBinding) && { allow_weak_binding: allowWeakBinding }),
      terms,
    };
    const records = await openDeskRecords(options.dir);
    const { license_key } = findOrder(records, key);
    const now = wallClock();
    const changed = dryRun
      ? prepareChange(records, license_key, changes, now)
      : (await changeOrders(records, [{ licenseKey: license_key, changes }], now))[0];
    if (changed === undefined) throw new Error("no order was changed");
    const { after, differences } = changed;
    return {
      json: { ...jsonOf(describeOrder(records, after, now)), changes: differences },
      text:
        differences.length === 0
          ? "nothing changes"
          : `${dryRun ? "would change" : "changed"}: ${escapeToOneLine(differences.join("; "))}`,
    };
  },
});

const close = defineCommand({
  name: "vendor order close",
  summary: "close an order that was a mistake: nothing more is issued under its key",
  options: {
    dir: option.deskFolder,
    reason: {
      ...option.reason,
      isRequired: true,
      missingHint: 'for example --reason "entered twice"',
    },
    yes: option.yes,
    json: option.json,
  },
  arguments: ["KEY"],
  examples: ['berth vendor order close KEY --dir desk --reason "entered twice"'],
  async run(options, { args: [key] }) {
    const { reason } = options;
    if (reason.trim() === "")
      throw new Misuse("the reason is empty", 'for example "entered twice"');
    const records = await openDeskRecords(options.dir);
    const order = getOpenOrder(records, findOrder(records, key).license_key);
    const { holders } = describeOrder(records, order, wallClock());
    const question =
      holders === 0
        ? `close the order ${order.license_key}?`
        : `${formatCount(holders, "appliance")} with a license of the order ${order.license_key} will get no renewal; close it?`;
    await confirm(options, question);
    const closed = await closeOrder(records, order.license_key, reason, wallClock());
    return {
      json: { license_key: closed.license_key, reason, holders },
      text: `the order ${escapeToOneLine(closed.license_key)} is closed`,
    };
  },
});

export const orderCommands: readonly Command[] = [
  add,
  list,
  show,
  change,
  close,
  renewOrdersCommand,
  importOrdersCommand,
  adoptOrdersCommand,
];
