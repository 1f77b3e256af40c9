import { adoptLicenses, prepareAdoptions } from "../../../desk/orders/adopt.ts";
import { wallClock } from "../../../platform/clock.ts";
import { confirm } from "../../frame/confirm.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { text } from "../../frame/options.ts";
import { formatCount, formatList } from "../../frame/terminal.ts";
import { openDeskRecords } from "../../vendor/open-desk.ts";
import { formatEnd } from "../../vendor/order-output.ts";

export const adoptOrdersCommand = defineCommand({
  name: "vendor order adopt",
  summary: "make orders for licenses in use that were issued without one",
  options: {
    dir: option.deskFolder,
    customer: text("--customer NAME", "the customer of licenses that name none"),
    dryRun: option.dryRun,
    yes: option.yes,
    json: option.json,
  },
  examples: [
    "berth vendor order adopt --dir desk --dry-run",
    "berth vendor order adopt --dir desk --customer Initech",
  ],
  async run(options) {
    const { dir, customer, dryRun } = options;
    const records = await openDeskRecords(dir);
    const planned = prepareAdoptions(records, customer, wallClock());
    if (!dryRun && planned.adoptions.length > 0) {
      const count = formatCount(planned.adoptions.length, "order");
      await confirm(options, `make ${count} for licenses that have none?`, "--dry-run shows them");
    }
    const { adoptions, notAdopted } = dryRun
      ? planned
      : await adoptLicenses(records, customer, wallClock());
    const rows = adoptions.map(({ order, customer: name, licenses }) => ({
      key: order.license_key,
      customer: name,
      product: order.terms.product,
      appliances: order.appliances,
      ends: formatEnd(order.terms.valid_until),
      licenses: licenses.map(({ license_id }) => license_id).join(" "),
    }));
    return {
      warnings: notAdopted.map(
        ({ licenses, problem }) =>
          `not adopted: license ${licenses.map(({ license_id }) => license_id).join(", ")}: ${problem}`,
      ),
      notes: dryRun ? ["nothing was changed: keys that the desk would make are examples"] : [],
      json: {
        orders: adoptions.map(
          ({ order: { type: _type, at: _at, ...order }, customer: name, licenses }) => ({
            ...order,
            customer: name,
            licenses: licenses.map(({ license_id, appliance }) => ({ license_id, appliance })),
          }),
        ),
        not_adopted: notAdopted.map(({ licenses, problem }) => ({
          licenses: licenses.map(({ license_id }) => license_id),
          problem,
        })),
      },
      text: formatList(
        rows,
        notAdopted.length === 0 ? "every license in use has an order" : "no license got an order",
      ),
    };
  },
});
