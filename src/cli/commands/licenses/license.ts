import { Misuse } from "../../frame/options.ts";
import { findMismatchedKind } from "../../../license/documents/document.ts";
import { unwrapReply, withAdminClient, type AdminClient } from "../../client/admin-client.ts";
import { readDocument } from "../../files/input-document.ts";
import { checkOutputPath, outputDocument } from "../../files/output-document.ts";
import { Failure } from "../../frame/command.ts";
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
  summary: "install a license from the vendor, with the newer trust.jwt that came with it",
  options: { ...siteOptions, json: option.json },
  arguments: ["FILE…"],
  examples: ["berth license add license.jwt", "berth license add license.jwt trust.jwt"],
  run(site, context) {
    const { license, trust } = readAnswer(context.allArgs);
    return withAdminClient(site, context, async ({ admin, v4 }) => {
      if (trust !== null) await updateTrust(admin, trust);
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

const isTrust = (text: string): boolean => findMismatchedKind(text, "license") === "trust";

/** What came from the vendor: a license, and perhaps its newest trust document. */
function readAnswer(files: readonly string[]) {
  if (files.length < 2) return { license: readDocument(files[0], "license"), trust: null };
  const documents = files.map((file) => readDocument(file, ["license", "trust"]));
  const [license, ...licenses] = documents.filter((text) => !isTrust(text));
  const [trust = null, ...trusts] = documents.filter(isTrust);
  if (license !== undefined && licenses.length + trusts.length === 0) return { license, trust };
  throw new Misuse(
    "the files must be one license and one trust document",
    "install one license after the other: berth license add FILE",
  );
}

/** Only of a vendor that is trusted: nobody compares a fingerprint here. */
async function updateTrust(admin: AdminClient["admin"], license: string): Promise<void> {
  const [offered, vendors] = [
    await unwrapReply(admin.trust.show.post({ license })),
    await unwrapReply(admin.trust.get()),
  ];
  const current = vendors.find(({ vendor }) => vendor === offered.vendor);
  if (current === undefined) {
    throw new Failure(
      `${escapeToOneLine(offered.name)} (${offered.vendor}) is not trusted yet`,
      "compare the fingerprint and add it with berth trust add FILE",
    );
  }
  // The same document changes nothing; another one of its version is a sign of a misused root.
  if (current.version <= offered.version) await unwrapReply(admin.trust.add.post({ license }));
}

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
