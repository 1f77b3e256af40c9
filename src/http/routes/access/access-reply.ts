import { Type } from "@sinclair/typebox";
import type { Instant } from "../../../domain/time.ts";
import type { Actor } from "../../../operations/access/access-control.ts";
import type { AccessView, LastUse, SessionView } from "../../../operations/access/access-list.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import { rfc3339OrNull } from "../../timestamps.ts";

const time = Type.String({ format: "date-time" });
const nullableTime = Type.Union([time, Type.Null()]);

const credential = Type.Union([Type.Literal("token"), Type.Literal("user")]);
export const tokenRoleSchema = Type.Union([
  Type.Literal("admin"),
  Type.Literal("viewer"),
  Type.Literal("metrics"),
]);
export const roleSchema = Type.Union([
  Type.Literal("admin"),
  Type.Literal("viewer"),
  Type.Literal("metrics"),
  Type.Literal("user"),
]);

const LAST_USE = {
  last_used_at: Type.Union([time, Type.Null()], {
    description: "Saved once an hour and when the server stops; null: not used yet.",
  }),
  last_used_from: Type.Union([Type.String(), Type.Null()]),
};

const SignedIn = Type.Object({
  name: Type.String(),
  credential,
  role: roleSchema,
  session_id: Type.Union([Type.String(), Type.Null()], {
    description: "The session of this request; null if the credential itself was sent.",
  }),
});

const SessionReply = Type.Object({
  id: Type.String(),
  name: Type.String({ description: "The owner of the credential that started it." }),
  credential,
  role: roleSchema,
  created_at: time,
  last_used_at: time,
  address: Type.String({ description: "Where it was last used from." }),
  expires_at: time,
  is_current: Type.Boolean({ description: "This request belongs to it." }),
});

export const AccessReply = Type.Object(
  {
    credential_required: Type.Boolean({
      description: "Administration requires a credential, also on this machine.",
    }),
    tokens: Type.Array(
      Type.Object({
        name: Type.String(),
        role: tokenRoleSchema,
        created_at: time,
        expires_at: nullableTime,
        is_expired: Type.Boolean({
          description: "An expired token stays expired, even when the clock is set back.",
        }),
        ...LAST_USE,
      }),
    ),
    users: Type.Array(
      Type.Object({ name: Type.String(), role: roleSchema, password_set_at: time, ...LAST_USE }),
    ),
    sessions: Type.Array(SessionReply, { description: "Sessions of the operator's page." }),
    signed_in_as: Type.Union([SignedIn, Type.Null()], {
      description: "The credential of this request; null if it had none.",
    }),
  },
  { title: "Access" },
);

export type AccessReply = typeof AccessReply.static;

/** `actor`: the caller, whose own session is marked. */
export const accessReply = (
  { tokens, users, sessions }: AccessView,
  isClaimed: boolean,
  actor: Actor | null,
): AccessReply => ({
  credential_required: isClaimed,
  tokens: tokens.map(({ name, role, madeAt, endsAt, ended, lastUse }) => ({
    name,
    role,
    created_at: rfc3339(madeAt as Instant),
    expires_at: rfc3339OrNull(endsAt as Instant | null),
    is_expired: ended,
    ...lastUseReply(lastUse),
  })),
  users: users.map(({ name, role, setAt, lastUse }) => ({
    name,
    role,
    password_set_at: rfc3339(setAt as Instant),
    ...lastUseReply(lastUse),
  })),
  sessions: sessions.map((session) => sessionReply(session, actor)),
  signed_in_as: actor && {
    name: actor.name,
    credential: actor.credentialType,
    role: actor.role,
    session_id: actor.sessionId,
  },
});

const lastUseReply = (lastUse: LastUse | null) => ({
  last_used_at: rfc3339OrNull((lastUse?.at ?? null) as Instant | null),
  last_used_from: lastUse?.address ?? null,
});

const sessionReply = (
  { id, name, credential: type, role: ownerRole, madeAt, lastUse, endsAt }: SessionView,
  actor: Actor | null,
): typeof SessionReply.static => ({
  id,
  name,
  credential: type,
  role: ownerRole,
  created_at: rfc3339(madeAt as Instant),
  last_used_at: rfc3339(lastUse.at as Instant),
  address: lastUse.address,
  expires_at: rfc3339(endsAt as Instant),
  is_current: actor?.sessionId === id,
});
