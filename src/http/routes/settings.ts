import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { readNotices, type Notices } from "../../platform/notices.ts";
import { describe } from "../describe.ts";
import { refuse } from "../faults.ts";
import { SettingsReply } from "../served.ts";
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

/** What this server was told, and what it is made of. */
export const settings = ({ served }: RouteDeps) =>
  new Elysia({ name: "settings", prefix: "/api/admin/v1" })
    .get(
      "/settings",
      (): SettingsReply => served?.settings() ?? refuse({ code: "server_not_running" }),
      describe({
        id: "getSettings",
        summary: "Get the effective settings and their sources",
        reply: SettingsReply,
        refuses: ["server_not_running"],
      }),
    )
    .get(
      "/notices",
      (): Notices => readNotices(),
      describe({
        id: "getNotices",
        summary: "Get third-party notices and licenses",
        reply: NoticesReply,
      }),
    );
