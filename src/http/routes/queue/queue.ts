import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import { QueueReply } from "./queue-schemas.ts";
import { replyWithJsonParts } from "../../streamed-reply.ts";
import { joinToQueueReply, QUEUE_TEXTS } from "./queue-reply.ts";
import { jsonBody } from "../../request/body.ts";
import { fields, readIdentifier } from "../../request/fields.ts";
import { readQuery } from "../../request/query.ts";
import type { RouteDeps } from "../deps.ts";

const Query = Type.Object({ product: fields.product });

const PlaceBody = Type.Object(
  { product: fields.product, user: fields.user },
  { title: "PlaceBody", examples: [{ product: "DEMO", user: "ada" }] },
);

const REFUSALS = ["missing_parameters", "unknown_product", "not_waiting"] as const;

const PlaceReply = Type.Object(
  { product: Type.String(), user: Type.String() },
  { title: "ChangedPlace" },
);

/** The users who wait for a slot, for operators. */
export const queue = ({ queue: slotQueue, leadership, peerOf }: RouteDeps) =>
  new Elysia({ name: "queue", prefix: "/api/admin/v1/queue" })
    .get(
      "",
      ({ request, set }): Promise<QueueReply> => {
        const query = readQuery(Query, request, set.headers);
        const product = readIdentifier("product", query.product);
        const steps = slotQueue.listInSteps(product, QUEUE_TEXTS);
        return replyWithJsonParts({ request, set, leadership }, joinToQueueReply(steps));
      },
      describeRoute({
        plane: "admin",
        id: "listQueue",
        summary: "List the users who wait for a slot",
        query: Query,
        reply: QueueReply,
        refusals: ["unknown_product"],
      }),
    )
    .post(
      "/front",
      async ({ body, request }) => {
        const place = readPlace(body);
        const changed = await slotQueue.moveToFront({ ...place, peer: peerOf(request) });
        return { product: unwrap(changed), user: place.user };
      },
      {
        ...jsonBody(PlaceBody),
        ...describeRoute({
          plane: "admin",
          id: "movePlaceToFront",
          summary: "Move a waiting user to the front of the queue",
          description:
            "Only members of a group whose own reserved slots are idle are served before.",
          requiredFields: ["user"],
          reply: PlaceReply,
          refusals: REFUSALS,
        }),
      },
    )
    .post(
      "/drop",
      async ({ body, request }) => {
        const place = readPlace(body);
        const changed = await slotQueue.drop({ ...place, peer: peerOf(request) });
        return { product: unwrap(changed), user: place.user };
      },
      {
        ...jsonBody(PlaceBody),
        ...describeRoute({
          plane: "admin",
          id: "dropPlace",
          summary: "Remove a waiting user from the queue",
          destructiveEffect: "The user loses the place; the next request waits at the end.",
          requiredFields: ["user"],
          reply: PlaceReply,
          refusals: REFUSALS,
        }),
      },
    );

interface PlaceFields {
  readonly product?: string;
  readonly user?: string;
}

function readPlace(body: PlaceFields): { readonly product: string | null; readonly user: string } {
  const product = readIdentifier("product", body.product);
  const user = readIdentifier("user", body.user);
  return user === null
    ? refuse({ code: "missing_parameters", fields: ["user"] })
    : { product, user };
}
