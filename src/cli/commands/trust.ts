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
  summary: "trust a vendor: accept its licenses",
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
    const question = "compare the fingerprint with the vendor by telephone; accept it?";
    await confirm(given, question, "accept it only if the fingerprints are the same");
    return reach(place(given), async (call) => {
      const reply = (await call("POST", "/api/admin/v1/trust/add", { license })) as VendorReply;
      if (isSet(given, "json")) printJson(reply);
      else if (known?.version === reply.version) print("this trust document is already known");
      else print(`licenses of ${oneLine(reply.name)} (${reply.vendor}) are now accepted`);
      return DONE;
    });
  },
};

const list: Command = {
  name: "trust list",
  summary: "list the trusted vendors",
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
  summary: "stop trusting a vendor",
  options: [option.data, option.identity, option.config, option.json],
  arguments: ["ID"],
  run(given) {
    const [vendor] = given.words;
    if (vendor === undefined)
      throw new Misuse("ID is required", "berth trust list shows the vendors");
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
