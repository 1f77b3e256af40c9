import { Elysia } from "elysia";
import { describeRoute } from "../../openapi/describe-route.ts";
import type { RouteDeps } from "../deps.ts";
import { statusReply } from "./status-reply.ts";
import { StatusReply } from "./status-schema.ts";

export const status = (services: RouteDeps) =>
  new Elysia({ name: "status", prefix: "/api/admin/v1" }).get(
    "/status",
    () => statusReply(services),
    describeRoute({
      plane: "admin",
      id: "getStatus",
      summary: "Get server status",
      reply: StatusReply,
    }),
  );
