import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { ClockView } from "../../../operations/clock/timekeeping.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import { jsonBody, uploadBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import type { RouteDeps } from "../deps.ts";

const time = Type.String({ format: "date-time" });

const ClockReply = Type.Object(
  {
    now: time,
    system_clock: time,
    state: Type.Union([
      Type.Literal("ok"),
      Type.Literal("behind"),
      Type.Literal("suspect"),
      Type.Literal("ahead"),
    ]),
  },
  { title: "Clock" },
);

const EmptyBody = Type.Object({});

export type ClockReply = typeof ClockReply.static;

/** The appliance time, and ways to correct it when the system clock is wrong. */
export const clock = ({ timekeeping, access, peerOf }: RouteDeps) =>
  new Elysia({ name: "clock", prefix: "/api/admin/v1/clock" })
    .get(
      "",
      () => clockReply(timekeeping.view()),
      describeRoute({
        plane: "admin",
        id: "getClock",
        summary: "Get the clock state",
        reply: ClockReply,
      }),
    )
    .post(
      "/request",
      async ({ request }) => ({ code: unwrap(await timekeeping.requestTimeCode(peerOf(request))) }),
      {
        ...jsonBody(EmptyBody, { emptyAllowed: true }),
        ...describeRoute({
          plane: "admin",
          id: "requestTime",
          summary: "Create a time request code for a vendor",
          reply: Type.Object({ code: Type.String() }, { title: "TimeCode" }),
        }),
      },
    )
    .post("/accept", async () => clockReply(unwrap(await timekeeping.acceptSystemClock())), {
      ...jsonBody(EmptyBody, { emptyAllowed: true }),
      ...describeRoute({
        plane: "admin",
        id: "acceptClock",
        summary: "Accept the system clock, even if it is far ahead",
        destructiveEffect:
          "Appliance time never goes back: everything that has expired by the new time stays expired.",
        reply: ClockReply,
      }),
    })
    .post(
      "/repair",
      async ({ body, request }) => {
        const { license: document } = body;
        if (document === undefined || document.trim() === "") {
          return refuse({ code: "missing_parameters", fields: ["license"] });
        }
        const view = unwrap(await timekeeping.applyTimeDocument(document, peerOf(request)));
        // Sessions that were started later than the new time end now, not when that time comes.
        await access.persistExpiries();
        return clockReply(view);
      },
      {
        ...uploadBody(),
        ...describeRoute({
          plane: "admin",
          upload: true,
          id: "repairClock",
          summary: "Set appliance time back with a vendor's time document",
          requiredFields: ["license"],
          reply: ClockReply,
          refusals: [
            "invalid_license_file",
            "untrusted_vendor",
            "trust_outdated",
            "retired_key",
            "key_ended",
          ],
        }),
      },
    );

const clockReply = ({ now, systemTime, state }: ClockView): ClockReply => ({
  now: rfc3339(now),
  system_clock: rfc3339(systemTime),
  state,
});
