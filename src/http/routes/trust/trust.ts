import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { VendorView } from "../../../operations/trust/vendor-trust.ts";
import { jsonBody, uploadBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import { fields, readIdentifier } from "../../request/fields.ts";
import type { RouteDeps } from "../deps.ts";

const VendorReply = Type.Object(
  {
    vendor: Type.String(),
    name: Type.String(),
    version: Type.Integer(),
    products: Type.Array(Type.String()),
    fingerprint: Type.String({
      description: "Fingerprint of the vendor's root key, to compare by phone. It never changes.",
    }),
    retired: Type.Array(Type.String(), {
      description: "Ids of keys from which nothing is accepted any more.",
    }),
  },
  { title: "Vendor" },
);

export type VendorReply = typeof VendorReply.static;

const VendorBody = Type.Object({ vendor: fields.vendor }, { title: "VendorBody" });

/** The vendors whose licenses are accepted. */
export const trust = ({ vendorTrust, peerOf }: RouteDeps) =>
  new Elysia({ name: "trust", prefix: "/api/admin/v1/trust" })
    .get(
      "",
      async () => unwrap(await vendorTrust.listVendors()).map(vendorReply),
      describeRoute({
        plane: "admin",
        id: "listVendors",
        summary: "List trusted vendors",
        reply: Type.Array(VendorReply),
      }),
    )
    .post(
      "/show",
      async ({ body }) =>
        vendorReply(unwrap(await vendorTrust.previewTrustDocument(readDocument(body)))),
      {
        ...uploadBody(),
        ...describeRoute({
          plane: "admin",
          upload: true,
          changesNothing: true,
          id: "inspectVendor",
          summary: "Inspect a trust document",
          description: "Changes nothing: a person compares the fingerprint first.",
          requiredFields: ["license"],
          reply: VendorReply,
          refusals: ["missing_parameters", "invalid_license_file", "trust_locked"],
        }),
      },
    )
    .post(
      "/add",
      async ({ body, request }) =>
        vendorReply(unwrap(await vendorTrust.trustVendor(readDocument(body), peerOf(request)))),
      {
        ...uploadBody(),
        ...describeRoute({
          plane: "admin",
          upload: true,
          id: "trustVendor",
          summary: "Trust a vendor",
          requiredFields: ["license"],
          reply: VendorReply,
          refusals: [
            "missing_parameters",
            "invalid_license_file",
            "untrusted_vendor",
            "root_changed",
            "trust_older",
            "trust_locked",
          ],
        }),
      },
    )
    .post(
      "/remove",
      async ({ body, request }) => {
        const vendor = readIdentifier("vendor", body.vendor);
        if (vendor === null) return refuse({ code: "missing_parameters", fields: ["vendor"] });
        return unwrap(await vendorTrust.distrustVendor(vendor, peerOf(request)));
      },
      {
        ...jsonBody(VendorBody),
        ...describeRoute({
          plane: "admin",
          id: "distrustVendor",
          summary: "Stop trusting a vendor",
          requiredFields: ["vendor"],
          destructiveEffect: "Licenses of this vendor are refused from now on.",
          reply: Type.Object({ vendor: Type.String() }, { title: "VendorId" }),
          refusals: ["missing_parameters", "unknown_vendor", "vendor_in_use"],
        }),
      },
    );

function readDocument({ license }: { readonly license?: string }): string {
  return license === undefined || license.trim() === ""
    ? refuse({ code: "missing_parameters", fields: ["license"] })
    : license;
}

const vendorReply = (vendor: VendorView): VendorReply => ({
  vendor: vendor.vendor,
  name: vendor.name,
  version: vendor.version,
  products: [...vendor.products],
  fingerprint: vendor.fingerprint,
  retired: [...vendor.retiredKeys],
});
