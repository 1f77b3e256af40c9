import { Misuse } from "../../frame/options.ts";
import { unwrapReply, withAdminClient } from "../../client/admin-client.ts";
import { readDocument } from "../../files/input-document.ts";
import { checkOutputPath, outputDocument } from "../../files/output-document.ts";
import { confirm } from "../../frame/confirm.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { escapeToOneLine, formatList } from "../../frame/terminal.ts";

interface AddReply extends LicenseReply {
  /** Null: it is no renewal. */
  readonly changes: readonly string[] | null;
}

interface LicenseReply {
  readonly id: number;
  readonly license_key: string | null;
  readonly product_details: { readonly short_code: string };
  readonly hosts?: number;
  readonly floating_users: number;
  readonly floating_in_use_devices: number;
  readonly validity_period: string | null;
  readonly is_expired: boolean;
}

const add = defineCommand({
  name: "license add",
  isCommon: true,
  summary: "install a license from the vendor",
  options: { ...siteOptions, json: option.json },
  arguments: ["FILE"],
  examples: ["berth license add license.jwt"],
  run(site, context) {
    const license = readDocument(context.args[0], "license");
    return withAdminClient(site, context, async ({ admin, v4 }) => {
      const before = await unwrapReply(admin.licenses.get());
      const reply: AddReply = await unwrapReply(v4.license.upload.post({ license }));
      const isKnown = before.some(({ id }) => id === reply.id);
      return {
        json: reply,
        text: escapeToOneLine(addedText(reply, isKnown)),
        warnings: reply.is_expired ? [`the license expired on ${reply.validity_period}`] : [],
      };
    });
  },
});

function addedText({ id, product_details, changes }: AddReply, isKnown: boolean): string {
  const license = `license ${id} for ${product_details.short_code}`;
  if (changes === null) return `${license} is ${isKnown ? "already " : ""}installed`;
  const text = changes.length === 0 ? "its terms did not change" : changes.join(", ");
  return `${license} is renewed: ${text}`;
}

const list = defineCommand({
  name: "license list",
  isCommon: true,
  summary: "list the installed licenses",
  options: { ...siteOptions, json: option.json },
  async run(site, context) {
    const licenses = await withAdminClient(site, context, ({ admin }) =>
      unwrapReply(admin.licenses.get()),
    );
    return { json: licenses, text: formatLicenses(licenses) };
  },
});

const remove = defineCommand({
  name: "license remove",
  summary: "return a license permanently; prints a receipt for the vendor",
  options: {
    ...siteOptions,
    out: option.out,
    withBorrows: option.withBorrows,
    yes: option.yes,
    json: option.json,
  },
  arguments: ["ID"],
  examples: ["berth license remove 4711 --out receipt.jwt"],
  async run(options, context) {
    const [license_id] = context.args;
    if (license_id === undefined) {
      throw new Misuse("ID is required", "berth license list shows what is installed");
    }
    checkOutputPath(options, "receipt");
    const installed = await withAdminClient(options, context, ({ admin }) =>
      unwrapReply(admin.licenses.get()),
    );
    // Without such a license nothing is lost: it is refused, or its receipt is written again.
    if (installed.some(({ id }) => String(id) === license_id)) {
      const question = `license ${license_id} will be returned permanently and its slots will be released; continue?`;
      await confirm(options, question);
    }
    const { out, withBorrows } = options;
    const reply = await withAdminClient(options, context, ({ admin }) =>
      unwrapReply(admin.licenses.remove.post({ license_id, with_borrows: String(withBorrows) })),
    );
    return {
      json: reply,
      text: () => outputDocument({ out, qr: false }, reply.receipt, "the receipt"),
    };
  },
});

function formatLicenses(licenses: readonly LicenseReply[]): string {
  const rows = licenses.map((license) => ({
    license: license.id,
    product: license.product_details.short_code,
    key: license.license_key,
    slots: `${license.floating_in_use_devices}/${license.floating_users}`,
    hosts: license.hosts ?? 1,
    expires: license.validity_period ?? "never",
  }));
  return formatList(rows, "no licenses yet");
}

/** Installed licenses, on the site. */
export const licenseCommands = [add, list, remove];
