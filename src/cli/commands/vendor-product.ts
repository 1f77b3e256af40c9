import { LONGEST_NAME, MOST_PRODUCTS } from "../../license/trust.ts";
import { wallClock } from "../../platform/clock.ts";
import { realDisk } from "../../platform/disk.ts";
import { Misuse } from "../../platform/options.ts";
import type { Desk } from "../../vendor/desk.ts";
import { isOut, listLicenses, newestOnly } from "../../vendor/license-list.ts";
import { readTrustChain } from "../../vendor/records.ts";
import { DONE, Failure, isSet, type Command, type Given } from "../command.ts";
import { confirm } from "../confirm.ts";
import { option } from "../flags.ts";
import { deskFlags, deskFolder, openDesk } from "../open-desk.ts";
import { count, oneLine, print, printJson } from "../terminal.ts";

function codeIn({ words: [code] }: Given): string {
  if (code === undefined || code === "" || code.length > LONGEST_NAME) {
    throw new Misuse("CODE must be given: a product code", "berth vendor product add CAD");
  }
  return code;
}

/** What to carry where: a site knows of a product only by the vendor's document. */
async function printDocument(given: Given, changed: Desk, what: string): Promise<void> {
  const { files } = await readTrustChain(realDisk, deskFolder(given));
  const document = files.at(-1) ?? "";
  const { vendor, version, products } = changed.vendor;
  if (isSet(given, "json")) {
    printJson({ vendor, version, products, document });
    return;
  }
  print(what);
  print(`hand out ${document}; each site takes it once: berth trust add ${document}`);
  if (files.length > 1) print(`a new site takes one after the other: ${files.join(", ")}`);
}

const add: Command = {
  name: "vendor product add",
  summary: "license another product: a new trust document for every site",
  options: [...deskFlags, option.json],
  arguments: ["CODE"],
  examples: ["berth vendor product add CAM --dir desk"],
  async run(given) {
    const code = codeIn(given);
    const desk = await openDesk(given);
    const { products } = desk.vendor;
    if (products.includes(code)) {
      throw new Failure(`${oneLine(code)} is a product of this desk already`, "berth vendor show");
    }
    if (products.length >= MOST_PRODUCTS) {
      throw new Failure(`a desk has at most ${MOST_PRODUCTS} products`, "make another desk");
    }
    const changed = await desk.licensing(realDisk, deskFolder(given), [code]);
    await printDocument(given, changed, `${oneLine(code)} is a product of this desk`);
    return DONE;
  },
};

const remove: Command = {
  name: "vendor product remove",
  summary: "license a product no longer: a new trust document for every site",
  options: [...deskFlags, option.yes, option.json],
  arguments: ["CODE"],
  examples: ["berth vendor product remove CAM --dir desk"],
  async run(given) {
    const code = codeIn(given);
    const desk = await openDesk(given);
    const { products } = desk.vendor;
    if (!products.includes(code)) {
      throw new Failure(
        `${oneLine(code)} is no product of this desk`,
        `it has: ${products.join(", ")}`,
      );
    }
    if (products.length === 1) {
      throw new Failure(
        `${oneLine(code)} is the only product of this desk`,
        "add another one first",
      );
    }
    const out = newestOnly(listLicenses(desk.ledger, wallClock())).filter(
      (one) => one.product === code && isOut(one),
    );
    if (out.length > 0) {
      const licenses = `${count(out.length, "license")} of ${oneLine(code)}`;
      const question = `${licenses} will stay where installed and take no renewal; go on?`;
      await confirm(given, question, "berth vendor list --product shows them");
    }
    const changed = await desk.withoutProduct(realDisk, deskFolder(given), code);
    await printDocument(given, changed, `${oneLine(code)} is no product of this desk any more`);
    return DONE;
  },
};

export const productCommands: readonly Command[] = [add, remove];
