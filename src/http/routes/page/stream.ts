import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { describeRoute } from "../../openapi/describe-route.ts";
import { isStillAdmitted } from "../../access/gate.ts";
import { findStandbyFault } from "../../access/standby.ts";
import { StatusReply } from "../health/status-schema.ts";
import { statusReply } from "../health/status-reply.ts";
import type { RouteDeps } from "../deps.ts";

export const stream = ({ streams, gate, ...services }: RouteDeps) => {
  const { leadership } = services;
  const status = () => statusReply(services);
  // A page must not show the figures of a host that no longer leads as current.
  const isLeading = (): boolean => leadership === null || findStandbyFault(leadership) === null;
  return new Elysia({ name: "stream" }).get(
    "/api/admin/v1/stream",
    async ({ request }) => {
      const isViewerAdmitted = (): boolean =>
        !request.signal.aborted && isLeading() && isStillAdmitted(gate, request);
      const lines = streams.open(
        { gate, isStillAdmitted: isViewerAdmitted, status },
        await status(),
      );
      // The next stream opens a new connection: an expired client certificate is refused there.
      const headers = { "content-type": "application/x-ndjson", connection: "close" };
      return new Response(lines, { headers });
    },
    describeRoute({
      plane: "admin",
      id: "streamStatus",
      summary: "Stream server status",
      description:
        "Sends one line of JSON immediately, and one after each change; changes of the time and " +
        "those by heartbeats are not sent. An empty line at least every five seconds shows that " +
        "the connection works. The stream ends when its credential expires or is revoked, when " +
        "the server stops, or when it no longer leads its pair; where client certificates are " +
        "required, within five minutes. Open it again to continue.",
      streamLine: Type.Object({ status: StatusReply }, { title: "StatusLine" }),
      refusals: [{ code: "too_many_requests", busy: "streams" }],
    }),
  );
};
