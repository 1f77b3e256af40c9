import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import type { Instant } from "../../../domain/time.ts";
import { jsonBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import { fields } from "../../request/fields.ts";
import { roleSchema } from "./access-reply.ts";
import { callerOf, readBearer } from "../../access/gate.ts";
import type { RouteDeps } from "../deps.ts";

const StartedSession = Type.Object({
  id: Type.String(),
  name: Type.String({ description: "The owner of the credential." }),
  role: roleSchema,
  token: Type.String({
    description: "Send it as Authorization: Bearer; it is not shown again.",
  }),
  expires_at: Type.String({ format: "date-time" }),
});

const StartReply = Type.Object(
  {
    session: Type.Union([StartedSession, Type.Null()], {
      description: "Null: administration is open here without a credential, so none is needed.",
    }),
  },
  { title: "StartedSession" },
);

export type StartedSessionReply = typeof StartedSession.static;

const EmptyBody = Type.Object({});
const RevokeBody = Type.Object({ id: fields.id }, { title: "RevokeSessionBody" });
const RevokeReply = Type.Object({ id: Type.String() }, { title: "RevokedSession" });

/** Sessions of the operator's page; `GET access` lists them. */
export const sessions = ({ access, peerOf }: RouteDeps) =>
  new Elysia({ name: "sessions", prefix: "/api/admin/v1/sessions" })
    .post(
      "",
      async ({ request }): Promise<typeof StartReply.static> => {
        const { actor, peer } = callerOf(request) ?? NO_CALLER;
        if (actor === null) return { session: null };
        // Otherwise a stolen session could be prolonged without limit.
        if (actor.sessionId !== null) return refuse({ code: "forbidden", reason: "session" });
        const credential = readBearer(request.headers.get("authorization") ?? "") ?? "";
        const { endsAt, ...session } = unwrap(await access.startSession(credential, peer));
        return { session: { ...session, expires_at: rfc3339(endsAt as Instant) } };
      },
      {
        ...jsonBody(EmptyBody, { emptyAllowed: true }),
        ...describeRoute({
          plane: "admin",
          allowsViewers: true,
          id: "startSession",
          summary: "Start a session of the operator's page",
          description:
            "Send a token, or a token of /auth. The session has the role of its owner. It ends after " +
            "12 hours, or when the token or the user is revoked, changed or expired. A restart of " +
            "the server does not end it.",
          reply: StartReply,
          refusals: [{ code: "forbidden", reason: "session" }],
        }),
      },
    )
    .post(
      "/revoke",
      async ({ body, request }): Promise<typeof RevokeReply.static> => {
        const { id } = body;
        if (id === undefined || id === "") {
          return refuse({ code: "missing_parameters", fields: ["id"] });
        }
        const { actor } = callerOf(request) ?? NO_CALLER;
        if (actor?.role === "viewer" && actor.sessionId !== id) {
          return refuse({ code: "forbidden", reason: "viewer" });
        }
        unwrap(await access.revokeSession(id, peerOf(request)));
        return { id };
      },
      {
        ...jsonBody(RevokeBody),
        ...describeRoute({
          plane: "admin",
          allowsViewers: true,
          id: "revokeSession",
          summary: "Revoke a session immediately",
          description: "With the id of the own session, it signs out. A viewer can only sign out.",
          requiredFields: ["id"],
          destructiveEffect: "The page with this session has to sign in again.",
          reply: RevokeReply,
          refusals: [
            "missing_parameters",
            "unknown_session",
            { code: "forbidden", reason: "viewer" },
          ],
        }),
      },
    );

const NO_CALLER = { actor: null, peer: "unknown" } as const;
