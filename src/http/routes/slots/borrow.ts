import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { JSON_TYPE, jsonBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { unwrap } from "../../faults.ts";
import {
  fields,
  readIdempotencyKey,
  readIdentifier,
  readLicenseId,
  readNonce,
  readTimestamp,
} from "../../request/fields.ts";
import type { RouteDeps } from "../deps.ts";
import { contactFields, contactOf, EXAMPLE_CONTACT, slotReply, SlotReply } from "./slot-reply.ts";

const Body = Type.Object(
  {
    product: fields.product,
    user: fields.user,
    ...contactFields,
    borrowed_until: fields.borrowed_until,
    license_id: fields.license_id,
  },
  {
    title: "BorrowBody",
    examples: [
      {
        product: "DEMO",
        user: "ada",
        ...EXAMPLE_CONTACT,
        borrowed_until: "2027-01-31T18:00:00Z",
      },
    ],
  },
);

const Reply = Type.Composite(
  [
    SlotReply,
    Type.Object({
      max_borrow_time: Type.Union([Type.Integer(), Type.Null()], {
        description: "Longest borrow in hours, by the license and the rules of the site.",
      }),
    }),
  ],
  { title: "BorrowedSlot" },
);

export const borrow = ({ slots, peerOf, userOf, identityOf }: RouteDeps) =>
  new Elysia({ name: "borrow" }).post(
    "/api/v4/borrow",
    async ({ body, request, set }): Promise<string> => {
      const user = userOf(request, body.user);
      const slot = unwrap(
        await slots.borrow({
          product: readIdentifier("product", body.product),
          user,
          licenseId: readLicenseId(body.license_id),
          contact: contactOf(body, peerOf(request)),
          identity: identityOf(request, user),
          until: readTimestamp("borrowed_until", body.borrowed_until),
          idempotencyKey: readIdempotencyKey(request),
          nonce: readNonce(request),
        }),
      );
      set.headers["content-type"] = JSON_TYPE;
      return slotReply(slot, { max_borrow_time: slot.maxHours });
    },
    {
      ...jsonBody(Body),
      ...describeRoute({
        plane: "client",
        id: "borrow",
        summary: "Borrow a license slot for a user",
        description:
          "Holds a slot until a given time without heartbeats. Registers the user if necessary. " +
          "Borrowing again changes the end; unregister returns the slot early. A borrow is leased " +
          "to one device: another X-Nonce is refused until the borrow ends or the slot is returned.",
        requiredFields: ["user"],
        reply: Reply,
        idempotent: true,
        hasLease: true,
        refusals: [
          "hardware_mismatch",
          "needs_pair",
          "clock_suspect",
          "missing_parameters",
          "invalid_timestamp",
          "unknown_product",
          "license_not_found",
          "license_not_active",
          "license_not_enabled",
          "license_expired",
          "floating_not_available",
          "slots_capped",
          "not_allowed_by_rules",
          "audit_budget_exhausted",
          "license_borrow_not_allowed",
          "borrow_until_not_valid",
          "early_return_not_allowed",
          "leased_elsewhere",
          "idempotency_key_reused",
        ],
      }),
    },
  );
