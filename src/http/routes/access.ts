import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { isAcceptablePassword, PASSWORD_RULE } from "../../platform/crypto/passwords.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import type { Instant } from "../../domain/time.ts";
import { jsonBody } from "../request/body.ts";
import { describeRoute } from "../openapi/describe-route.ts";
import { refuse, unwrap } from "../faults.ts";
import { fields, readIdentifier } from "../request/fields.ts";
import { callerOf } from "../access/gate.ts";
import { rfc3339OrNull } from "../timestamps.ts";
import type { RouteDeps } from "./deps.ts";

const time = Type.String({ format: "date-time" });
const nullableTime = Type.Union([time, Type.Null()]);

const SignedIn = Type.Object({
  name: Type.String(),
  credential: Type.Union([Type.Literal("token"), Type.Literal("user")]),
});

const AccessReply = Type.Object(
  {
    credential_required: Type.Boolean({
      description: "Administration requires a credential, also on this machine.",
    }),
    tokens: Type.Array(
      Type.Object({
        name: Type.String(),
        created_at: time,
        expires_at: nullableTime,
        is_expired: Type.Boolean({
          description: "An expired token stays expired, even when the clock is set back.",
        }),
      }),
    ),
    users: Type.Array(
      Type.Object({ name: Type.String(), role: Type.String(), password_set_at: time }),
    ),
    signed_in_as: Type.Union([SignedIn, Type.Null()], {
      description: "The credential of this request; null if it had none.",
    }),
  },
  { title: "Access" },
);

const TokenReply = Type.Object(
  {
    name: Type.String(),
    token: Type.String({ description: "The token; it is not shown again." }),
    expires_at: nullableTime,
  },
  { title: "CreatedToken" },
);

export type AccessReply = typeof AccessReply.static;
export type TokenReply = typeof TokenReply.static;

const NameBody = Type.Object({ name: fields.name }, { title: "NameBody" });
const CreateTokenBody = Type.Object(
  { name: fields.name, days: fields.days },
  { title: "CreateTokenBody" },
);
const SetUserBody = Type.Object(
  { name: fields.name, role: fields.role, password: fields.password },
  { title: "SetUserBody" },
);
const NameReply = Type.Object({ name: Type.String() }, { title: "Name" });

const INVALID_TOKEN_NAME = {
  code: "invalid_parameter",
  field: "name",
  expected: "1 to 64 letters, digits, dots, dashes and underscores",
} as const;

const INVALID_PASSWORD = {
  code: "invalid_parameter",
  field: "password",
  expected: PASSWORD_RULE,
} as const;

/** Tokens and users. */
export const access = ({ access: accessControl, peerOf }: RouteDeps) =>
  new Elysia({ name: "access", prefix: "/api/admin/v1/access" })
    .get(
      "",
      ({ request }): AccessReply => {
        const { tokens, users } = accessControl.list();
        const actor = callerOf(request)?.actor ?? null;
        return {
          credential_required: accessControl.isClaimed(),
          tokens: tokens.map(({ name, madeAt, endsAt, ended }) => ({
            name,
            created_at: rfc3339(madeAt as Instant),
            expires_at: rfc3339OrNull(endsAt as Instant | null),
            is_expired: ended,
          })),
          users: users.map(({ name, role, setAt }) => ({
            name,
            role,
            password_set_at: rfc3339(setAt as Instant),
          })),
          signed_in_as: actor && { name: actor.name, credential: actor.credentialType },
        };
      },
      describeRoute({
        plane: "admin",
        id: "listAccess",
        summary: "List tokens and users, without their secrets",
        reply: AccessReply,
      }),
    )
    .post(
      "/tokens",
      async ({ body, request }): Promise<TokenReply> => {
        const created = await accessControl.createToken(
          readTokenName(body.name),
          readDays(body.days),
          peerOf(request),
        );
        const { name, token, endsAt } = unwrap(created);
        return { name, token, expires_at: rfc3339OrNull(endsAt as Instant | null) };
      },
      {
        ...jsonBody(CreateTokenBody),
        ...describeRoute({
          plane: "admin",
          id: "createToken",
          summary: "Create an administration token",
          requiredFields: ["name"],
          reply: TokenReply,
          refusals: ["missing_parameters", INVALID_TOKEN_NAME, "name_taken"],
        }),
      },
    )
    .post(
      "/tokens/revoke",
      async ({ body, request }) => {
        const name = readTokenName(body.name);
        unwrap(await accessControl.revokeToken(name, peerOf(request)));
        return { name };
      },
      {
        ...jsonBody(NameBody),
        ...describeRoute({
          plane: "admin",
          id: "revokeToken",
          summary: "Revoke a token immediately",
          requiredFields: ["name"],
          destructiveEffect: "This token is refused from now on.",
          reply: NameReply,
          refusals: ["missing_parameters", "unknown_name", "last_credential"],
        }),
      },
    )
    .post(
      "/users",
      async ({ body, request }) => {
        const missing = (["name", "password"] as const).filter((field) => !body[field]);
        if (missing.length > 0) return refuse({ code: "missing_parameters", fields: missing });
        const name = readUserName(body.name);
        const { role = "user" } = body;
        if (role !== "admin" && role !== "user") {
          return refuse({ code: "invalid_parameter", field: "role", expected: "admin or user" });
        }
        const password = readPassword(body.password);
        unwrap(await accessControl.setUser(name, role, password, peerOf(request)));
        return { name };
      },
      {
        ...jsonBody(SetUserBody),
        ...describeRoute({
          plane: "admin",
          id: "setUser",
          summary: "Add a user, or change the password or role of a user",
          requiredFields: ["name", "password"],
          reply: NameReply,
          refusals: ["missing_parameters", INVALID_PASSWORD, "last_credential"],
        }),
      },
    )
    .post(
      "/users/remove",
      async ({ body, request }) => {
        const name = readUserName(body.name);
        unwrap(await accessControl.removeUser(name, peerOf(request)));
        return { name };
      },
      {
        ...jsonBody(NameBody),
        ...describeRoute({
          plane: "admin",
          id: "removeUser",
          summary: "Remove a user, and revoke its login tokens",
          requiredFields: ["name"],
          destructiveEffect:
            "This user can no longer log in, and its login tokens are refused immediately.",
          reply: NameReply,
          refusals: ["missing_parameters", "unknown_name", "last_credential"],
        }),
      },
    );

/** Events show the name before an `@`, so it has few kinds of characters. */
function readTokenName(value: string | undefined): string {
  const name = readIdentifier("name", value);
  if (name === null) return refuse({ code: "missing_parameters", fields: ["name"] });
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) return name;
  return refuse(INVALID_TOKEN_NAME);
}

/** Same rules as `user` in other requests, but no colon: in HTTP Basic it ends the name. */
function readUserName(value: string | undefined): string {
  const name = readIdentifier("name", value);
  if (name === null) return refuse({ code: "missing_parameters", fields: ["name"] });
  if (!name.includes(":")) return name;
  return refuse({ code: "invalid_parameter", field: "name", expected: "without a colon" });
}

function readDays(value: string | undefined): number | null {
  if (value === undefined || value === "") return null;
  if (/^[1-9]\d{0,3}$/.test(value)) return Number(value);
  return refuse({ code: "invalid_parameter", field: "days", expected: "1 to 9999" });
}

function readPassword(value = ""): string {
  return isAcceptablePassword(value) ? value : refuse(INVALID_PASSWORD);
}
