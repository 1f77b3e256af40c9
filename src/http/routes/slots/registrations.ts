import { Type, type Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { RegistrationView } from "../../../domain/views/views.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { joinToArray, replyWithJsonParts } from "../../streamed-reply.ts";
import { fields, readIdentifier } from "../../request/fields.ts";
import { readQuery } from "../../request/query.ts";
import { rfc3339OrNull } from "../../timestamps.ts";
import type { RouteDeps } from "../deps.ts";
import { contactReply, contactSchema } from "./slot-reply.ts";

const time = Type.String({ format: "date-time" });

export const RegistrationReply = Type.Object(
  {
    product: Type.String(),
    license_id: Type.Integer(),
    user: Type.String(),
    ...contactSchema(Type.String()),
    peer: Type.String({ description: "Address of the user's last request." }),
    registered_at: time,
    last_seen_at: Type.String({
      format: "date-time",
      description: "When the slot was taken, borrowed or renewed by a heartbeat last.",
    }),
    expires_at: time,
    borrowed_until: Type.Union([time, Type.Null()]),
    features: Type.Array(Type.String()),
    home: Type.Union([Type.String(), Type.Null()], {
      description: "The group whose reserved slots the user has; null: none.",
    }),
  },
  { title: "Registration" },
);

export type RegistrationReply = Static<typeof RegistrationReply>;

const Query = Type.Object({ product: fields.product });

export const registrations = ({ slots, leadership }: RouteDeps) =>
  new Elysia({ name: "registrations", prefix: "/api/admin/v1" }).get(
    "/registrations",
    ({ request, set }): Promise<RegistrationReply[]> => {
      const query = readQuery(Query, request, set.headers);
      const product = readIdentifier("product", query.product);
      const steps = slots.listInSteps(product, (slot) => JSON.stringify(registrationReply(slot)));
      return replyWithJsonParts({ request, set, leadership }, joinToArray(steps));
    },
    describeRoute({
      plane: "admin",
      id: "listRegistrations",
      summary: "List slots in use",
      query: Query,
      reply: Type.Array(RegistrationReply),
      refusals: ["unknown_product"],
    }),
  );

export const registrationReply = (registration: RegistrationView): RegistrationReply => ({
  product: registration.product,
  license_id: registration.license,
  user: registration.user,
  ...contactReply(registration.contact),
  peer: registration.contact.peer,
  registered_at: rfc3339(registration.registeredAt),
  last_seen_at: rfc3339(registration.lastSeenAt),
  expires_at: rfc3339(registration.end),
  borrowed_until: rfc3339OrNull(registration.borrowedUntil),
  features: [...registration.features],
  home: registration.home,
});
