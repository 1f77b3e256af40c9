import { Type, type Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { ChannelTest } from "../../../operations/notifications/notifier.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse } from "../../faults.ts";
import { jsonBody } from "../../request/body.ts";
import type { RouteDeps } from "../deps.ts";

const EmptyBody = Type.Object({});
const BUSY = { code: "too_many_requests", busy: "requests" } as const;

const EventTest = Type.Object(
  {
    setting: Type.String({ description: "on_event or event_syslog." }),
    is_delivered: Type.Boolean(),
    failure: Type.Union([Type.String(), Type.Null()], { description: "null: it was delivered." }),
    exit_code: Type.Union([Type.Integer(), Type.Null()], {
      description: "Of the program; null: it was not started, was killed, or it is no program.",
    }),
    output: Type.String({ description: "The beginning of what the program wrote." }),
    duration_ms: Type.Integer(),
  },
  { title: "EventTest" },
);

const EventTestsReply = Type.Object(
  {
    tests: Type.Array(EventTest, {
      description: "One for each setting that is set; empty if none is.",
    }),
  },
  { title: "EventTests" },
);

export type EventTestsReply = Static<typeof EventTestsReply>;

/** Enough for an error message. */
const MAX_OUTPUT = 4_096;

/** A caller can send a sample, but cannot choose the program: that is a setting of the machine. */
export const events = ({ runningServer, keepOpen }: RouteDeps) =>
  new Elysia({ name: "events", prefix: "/api/admin/v1" }).post(
    "/events/test",
    async ({ request }): Promise<EventTestsReply> => {
      if (runningServer === null) return refuse({ code: "server_not_running" });
      const release = keepOpen(request);
      try {
        return { tests: (await runningServer.notifier.test()).map(testReply) };
      } finally {
        release();
      }
    },
    {
      ...jsonBody(EmptyBody, { emptyAllowed: true }),
      ...describeRoute({
        plane: "admin",
        id: "testEvents",
        summary: "Send a test event to the program and to syslog",
        description:
          "Runs the program of `on_event`, and sends a line to `event_syslog`. It waits for the " +
          "program, 30 seconds at most, and for those that run before it.",
        reply: EventTestsReply,
        refusals: ["server_not_running", BUSY],
      }),
    },
  );

function testReply({ setting, delivery }: ChannelTest): Static<typeof EventTest> {
  if (delivery === null) return refuse(BUSY);
  return {
    setting,
    is_delivered: delivery.failure === null,
    failure: delivery.failure,
    exit_code: delivery.exitCode,
    output: delivery.output.slice(0, MAX_OUTPUT).toWellFormed(),
    duration_ms: delivery.durationMs,
  };
}
