import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { readNotices, type Notices } from "../../platform/embedded/notices.ts";
import { describeRoute } from "../openapi/describe-route.ts";
import { refuse } from "../faults.ts";
import { SettingsReply } from "../running-server.ts";
import type { RouteDeps } from "./deps.ts";

const Notice = Type.Object(
  {
    name: Type.String(),
    version: Type.String(),
    license: Type.String(),
    text: Type.String(),
  },
  { title: "Notice" },
);

const NoticesReply = Type.Object(
  { runtime: Notice, packages: Type.Array(Notice) },
  { title: "Notices" },
);

export type NoticesReply = typeof NoticesReply.static;

/** The settings of the server, and third-party notices. */
export const settings = ({ runningServer }: RouteDeps) =>
  new Elysia({ name: "settings", prefix: "/api/admin/v1" })
    .get(
      "/settings",
      (): SettingsReply => runningServer?.settings() ?? refuse({ code: "server_not_running" }),
      describeRoute({
        plane: "admin",
        id: "getSettings",
        summary: "Get the effective settings and their sources",
        reply: SettingsReply,
        refusals: ["server_not_running"],
      }),
    )
    .get(
      "/notices",
      (): Notices => readNotices(),
      describeRoute({
        plane: "admin",
        id: "getNotices",
        summary: "Get third-party notices and licenses",
        reply: NoticesReply,
      }),
    );
