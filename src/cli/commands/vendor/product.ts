import { MAX_NAME_LENGTH, MAX_PRODUCTS } from "../../../license/trust.ts";
import { wallClock } from "../../../platform/clock.ts";
import { realDisk } from "../../../platform/disk.ts";
import { Misuse } from "../../../platform/options.ts";
import type { Desk } from "../../../desk/desk.ts";
import { isOutstanding, listLicenses, filterNewestSerials } from "../../../desk/license-list.ts";
import { readTrustChain } from "../../../desk/desk-records.ts";
import {
  EXIT_OK,
  readOutputFlags,
  Failure,
  isFlagSet,
  type Command,
  type FlagValues,
} from "../../frame/command.ts";
import { confirm } from "../../frame/confirm.ts";
import { option } from "../../frame/flags.ts";
import { deskFlags, getDeskFolder, openDesk } from "../../vendor/open-desk.ts";
import { formatCount, escapeToOneLine, print, printJson } from "../../frame/terminal.ts";

function getProductCode({ positionals: [code] }: FlagValues): string {
  if (code === undefined || code === "" || code.length > MAX_NAME_LENGTH) {
    throw new Misuse("CODE is required: a product code", "berth vendor product add CAD");
  }
  return code;
}

/** Says which document to distribute: sites know a product only from the trust document. */
async function printDocument(flags: FlagValues, changed: Desk, what: string): Promise<void> {
  const { files } = await readTrustChain(realDisk, getDeskFolder(flags));
  const document = files.at(-1) ?? "";
  const { vendor, version, products } = changed.vendor;
  if (isFlagSet(flags, "json")) {
    printJson({ vendor, version, products, document });
    return;
  }
  print(what);
  print(`distribute ${document}; run on each site once: berth trust add ${document}`);
  if (files.length > 1) print(`new sites need, in this order: ${files.join(", ")}`);
}

const add: Command = {
  name: "vendor product add",
  summary: "add a product; creates a new trust document for every site",
  options: [...deskFlags, option.json],
  arguments: ["CODE"],
  examples: ["berth vendor product add CAM --dir desk"],
  async run(flags) {
    const code = getProductCode(flags);
    const desk = await openDesk(flags);
    const { products } = desk.vendor;
    if (products.includes(code)) {
      throw new Failure(
        `${escapeToOneLine(code)} is already a product of this desk`,
        "berth vendor show",
      );
    }
    if (products.length >= MAX_PRODUCTS) {
      throw new Failure(`a desk can have at most ${MAX_PRODUCTS} products`, "create another desk");
    }
    const changed = await desk.addProducts(realDisk, getDeskFolder(flags), [code]);
    await printDocument(flags, changed, `${escapeToOneLine(code)} is now a product of this desk`);
    return EXIT_OK;
  },
};

const remove: Command = {
  name: "vendor product remove",
  summary: "remove a product; creates a new trust document for every site",
  options: [...deskFlags, option.yes, option.json],
  arguments: ["CODE"],
  examples: ["berth vendor product remove CAM --dir desk"],
  async run(flags) {
    const code = getProductCode(flags);
    const desk = await openDesk(flags);
    const { products } = desk.vendor;
    if (!products.includes(code)) {
      throw new Failure(
        `${escapeToOneLine(code)} is not a product of this desk`,
        `its products: ${products.join(", ")}`,
      );
    }
    if (products.length === 1) {
      throw new Failure(
        `${escapeToOneLine(code)} is the only product of this desk`,
        "add another product first",
      );
    }
    const outstanding = filterNewestSerials(listLicenses(desk.ledger, wallClock())).filter(
      (license) => license.product === code && isOutstanding(license),
    );
    if (outstanding.length > 0) {
      const licenses = `${formatCount(outstanding.length, "license")} of ${escapeToOneLine(code)}`;
      const question = `${licenses} will stay installed but cannot be renewed; continue?`;
      await confirm(
        readOutputFlags(flags),
        question,
        "berth vendor list --product CODE shows them",
      );
    }
    const changed = await desk.removeProduct(realDisk, getDeskFolder(flags), code);
    await printDocument(
      flags,
      changed,
      `${escapeToOneLine(code)} is no longer a product of this desk`,
    );
    return EXIT_OK;
  },
};

export const productCommands: readonly Command[] = [add, remove];
