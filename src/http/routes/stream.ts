import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { describe } from "../describe.ts";
import { stillAdmits } from "../gate.ts";
import { statusReply, StatusReply } from "../status.ts";
import type { RouteDeps } from "./deps.ts";

const PATH = "/api/admin/v1/stream";

export const stream = ({ streams, gate, ...services }: RouteDeps) => {
  const status = () => statusReply(services);
  return new Elysia({ name: "stream" }).get(
    PATH,
    async ({ request }) => {
      const isWelcome = (): boolean => !request.signal.aborted && stillAdmits(gate, request, PATH);
      const lines = streams.open({ gate, isWelcome, status }, await status());
      return new Response(lines, { headers: { "content-type": "application/x-ndjson" } });
    },
    describe({
      id: "streamStatus",
      summary: "How the server is, from now on",
      description:
        "A line of JSON at once, and one whenever something changes, but for the time and what a " +
        "heartbeat changes. Empty lines between them, at least every five seconds, say that it " +
        "still stands. It ends with the credential it was opened with, and with the server; " +
        "whoever still wants it opens it again.",
      lines: Type.Object({ status: StatusReply }, { title: "StatusLine" }),
      refuses: [{ code: "too_many_requests", busy: "streams" }],
    }),
  );
};
