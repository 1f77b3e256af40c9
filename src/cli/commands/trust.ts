import type { VendorReply } from "../../http/routes/trust.ts";
import { Misuse } from "../../platform/options.ts";
import { DONE, isSet, type Command, place } from "../command.ts";
import { confirm } from "../confirm.ts";
import { option } from "../flags.ts";
import { readDocument } from "../input-document.ts";
import { reach } from "../reach.ts";
import { oneLine, print, printJson, table } from "../terminal.ts";
import { trustFacts } from "../trust-facts.ts";

const add: Command = {
  name: "trust add",
  everyday: true,
  summary: "accept a vendor's licenses",
  options: [option.data, option.identity, option.config, option.yes, option.json],
  arguments: ["FILE"],
  examples: ["berth trust add trust.jwt"],
  async run(given) {
    const license = readDocument(given.words[0], "trust");
    // Asked twice, so that the folder is not locked while a person telephones the vendor.
    const { shown, known } = await reach(place(given), async (call) => {
      const vendors = (await call("GET", "/api/admin/v1/trust")) as VendorReply[];
      const reply = (await call("POST", "/api/admin/v1/trust/show", { license })) as VendorReply;
      return { shown: reply, known: vendors.find(({ vendor }) => vendor === reply.vendor) ?? null };
    });
    if (!isSet(given, "json")) print(table(trustFacts(shown, known)));
    const question = "compare the fingerprint by voice; accept it?";
    await confirm(given, question, "once the fingerprints are the same, accept it");
    return reach(place(given), async (call) => {
      const reply = (await call("POST", "/api/admin/v1/trust/add", { license })) as VendorReply;
      if (isSet(given, "json")) printJson(reply);
      else if (known?.version === reply.version) print("this trust document is known here already");
      else print(`licenses of ${oneLine(reply.name)} (${reply.vendor}) are accepted`);
      return DONE;
    });
  },
};

const list: Command = {
  name: "trust list",
  summary: "vendors whose licenses are accepted",
  options: [option.data, option.identity, option.config, option.json],
  run: (given) =>
    reach(place(given), async (call) => {
      const vendors = (await call("GET", "/api/admin/v1/trust")) as VendorReply[];
      if (isSet(given, "json")) printJson(vendors);
      else print(vendors.length === 0 ? "no vendor is trusted yet" : text(vendors));
      return DONE;
    }),
};

const remove: Command = {
  name: "trust remove",
  summary: "no longer accept a vendor's licenses",
  options: [option.data, option.identity, option.config, option.json],
  arguments: ["ID"],
  run(given) {
    const [vendor] = given.words;
    if (vendor === undefined) throw new Misuse("ID must be given", "berth trust list shows them");
    return reach(place(given), async (call) => {
      const reply = await call("POST", "/api/admin/v1/trust/remove", { vendor });
      if (isSet(given, "json")) printJson(reply);
      else print(`licenses of ${vendor} are no longer accepted`);
      return DONE;
    });
  },
};

function text(vendors: readonly VendorReply[]): string {
  const rows = vendors.map(({ vendor, name, products, fingerprint }) => [
    vendor,
    name,
    products.join(", "),
    fingerprint,
  ]);
  return table([["VENDOR", "NAME", "PRODUCTS", "FINGERPRINT"], ...rows]);
}

export const trustCommands: readonly Command[] = [add, list, remove];
