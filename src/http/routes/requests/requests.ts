import { Type, type Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { limits } from "../../../domain/model/limits.ts";
import type { OpenRequest } from "../../../domain/model/state.ts";
import { later } from "../../../domain/time.ts";
import type { OpenActivationCode } from "../../../operations/requests/airgap.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import { LicenseRequestReply, licenseRequestReply } from "./license-request.ts";
import { jsonBody } from "../../request/body.ts";
import { fields, readIdentifier } from "../../request/fields.ts";
import { readQuery } from "../../request/query.ts";
import type { RouteDeps } from "../deps.ts";

const time = Type.String({ format: "date-time" });
const orNull = <S extends ReturnType<typeof Type.String> | ReturnType<typeof Type.Integer>>(
  schema: S,
  description: string,
) => Type.Union([schema, Type.Null()], { description });

const OpenRequestReply = Type.Object(
  {
    id: Type.String({ description: "Request id." }),
    kind: Type.Union([Type.Literal("file"), Type.Literal("code")], {
      description: "file: a request document; code: an activation code.",
    }),
    product: orNull(Type.String(), "Requested product; null: none was named."),
    license_key: orNull(Type.String(), "License key as sent in the request."),
    wanted_slots: orNull(Type.Integer(), "Number of slots that the site wants."),
    wanted_until: orNull(Type.String(), "Last day that the site wants, as YYYY-MM-DD."),
    note: orNull(Type.String(), "Note for the vendor."),
    hosts: Type.Array(Type.String(), {
      description: "Names of both hosts, if the request is for two; else empty.",
    }),
    created_at: time,
    expires_at: Type.String({
      format: "date-time",
      description: "Time until which the vendor's answer is accepted.",
    }),
    activation_code: orNull(Type.String(), "The activation code; null for kind file."),
  },
  { title: "OpenRequest" },
);

export type OpenRequestReply = Static<typeof OpenRequestReply>;

const Query = Type.Object({ request_id: fields.request_id });
const Body = Type.Object({ request_id: fields.request_id }, { title: "CancelRequestBody" });

/** The requests that wait for the vendor's answer. */
export const requests = ({ licensing, airgap, peerOf }: RouteDeps) =>
  new Elysia({ name: "requests" })
    .get(
      "/api/admin/v1/requests",
      async (): Promise<OpenRequestReply[]> => {
        const files = unwrap(await licensing.listRequests()).map(fileRequestReply);
        const codes = unwrap(await airgap.listActivationCodes()).map(codeRequestReply);
        return [...files, ...codes].toSorted((a, b) => b.created_at.localeCompare(a.created_at));
      },
      describeRoute({
        plane: "admin",
        id: "listRequests",
        summary: "List the requests that wait for the vendor's answer",
        description: "Newest first. A request leaves the list when it is answered or cancelled.",
        reply: Type.Array(OpenRequestReply),
      }),
    )
    .get(
      "/api/admin/v1/requests/document",
      async ({ request, set }) => {
        const query = readQuery(Query, request, set.headers);
        const id = readRequestId(query.request_id);
        return licenseRequestReply(unwrap(await licensing.showRequest(id)));
      },
      describeRoute({
        plane: "admin",
        id: "showRequest",
        summary: "Show an open request again",
        description: "The payload is the same as when the request was created.",
        query: Query,
        requiredFields: ["request_id"],
        reply: LicenseRequestReply,
        refusals: ["missing_parameters", "request_not_found"],
      }),
    )
    .post(
      "/api/admin/v1/requests/cancel",
      async ({ body, request }) => {
        const id = readRequestId(body.request_id);
        return { request_id: unwrap(await licensing.cancelRequest(id, peerOf(request))) };
      },
      {
        ...jsonBody(Body),
        ...describeRoute({
          plane: "admin",
          id: "cancelRequest",
          summary: "Cancel a request",
          description: "An answer to it is refused from then on. The same call again is accepted.",
          requiredFields: ["request_id"],
          destructiveEffect: "The vendor's answer to this request can no longer be installed.",
          reply: Type.Object({ request_id: Type.String() }, { title: "CancelledRequest" }),
          refusals: ["missing_parameters", "request_not_found"],
        }),
      },
    );

const readRequestId = (value: string | undefined): string =>
  readIdentifier("request_id", value)?.trim().toLowerCase() ??
  refuse({ code: "missing_parameters", fields: ["request_id"] });

const fileRequestReply = (open: OpenRequest): OpenRequestReply => ({
  id: open.request,
  kind: "file",
  product: open.product,
  license_key: open.licenseKey,
  wanted_slots: open.wants?.slots ?? null,
  wanted_until: open.wants?.until ?? null,
  note: open.wants?.note ?? null,
  hosts: open.pair?.hosts.map(({ name }) => name) ?? [],
  created_at: rfc3339(open.at),
  expires_at: rfc3339(later(open.at, limits.requestAge)),
  activation_code: null,
});

const codeRequestReply = (open: OpenActivationCode): OpenRequestReply => ({
  id: open.nonce,
  kind: "code",
  product: null,
  license_key: open.licenseKey,
  wanted_slots: null,
  wanted_until: null,
  note: null,
  hosts: [],
  created_at: rfc3339(open.at),
  expires_at: rfc3339(open.expires),
  activation_code: open.code,
});
