import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { JSON_TYPE, jsonBody } from "../request/body.ts";
import { describeRoute } from "../openapi/describe-route.ts";
import { unwrap } from "../faults.ts";
import { fields, readIdentifier, readLicenseId, readNonce } from "../request/fields.ts";
import type { RouteDeps } from "./deps.ts";
import { contactFields, contactOf, slotReply, SlotReply } from "./slot-reply.ts";

const Body = Type.Object(
  { product: fields.product, user: fields.user, ...contactFields, license_id: fields.license_id },
  {
    title: "RegisterBody",
    examples: [
      { product: "DEMO", user: "ada", os_hostname: "ws-17", ip_local: "10.0.0.17", user_info: "" },
    ],
  },
);

export const register = ({ slots, peerOf, userOf }: RouteDeps) =>
  new Elysia({ name: "register" }).post(
    "/api/v4/register",
    async ({ body, request, set }): Promise<string> => {
      const slot = unwrap(
        await slots.register({
          product: readIdentifier("product", body.product),
          user: userOf(request, body.user),
          licenseId: readLicenseId(body.license_id),
          contact: contactOf(body, peerOf(request)),
          nonce: readNonce(request),
        }),
      );
      set.headers["content-type"] = JSON_TYPE;
      return slotReply(slot);
    },
    {
      ...jsonBody(Body),
      ...describeRoute({
        plane: "client",
        id: "register",
        summary: "Register a user for a product",
        description:
          "Takes a slot. Registering again is the heartbeat: it keeps the slot and renews its expiry. " +
          "A heartbeat does not fail when all slots are taken, and does not change a borrow. While " +
          "the slot is borrowed, an X-Nonce other than that of its lease is refused.",
        requiredFields: ["user"],
        reply: SlotReply,
        hasLease: true,
        refusals: [
          "hardware_mismatch",
          "clock_suspect",
          "missing_parameters",
          "unknown_product",
          "license_not_found",
          "license_not_active",
          "license_not_enabled",
          "license_expired",
          "floating_not_available",
          "slots_capped",
          "leased_elsewhere",
          "audit_budget_exhausted",
        ],
      }),
    },
  );
