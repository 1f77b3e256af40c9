import { Misuse } from "../../frame/options.ts";
import {
  setFields,
  unwrapReply,
  withAdminClient,
  type AdminClient,
} from "../../client/admin-client.ts";
import { requestFlags } from "../../client/request-flags.ts";
import { chooseProduct, type RequestProduct } from "../../client/request-product.ts";
import { checkOutputPath, outputDocument } from "../../files/output-document.ts";
import { confirm } from "../../frame/confirm.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { escapeToOneLine, formatList, printNote } from "../../frame/terminal.ts";

interface RequestReply {
  readonly payload: string;
  /** Absent: the request was made before. */
  readonly warnings?: readonly string[];
}

const request = defineCommand({
  name: "license request",
  isCommon: true,
  summary: "create a license request for the vendor",
  options: {
    ...siteOptions,
    product: option.requestProduct,
    licenseKey: option.licenseKey,
    ...requestFlags,
    out: option.out,
    qr: option.qr,
    json: option.json,
  },
  examples: [
    "berth license request --product CAD --out request.jwt",
    "berth license request --product CAD --slots 10 --until 2027-12-31 --note 'two more people'",
    "berth license request --product CAD --hosts 2 --out request.jwt",
    "berth license request --show ID --out request.jwt",
  ],
  async run(options, context) {
    checkOutputPath(options, "request");
    const { product, licenseKey, slots, until, note, hosts, show } = options;
    const wanted = { product, license_key: licenseKey, wanted_slots: slots, wanted_until: until };
    const hostCount = hosts === null ? null : String(hosts);
    const fields = { ...wanted, note, hosts: hostCount };
    if (show !== null && Object.values(fields).some((value) => value !== null)) {
      throw new Misuse(
        "--show shows a request as it was created and takes no other wishes",
        "omit --show to create a new request",
      );
    }
    const { reply, choice } = await withAdminClient(options, context, async (client) => {
      if (show !== null) return { reply: await showRequest(client, show), choice: null };
      const choice = product === null ? await fetchDefaultProduct(client) : null;
      const { generate } = client.v4.license;
      // It is text only for a request that asks for text.
      const reply = (await unwrapReply(
        generate.post(setFields({ ...fields, product: choice?.product ?? product })),
      )) as RequestReply;
      return { reply, choice };
    });
    const warnings = [
      ...(reply.warnings ?? []),
      ...(choice?.warning == null ? [] : [choice.warning]),
    ];
    return {
      json: { ...reply, warnings },
      text() {
        if (choice?.note != null) printNote(escapeToOneLine(choice.note));
        return outputDocument(options, reply.payload, "the request");
      },
      warnings: warnings.map(escapeToOneLine),
    };
  },
});

/** An open request as it was created; an activation code is in the list itself. */
async function showRequest({ admin }: AdminClient, request_id: string): Promise<RequestReply> {
  const requests = await unwrapReply(admin.requests.get());
  const code = requests.find(({ id }) => id === request_id)?.activation_code ?? null;
  if (code !== null) return { payload: code };
  return unwrapReply(admin.requests.document.get({ query: { request_id } }));
}

async function fetchDefaultProduct({ admin }: AdminClient): Promise<RequestProduct> {
  const licenses = await unwrapReply(admin.licenses.get());
  const vendors = await unwrapReply(admin.trust.get());
  return chooseProduct(
    licenses.map(({ product_details }) => product_details.short_code),
    vendors.flatMap(({ products }) => products),
  );
}

const list = defineCommand({
  name: "license requests",
  summary: "list the requests and activation codes that wait for the vendor's answer",
  options: { ...siteOptions, json: option.json },
  async run(site, context) {
    const requests = await withAdminClient(site, context, ({ admin }) =>
      unwrapReply(admin.requests.get()),
    );
    return { json: requests, text: formatRequests(requests) };
  },
});

const cancel = defineCommand({
  name: "license cancel",
  summary: "cancel a request or an activation code; an answer to it is refused",
  options: { ...siteOptions, yes: option.yes, json: option.json },
  arguments: ["ID"],
  examples: ["berth license cancel 5f0c1e6a9b7d42c38e51f0a6d2b94c77"],
  async run(options, context) {
    const [request_id] = context.args;
    if (request_id === undefined) {
      throw new Misuse("ID is required", "berth license requests lists the open requests");
    }
    await confirm(options, `request ${request_id} will be cancelled; continue?`);
    const reply = await withAdminClient(options, context, ({ admin }) =>
      unwrapReply(admin.requests.cancel.post({ request_id })),
    );
    return { json: reply, text: `request ${reply.request_id} is cancelled` };
  },
});

interface ListedRequest {
  readonly id: string;
  readonly kind: "file" | "code";
  readonly product: string | null;
  readonly license_key: string | null;
  readonly wanted_slots: number | null;
  readonly wanted_until: string | null;
  readonly note: string | null;
  readonly hosts: readonly string[];
  readonly created_at: string;
}

function formatRequests(requests: readonly ListedRequest[]): string {
  const rows = requests.map((request) => ({
    request: request.id,
    kind: request.kind,
    created: request.created_at.slice(0, 10),
    product: request.product,
    key: request.license_key,
    hosts: request.hosts.join(", ") || "-",
    slots: request.wanted_slots,
    until: request.wanted_until,
    note: request.note,
  }));
  return formatList(rows, "no open requests");
}

/** Requests for licenses, on the site. */
export const licenseRequestCommands = [request, list, cancel];
