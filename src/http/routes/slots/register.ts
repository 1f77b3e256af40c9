import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { callerOf, isStillAdmitted, type Gate } from "../../access/gate.ts";
import { JSON_TYPE, jsonBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refusalReplyFor, refuse, unwrap } from "../../faults.ts";
import { queuePlaceReply } from "../queue/queue-reply.ts";
import { fields, readIdentifier, readLicenseId, readNonce } from "../../request/fields.ts";
import { readWaitSeconds } from "../../request/prefer.ts";
import type { RouteDeps } from "../deps.ts";
import { contactFields, contactOf, EXAMPLE_CONTACT, slotReply, SlotReply } from "./slot-reply.ts";

const Body = Type.Object(
  { product: fields.product, user: fields.user, ...contactFields, license_id: fields.license_id },
  {
    title: "RegisterBody",
    examples: [{ product: "DEMO", user: "ada", ...EXAMPLE_CONTACT }],
  },
);

export const register = ({ slots, gate, peerOf, userOf, identityOf }: RouteDeps) =>
  new Elysia({ name: "register" }).post(
    "/api/v4/register",
    async ({ body, request, set }): Promise<string> => {
      const user = userOf(request, body.user);
      const input = {
        product: readIdentifier("product", body.product),
        user,
        licenseId: readLicenseId(body.license_id),
        contact: contactOf(body, peerOf(request)),
        identity: identityOf(request, user),
        nonce: readNonce(request),
      };
      const seconds = readWaitSeconds(request);
      if (seconds === null) {
        const slot = unwrap(await slots.register(input));
        set.headers["content-type"] = JSON_TYPE;
        return slotReply(slot);
      }
      const { result, place } = await slots.registerWaiting(input, {
        seconds,
        signal: request.signal,
        isStillAdmitted: () => isStillAdmitted(gate, request),
        beginWait: () => beginWait(gate, request),
      });
      if (result.ok || place !== null) set.headers["preference-applied"] = "wait";
      if (result.ok) {
        set.headers["content-type"] = JSON_TYPE;
        return slotReply(result.value);
      }
      if (place === null) return refuse(result.fault);
      set.headers["content-type"] = JSON_TYPE;
      set.headers["retry-after"] = String(Math.max(1, Math.floor(place.holdSeconds / 2)));
      const refusal = refusalReplyFor(request, result.fault);
      set.status = refusal.status;
      return JSON.stringify({ ...refusal, queue: queuePlaceReply(place) });
    },
    {
      ...jsonBody(Body, { isHeartbeat: true }),
      ...describeRoute({
        plane: "client",
        id: "register",
        summary: "Register a user for a product",
        description:
          "Takes a slot. Registering again is the heartbeat: it keeps the slot and renews its expiry. " +
          "A heartbeat does not fail when all slots are taken, and does not change a borrow. While " +
          "the slot is borrowed, an X-Nonce other than that of its lease is refused. With Prefer: " +
          "wait, the request waits for a slot if none is free, and the user has a place in the " +
          "queue of the product.",
        requiredFields: ["user"],
        reply: SlotReply,
        hasLease: true,
        canWait: true,
        refusals: [
          "hardware_mismatch",
          "needs_pair",
          "clock_suspect",
          "missing_parameters",
          "unknown_product",
          "license_not_found",
          "license_not_active",
          "license_not_enabled",
          "license_expired",
          "floating_not_available",
          "slots_capped",
          "not_allowed_by_rules",
          "leased_elsewhere",
          "audit_budget_exhausted",
        ],
      }),
    },
  );

/** While a request waits it is neither idle nor slow, and is not among those that are limited. */
function beginWait(gate: Gate, request: Request): () => void {
  const endWaiting = gate.waitingCount.begin(callerOf(request));
  const closeAgain = gate.keepOpen(request);
  return () => {
    closeAgain();
    endWaiting();
  };
}
