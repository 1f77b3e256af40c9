import { join } from "node:path";
import { TRUST_FILE } from "../../../desk/trust-document.ts";
import { MAX_NAME_LENGTH } from "../../../license/documents/trust.ts";
import { wallClock } from "../../../platform/clock.ts";
import { Misuse } from "../../frame/options.ts";
import {
  isOutstanding,
  listLicenses,
  filterNewestSerials,
} from "../../../desk/ledger/license-list.ts";
import { Failure, type Command } from "../../frame/command.ts";
import { confirm } from "../../frame/confirm.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { openDeskRecords } from "../../vendor/open-desk.ts";
import { checkTrustOutput, openRoot, outputTrust, rootOptions } from "../../vendor/open-root.ts";
import { formatCount, escapeToOneLine } from "../../frame/terminal.ts";

function checkProductCode(code: string | undefined): string {
  if (code === undefined || code === "" || code.length > MAX_NAME_LENGTH) {
    throw new Misuse("CODE is required: a product code", "berth vendor product add CAD");
  }
  return code;
}

const changeOptions = { ...rootOptions, out: option.out, json: option.json };

/** An interrupted command may have signed it, and not written --out. */
const newestHint = ({ root }: { readonly root: string }): string =>
  `the newest trust document is ${join(root, TRUST_FILE)}`;

const add = defineCommand({
  name: "vendor product add",
  summary: "add a product; the root signs a new trust document for every site",
  options: changeOptions,
  arguments: ["CODE"],
  examples: ["berth vendor product add CAM --root /media/root --dir desk"],
  async run(options, { args: [argument] }) {
    const code = checkProductCode(argument);
    checkTrustOutput(options);
    const root = await openRoot(options);
    const { products } = root.trust.vendor;
    const name = escapeToOneLine(code);
    if (products.includes(code)) {
      throw new Failure(`${name} is already a product of this vendor`, newestHint(options));
    }
    const changed = await root.signNext({ products: [...products, code] });
    return outputTrust(changed, options, `${name} is now a product of this vendor`);
  },
});

const remove = defineCommand({
  name: "vendor product remove",
  summary: "remove a product; the root signs a new trust document for every site",
  options: { ...changeOptions, yes: option.yes },
  arguments: ["CODE"],
  examples: ["berth vendor product remove CAM --root /media/root --dir desk"],
  async run(options, { args: [argument] }) {
    const code = checkProductCode(argument);
    checkTrustOutput(options);
    const root = await openRoot(options);
    const { products } = root.trust.vendor;
    const name = escapeToOneLine(code);
    if (!products.includes(code)) {
      throw new Failure(
        `${name} is not a product of this vendor`,
        `its products: ${products.join(", ")}`,
      );
    }
    if (products.length === 1) {
      throw new Failure(`${name} is the only product of this vendor`, "add another product first");
    }
    const outstanding = options.dir === null ? [] : await listOutstanding(options.dir, code);
    if (outstanding.length > 0) {
      const licenses = `${formatCount(outstanding.length, "license")} of ${name}`;
      const question = `${licenses} will stay installed but cannot be renewed; continue?`;
      await confirm(options, question, "berth vendor list --product CODE shows them");
    }
    const changed = await root.signNext({ products: products.filter((other) => other !== code) });
    return outputTrust(changed, options, `${name} is no longer a product of this vendor`);
  },
});

async function listOutstanding(dir: string, code: string) {
  const { ledger } = await openDeskRecords(dir);
  return filterNewestSerials(listLicenses(ledger, wallClock())).filter(
    (license) => license.product === code && isOutstanding(license),
  );
}

const rename = defineCommand({
  name: "vendor name",
  summary: "change the vendor's name; the root signs a new trust document for every site",
  options: changeOptions,
  arguments: ["NAME"],
  examples: ['berth vendor name "Acme Ltd" --root /media/root --dir desk'],
  async run(options, { args: [name] }) {
    if (name === undefined || name === "")
      throw new Misuse("NAME is required", 'berth vendor name "Acme Ltd" --root DIR');
    checkTrustOutput(options);
    const root = await openRoot(options);
    if (root.trust.vendor.name === name)
      throw new Failure("the vendor has this name already", newestHint(options));
    const changed = await root.signNext({ name });
    return outputTrust(changed, options, `the vendor's name is ${escapeToOneLine(name)}`);
  },
});

/** What the root says of the vendor. */
export const productCommands: readonly Command[] = [add, remove, rename];
