import type { VendorReply } from "../../http/routes/trust.ts";
import { Misuse } from "../../platform/options.ts";
import { EXIT_OK, isFlagSet, type Command, getAdminTarget } from "../frame/command.ts";
import { confirm } from "../frame/confirm.ts";
import { option } from "../frame/flags.ts";
import { readDocument } from "../files/input-document.ts";
import { withAdminClient } from "../client/admin-client.ts";
import { escapeToOneLine, print, printJson, formatTable } from "../frame/terminal.ts";
import { trustFacts } from "../client/trust-facts.ts";

const add: Command = {
  name: "trust add",
  isCommon: true,
  summary: "trust a vendor: accept its licenses",
  options: [option.data, option.identity, option.config, option.yes, option.json],
  arguments: ["FILE"],
  examples: ["berth trust add trust.jwt"],
  async run(flags) {
    const license = readDocument(flags.positionals[0], "trust");
    // Two sessions, so that the folder is not locked while the operator telephones the vendor.
    const { offered, current } = await withAdminClient(getAdminTarget(flags), async (call) => {
      const vendors = (await call("GET", "/api/admin/v1/trust")) as VendorReply[];
      const reply = (await call("POST", "/api/admin/v1/trust/show", { license })) as VendorReply;
      const trusted = vendors.find(({ vendor }) => vendor === reply.vendor) ?? null;
      return { offered: reply, current: trusted };
    });
    if (!isFlagSet(flags, "json")) print(formatTable(trustFacts(offered, current)));
    const question = "compare the fingerprint with the vendor by telephone; accept it?";
    await confirm(flags, question, "accept it only if the fingerprints are the same");
    return withAdminClient(getAdminTarget(flags), async (call) => {
      const reply = (await call("POST", "/api/admin/v1/trust/add", { license })) as VendorReply;
      if (isFlagSet(flags, "json")) printJson(reply);
      else if (current?.version === reply.version) print("this trust document is already known");
      else print(`licenses of ${escapeToOneLine(reply.name)} (${reply.vendor}) are now accepted`);
      return EXIT_OK;
    });
  },
};

const list: Command = {
  name: "trust list",
  summary: "list the trusted vendors",
  options: [option.data, option.identity, option.config, option.json],
  run: (flags) =>
    withAdminClient(getAdminTarget(flags), async (call) => {
      const vendors = (await call("GET", "/api/admin/v1/trust")) as VendorReply[];
      if (isFlagSet(flags, "json")) printJson(vendors);
      else print(vendors.length === 0 ? "no vendor is trusted yet" : formatVendors(vendors));
      return EXIT_OK;
    }),
};

const remove: Command = {
  name: "trust remove",
  summary: "stop trusting a vendor",
  options: [option.data, option.identity, option.config, option.json],
  arguments: ["ID"],
  run(flags) {
    const [vendor] = flags.positionals;
    if (vendor === undefined)
      throw new Misuse("ID is required", "berth trust list shows the vendors");
    return withAdminClient(getAdminTarget(flags), async (call) => {
      const reply = await call("POST", "/api/admin/v1/trust/remove", { vendor });
      if (isFlagSet(flags, "json")) printJson(reply);
      else print(`licenses of ${vendor} are no longer accepted`);
      return EXIT_OK;
    });
  },
};

function formatVendors(vendors: readonly VendorReply[]): string {
  const rows = vendors.map(({ vendor, name, products, fingerprint }) => [
    vendor,
    name,
    products.join(", "),
    fingerprint,
  ]);
  return formatTable([["VENDOR", "NAME", "PRODUCTS", "FINGERPRINT"], ...rows]);
}

export const trustCommands: readonly Command[] = [add, list, remove];
