import type { VendorReply } from "../../http/routes/trust.ts";
import { Misuse } from "../../platform/options.ts";
import {
  EXIT_OK,
  isFlagSet,
  getStringFlag,
  type Command,
  getAdminTarget,
} from "../frame/command.ts";
import { confirm } from "../frame/confirm.ts";
import { option } from "../frame/flags.ts";
import { checkOutputPath, outputDocument } from "../files/output-document.ts";
import { readDocument } from "../files/input-document.ts";
import { withAdminClient, type AdminCall } from "../client/admin-client.ts";
import { chooseProduct, type RequestProduct } from "../client/request-product.ts";
import {
  escapeToOneLine,
  print,
  printJson,
  printNote,
  printWarning,
  formatTable,
} from "../frame/terminal.ts";

interface RequestReply {
  readonly payload: string;
  /** Absent: a server of an older version is running. */
  readonly warnings?: readonly string[];
}

interface AddReply extends LicenseReply {
  /** Absent: a server of an older version is running. */
  readonly changes?: readonly string[] | null;
}

interface LicenseReply {
  readonly id: number;
  readonly license_key: string | null;
  readonly product_details: { readonly short_code: string };
  readonly floating_users: number;
  readonly floating_in_use_devices: number;
  readonly validity_period: string | null;
  readonly is_expired: boolean;
}

const request: Command = {
  name: "license request",
  isCommon: true,
  summary: "create a license request for the vendor",
  options: [
    option.data,
    option.identity,
    option.config,
    option.requestProduct,
    option.licenseKey,
    option.out,
    option.qr,
    option.json,
  ],
  examples: ["berth license request --product CAD --out request.jwt"],
  async run(flags) {
    checkOutputPath(flags, "request");
    const namedProduct = getStringFlag(flags, "product");
    const { reply, choice } = await withAdminClient(getAdminTarget(flags), async (call) => {
      const choice = namedProduct === null ? await fetchDefaultProduct(call) : null;
      const body = {
        product: choice?.product ?? namedProduct,
        license_key: getStringFlag(flags, "license-key"),
      };
      const reply = (await call("POST", "/api/v4/license/generate", body)) as RequestReply;
      return { reply, choice };
    });
    const warnings = [
      ...(reply.warnings ?? []),
      ...(choice?.warning == null ? [] : [choice.warning]),
    ];
    for (const warning of warnings) printWarning(escapeToOneLine(warning));
    if (isFlagSet(flags, "json")) {
      printJson({ ...reply, warnings });
      return EXIT_OK;
    }
    if (choice?.note != null) printNote(escapeToOneLine(choice.note));
    await outputDocument(flags, reply.payload, "the request");
    return EXIT_OK;
  },
};

async function fetchDefaultProduct(call: AdminCall): Promise<RequestProduct> {
  const licenses = (await call("GET", "/api/admin/v1/licenses")) as LicenseReply[];
  const vendors = (await call("GET", "/api/admin/v1/trust")) as VendorReply[];
  return chooseProduct(
    licenses.map(({ product_details }) => product_details.short_code),
    vendors.flatMap(({ products }) => products),
  );
}

const add: Command = {
  name: "license add",
  isCommon: true,
  summary: "install a license from the vendor",
  options: [option.data, option.identity, option.config, option.json],
  arguments: ["FILE"],
  examples: ["berth license add license.jwt"],
  run(flags) {
    const license = readDocument(flags.positionals[0], "license");
    return withAdminClient(getAdminTarget(flags), async (call) => {
      const before = (await call("GET", "/api/admin/v1/licenses")) as LicenseReply[];
      const reply = (await call("POST", "/api/v4/license/upload", { license })) as AddReply;
      const isKnown = before.some(({ id }) => id === reply.id);
      if (isFlagSet(flags, "json")) printJson(reply);
      else print(escapeToOneLine(addedText(reply, isKnown)));
      if (reply.is_expired) printWarning(`the license expired on ${reply.validity_period}`);
      return EXIT_OK;
    });
  },
};

function addedText({ id, product_details, changes }: AddReply, isKnown: boolean): string {
  const license = `license ${id} for ${product_details.short_code}`;
  // A server of an older version does not tell a renewal from the same license again.
  if (changes == null)
    return `${license} is ${isKnown && changes === null ? "already " : ""}installed`;
  const text = changes.length === 0 ? "its terms did not change" : changes.join(", ");
  return `${license} is renewed: ${text}`;
}

const list: Command = {
  name: "license list",
  isCommon: true,
  summary: "list the installed licenses",
  options: [option.data, option.identity, option.config, option.json],
  run: (flags) =>
    withAdminClient(getAdminTarget(flags), async (call) => {
      const licenses = (await call("GET", "/api/admin/v1/licenses")) as LicenseReply[];
      if (isFlagSet(flags, "json")) printJson(licenses);
      else print(licenses.length === 0 ? "no licenses yet" : formatLicenses(licenses));
      return EXIT_OK;
    }),
};

const remove: Command = {
  name: "license remove",
  summary: "return a license permanently; prints a receipt for the vendor",
  options: [
    option.data,
    option.identity,
    option.config,
    option.out,
    option.withBorrows,
    option.yes,
    option.json,
  ],
  arguments: ["ID"],
  examples: ["berth license remove 4711 --out receipt.jwt"],
  async run(flags) {
    const [license_id] = flags.positionals;
    if (license_id === undefined) {
      throw new Misuse("ID is required", "berth license list shows what is installed");
    }
    checkOutputPath(flags, "receipt");
    const question = `license ${license_id} will be returned permanently and its slots will be released; continue?`;
    await confirm(flags, question);
    const body = { license_id, with_borrows: isFlagSet(flags, "with-borrows") };
    const reply = (await withAdminClient(getAdminTarget(flags), (call) =>
      call("POST", "/api/admin/v1/licenses/remove", body),
    )) as { readonly receipt: string };
    if (isFlagSet(flags, "json")) printJson(reply);
    else await outputDocument(flags, reply.receipt, "the receipt");
    return EXIT_OK;
  },
};

function formatLicenses(licenses: readonly LicenseReply[]): string {
  const rows = licenses.map((license) => [
    String(license.id),
    license.product_details.short_code,
    license.license_key ?? "-",
    `${license.floating_in_use_devices}/${license.floating_users}`,
    license.validity_period ?? "never",
  ]);
  return formatTable([["LICENSE", "PRODUCT", "KEY", "SLOTS", "EXPIRES"], ...rows]);
}

/** Licenses by files, on the site. */
export const licenseCommands: readonly Command[] = [request, add, list, remove];
