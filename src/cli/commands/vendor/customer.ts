import { csvRecords } from "../../../domain/text/csv.ts";
import { CustomerBook, mergeCustomers, renameCustomer } from "../../../desk/orders/customers.ts";
import { listOrders } from "../../../desk/orders/order-list.ts";
import { wallClock } from "../../../platform/clock.ts";
import type { Command } from "../../frame/command.ts";
import { confirm } from "../../frame/confirm.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { Misuse, text } from "../../frame/options.ts";
import { escapeToOneLine, formatList, type Text } from "../../frame/terminal.ts";
import { csvOption } from "../../vendor/list-filters.ts";
import { openDeskRecords } from "../../vendor/open-desk.ts";

const COLUMNS = ["customer", "name", "orders", "holders", "written_off"] as const;

const list = defineCommand({
  name: "vendor customer list",
  summary: "list the customers of the desk's orders; needs no passphrase",
  options: { dir: option.deskFolder, csv: csvOption, json: option.json },
  examples: ["berth vendor customer list --dir desk"],
  async run({ dir, csv, json }) {
    if (csv && json)
      throw new Misuse("--csv and --json cannot be combined", "use only one of them");
    const records = await openDeskRecords(dir);
    const orders = Map.groupBy(listOrders(records, wallClock()), ({ customer }) => customer.id);
    const rows = records.ledger.orders.customers().map(({ id, name }) => {
      const theirOrders = orders.get(id) ?? [];
      const lost = theirOrders.flatMap(({ use }) =>
        use.licenses.filter(({ end }) => end?.cause === "written off"),
      );
      const holders = theirOrders.reduce((sum, order) => sum + order.holders, 0);
      return { customer: id, name, orders: theirOrders.length, holders, written_off: lost.length };
    });
    const display = (): Text =>
      csv
        ? { csv: csvRecords(COLUMNS, rows) }
        : formatList(
            rows.map(({ written_off, ...row }) => ({ ...row, "written off": written_off })),
            "there are no customers yet: berth vendor order add adds them",
          );
    return { json: rows, text: display };
  },
});

const rename = defineCommand({
  name: "vendor customer rename",
  summary: "change a customer's name; the next answers to its sites have it",
  options: { dir: option.deskFolder, json: option.json },
  arguments: ["CUSTOMER", "NAME"],
  examples: ['berth vendor customer rename cust-17 "Initech Ltd" --dir desk'],
  async run({ dir }, { args: [customer, name] }) {
    if (customer === undefined || name === undefined) {
      throw new Misuse(
        "CUSTOMER and NAME are required",
        'berth vendor customer rename cust-17 "Initech Ltd"',
      );
    }
    const records = await openDeskRecords(dir);
    const { before, after } = await renameCustomer(records, customer, name, wallClock());
    return {
      json: { customer: after.id, name: after.name, before: before.name },
      text: `customer ${after.id} is now ${escapeToOneLine(after.name)}`,
    };
  },
});

const merge = defineCommand({
  name: "vendor customer merge",
  summary: "make two customers one: the orders of the first become those of the second",
  options: {
    dir: option.deskFolder,
    into: text("--into CUSTOMER", "the customer that remains", {
      isRequired: true,
      missingHint: "berth vendor customer list shows the customers",
    }),
    yes: option.yes,
    json: option.json,
  },
  arguments: ["CUSTOMER"],
  examples: ["berth vendor customer merge cust-18 --into cust-17 --dir desk"],
  async run(options, { args: [customer] }) {
    if (customer === undefined)
      throw new Misuse(
        "CUSTOMER is required",
        "berth vendor customer merge cust-18 --into cust-17",
      );
    const records = await openDeskRecords(options.dir);
    const book = new CustomerBook(records.ledger.orders, "");
    const [first, second] = [book.get(customer), book.get(options.into)];
    const names = `${first.name} (${first.id}) into ${second.name} (${second.id})`;
    await confirm(options, `merge ${names}? This cannot be undone`);
    const { merged, into } = await mergeCustomers(records, customer, options.into, wallClock());
    return {
      json: { merged: merged.id, into: into.id, name: into.name },
      text: `the orders of customer ${merged.id} are now those of ${into.id}, ${escapeToOneLine(into.name)}`,
    };
  },
});

export const customerCommands: readonly Command[] = [list, rename, merge];
