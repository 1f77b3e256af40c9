import type { VendorReply } from "../../../http/routes/trust/trust.ts";
import { Misuse } from "../../frame/options.ts";
import { unwrapReply, withAdminClient } from "../../client/admin-client.ts";
import { trustFacts } from "../../client/trust-facts.ts";
import { readDocument } from "../../files/input-document.ts";
import { confirm } from "../../frame/confirm.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { escapeToOneLine, formatList, formatTable } from "../../frame/terminal.ts";

const add = defineCommand({
  name: "trust add",
  isCommon: true,
  summary: "trust a vendor and accept its licenses, or install its newer trust document",
  options: { ...siteOptions, yes: option.yes, json: option.json },
  arguments: ["FILE"],
  examples: ["berth trust add trust.jwt"],
  async run(options, context) {
    const license = readDocument(context.args[0], "trust");
    // Two sessions, so that the folder is not locked while the operator telephones the vendor.
    const { offered, current } = await withAdminClient(options, context, async ({ admin }) => {
      const vendors = await unwrapReply(admin.trust.get());
      const offered = await unwrapReply(admin.trust.show.post({ license }));
      const trusted = vendors.find(({ vendor }) => vendor === offered.vendor) ?? null;
      return { offered, current: trusted };
    });
    context.show(formatTable(trustFacts(offered, current)));
    // The root that is trusted signed a newer document: there is nothing new to compare.
    if (current === null) {
      const question = "compare the fingerprint with the vendor by telephone; accept it?";
      await confirm(options, question, "accept it only if the fingerprints are the same");
    }
    const reply = await withAdminClient(options, context, ({ admin }) =>
      unwrapReply(admin.trust.add.post({ license })),
    );
    return {
      json: reply,
      text:
        current?.version === reply.version
          ? "this trust document is already known"
          : `licenses of ${escapeToOneLine(reply.name)} (${reply.vendor}) are now accepted`,
    };
  },
});

const list = defineCommand({
  name: "trust list",
  summary: "list the trusted vendors",
  options: { ...siteOptions, json: option.json },
  async run(site, context) {
    const vendors = await withAdminClient(site, context, ({ admin }) =>
      unwrapReply(admin.trust.get()),
    );
    return { json: vendors, text: formatVendors(vendors) };
  },
});

const remove = defineCommand({
  name: "trust remove",
  summary: "stop trusting a vendor",
  options: { ...siteOptions, json: option.json },
  arguments: ["ID"],
  async run(site, context) {
    const [vendor] = context.args;
    if (vendor === undefined)
      throw new Misuse("ID is required", "berth trust list shows the vendors");
    const reply = await withAdminClient(site, context, ({ admin }) =>
      unwrapReply(admin.trust.remove.post({ vendor })),
    );
    return { json: reply, text: `licenses of ${vendor} are no longer accepted` };
  },
});

function formatVendors(vendors: readonly VendorReply[]): string {
  const rows = vendors.map(({ vendor, name, products, fingerprint }) => ({
    vendor,
    name,
    products: products.join(", "),
    fingerprint,
  }));
  return formatList(rows, "no vendor is trusted yet");
}

export const trustCommands = [add, list, remove];
