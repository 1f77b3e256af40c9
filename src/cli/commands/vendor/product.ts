import { MAX_NAME_LENGTH, MAX_PRODUCTS } from "../../../license/documents/trust.ts";
import { wallClock } from "../../../platform/clock.ts";
import { realDisk } from "../../../platform/files/disk.ts";
import { Misuse } from "../../frame/options.ts";
import type { Desk } from "../../../desk/desk.ts";
import {
  isOutstanding,
  listLicenses,
  filterNewestSerials,
} from "../../../desk/ledger/license-list.ts";
import { readTrustChain } from "../../../desk/desk-records.ts";
import { Failure, type Command } from "../../frame/command.ts";
import { confirm } from "../../frame/confirm.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import type { JsonOutcome } from "../../frame/outcome.ts";
import { deskOptions, openDesk } from "../../vendor/open-desk.ts";
import { formatCount, escapeToOneLine } from "../../frame/terminal.ts";

function checkProductCode(code: string | undefined): string {
  if (code === undefined || code === "" || code.length > MAX_NAME_LENGTH) {
    throw new Misuse("CODE is required: a product code", "berth vendor product add CAD");
  }
  return code;
}

/** Says which document to distribute: sites know a product only from the trust document. */
async function describeChange(dir: string, changed: Desk, what: string): Promise<JsonOutcome> {
  const { files } = await readTrustChain(realDisk, dir);
  const document = files.at(-1) ?? "";
  const { vendor, version, products } = changed.vendor;
  return {
    json: { vendor, version, products, document },
    text: [
      what,
      `distribute ${document}; run on each site once: berth trust add ${document}`,
      ...(files.length > 1 ? [`new sites need, in this order: ${files.join(", ")}`] : []),
    ],
  };
}

const add = defineCommand({
  name: "vendor product add",
  summary: "add a product; creates a new trust document for every site",
  options: { ...deskOptions, json: option.json },
  arguments: ["CODE"],
  examples: ["berth vendor product add CAM --dir desk"],
  async run(options, { args: [argument] }) {
    const code = checkProductCode(argument);
    const desk = await openDesk(options);
    const { products } = desk.vendor;
    const name = escapeToOneLine(code);
    if (products.includes(code)) {
      throw new Failure(`${name} is already a product of this desk`, "berth vendor show");
    }
    if (products.length >= MAX_PRODUCTS) {
      throw new Failure(`a desk can have at most ${MAX_PRODUCTS} products`, "create another desk");
    }
    const changed = await desk.addProducts(realDisk, options.dir, [code]);
    return describeChange(options.dir, changed, `${name} is now a product of this desk`);
  },
});

const remove = defineCommand({
  name: "vendor product remove",
  summary: "remove a product; creates a new trust document for every site",
  options: { ...deskOptions, yes: option.yes, json: option.json },
  arguments: ["CODE"],
  examples: ["berth vendor product remove CAM --dir desk"],
  async run(options, { args: [argument] }) {
    const code = checkProductCode(argument);
    const desk = await openDesk(options);
    const { products } = desk.vendor;
    const name = escapeToOneLine(code);
    if (!products.includes(code)) {
      throw new Failure(
        `${name} is not a product of this desk`,
        `its products: ${products.join(", ")}`,
      );
    }
    if (products.length === 1) {
      throw new Failure(`${name} is the only product of this desk`, "add another product first");
    }
    const outstanding = filterNewestSerials(listLicenses(desk.ledger, wallClock())).filter(
      (license) => license.product === code && isOutstanding(license),
    );
    if (outstanding.length > 0) {
      const licenses = `${formatCount(outstanding.length, "license")} of ${name}`;
      const question = `${licenses} will stay installed but cannot be renewed; continue?`;
      await confirm(options, question, "berth vendor list --product CODE shows them");
    }
    const changed = await desk.removeProduct(realDisk, options.dir, code);
    return describeChange(options.dir, changed, `${name} is no longer a product of this desk`);
  },
});

export const productCommands: readonly Command[] = [add, remove];
