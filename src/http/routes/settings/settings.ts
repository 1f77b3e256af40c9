import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { readNotices, type Notices } from "../../../platform/embedded/notices.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { callerOf } from "../../access/gate.ts";
import { refuse, unwrap } from "../../faults.ts";
import { jsonBody } from "../../request/body.ts";
import { fields } from "../../request/fields.ts";
import {
  SettingChangesReply,
  SettingsReply,
  type SettingEdit,
  type SettingEdits,
} from "../../running-server.ts";
import type { RouteDeps } from "../deps.ts";

const ChangeSettingsBody = Type.Object(
  { changes: fields.changes },
  { title: "ChangeSettingsBody" },
);

const INVALID_CHANGES = {
  code: "invalid_parameter",
  field: "changes",
  expected: 'an object such as {"site_name": "Plant 4"}, with a text or a list of texts each',
} as const;

const forViewer = (setting: SettingsReply["settings"][number]) => ({
  ...setting,
  editable: false,
  why_not: setting.why_not ?? "changing it needs an administrator; you are a viewer.",
});

/** All names that the object has; whether they are settings is decided later. */
function readChanges(text: string | undefined): SettingEdits {
  if (!text) return refuse({ code: "missing_parameters", fields: ["changes"] });
  const changes = parseJson(text);
  const isObject = typeof changes === "object" && changes !== null && !Array.isArray(changes);
  if (!isObject || !Object.values(changes).every(isSettingEdit)) return refuse(INVALID_CHANGES);
  return changes as SettingEdits;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const isSettingEdit = (value: unknown): value is SettingEdit =>
  value === null ||
  ["string", "number", "boolean"].includes(typeof value) ||
  (Array.isArray(value) && value.every((part) => typeof part === "string"));

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
export const settings = ({ runningServer, credentials, peerOf }: RouteDeps) =>
  new Elysia({ name: "settings", prefix: "/api/admin/v1" })
    .get(
      "/settings",
      async ({ request }): Promise<SettingsReply> => {
        if (runningServer === null) return refuse({ code: "server_not_running" });
        const { apiKey, sharedKey } = await credentials.listSet();
        const reply = {
          ...runningServer.settings(),
          cloud_keys: { api_key: apiKey, shared_key: sharedKey },
          read_only: callerOf(request)?.actor?.role === "viewer",
        };
        return reply.read_only ? { ...reply, settings: reply.settings.map(forViewer) } : reply;
      },
      describeRoute({
        plane: "admin",
        id: "getSettings",
        summary: "Get the effective settings and their sources",
        reply: SettingsReply,
        refusals: ["server_not_running"],
      }),
    )
    .post(
      "/settings",
      async ({ body, request }): Promise<SettingChangesReply> => {
        const changes = readChanges(body.changes);
        if (runningServer === null) return refuse({ code: "server_not_running" });
        const caller = { address: callerOf(request)?.peer ?? "", peer: peerOf(request) };
        return unwrap(await runningServer.changeSettings(changes, caller));
      },
      {
        ...jsonBody(ChangeSettingsBody),
        ...describeRoute({
          plane: "admin",
          id: "changeSettings",
          summary: "Change settings of the running server",
          description:
            "All changes apply at once, without a restart, or none does. The reply lists the " +
            "settings whose value is another one now.",
          requiredFields: ["changes"],
          reply: SettingChangesReply,
          refusals: [
            "missing_parameters",
            INVALID_CHANGES,
            "unknown_setting",
            "setting_not_editable",
            "invalid_setting",
            "own_address_excluded",
            "server_not_running",
          ],
        }),
      },
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
