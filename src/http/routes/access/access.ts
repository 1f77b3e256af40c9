import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Role, TokenRole, UserRole } from "../../../operations/access/access-control.ts";
import { isAcceptablePassword, PASSWORD_RULE } from "../../../platform/crypto/passwords.ts";
import type { Instant } from "../../../domain/time.ts";
import { jsonBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import { fields, readIdentifier } from "../../request/fields.ts";
import { callerOf } from "../../access/gate.ts";
import { AccessReply, accessReply, tokenRoleSchema } from "./access-reply.ts";
import { rfc3339OrNull } from "../../timestamps.ts";
import type { RouteDeps } from "../deps.ts";

const TokenReply = Type.Object(
  {
    name: Type.String(),
    role: tokenRoleSchema,
    token: Type.String({ description: "The token; it is not shown again." }),
    expires_at: Type.Union([Type.String({ format: "date-time" }), Type.Null()]),
  },
  { title: "CreatedToken" },
);

export type { AccessReply };
export type TokenReply = typeof TokenReply.static;

const NameBody = Type.Object({ name: fields.name }, { title: "NameBody" });
const CreateTokenBody = Type.Object(
  { name: fields.name, role: fields.role, days: fields.days },
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

const INVALID_USER_NAME = {
  code: "invalid_parameter",
  field: "name",
  expected: "letters, digits, single spaces and . _ - @ + \\, beginning with a letter or a digit",
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
        const actor = callerOf(request)?.actor ?? null;
        return accessReply(accessControl.list(), accessControl.isClaimed(), actor);
      },
      describeRoute({
        plane: "admin",
        id: "listAccess",
        summary: "List tokens, users and sessions, without their secrets",
        reply: AccessReply,
      }),
    )
    .post(
      "/tokens",
      async ({ body, request }): Promise<TokenReply> => {
        // No default: a role that was lost on the way must not make an administrator.
        requireFields(body, ["name", "role"]);
        const created = await accessControl.createToken(
          readTokenName(body.name),
          readDays(body.days),
          peerOf(request),
          readRole(body.role, TOKEN_ROLES),
        );
        const { name, role, token, endsAt } = unwrap(created);
        return { name, role, token, expires_at: rfc3339OrNull(endsAt as Instant | null) };
      },
      {
        ...jsonBody(CreateTokenBody),
        ...describeRoute({
          plane: "admin",
          id: "createToken",
          summary: "Create an administration token",
          description:
            "A viewer's token reads everything on the administration plane and changes nothing. A token " +
            "with the role metrics reads /metrics and nothing else.",
          requiredFields: ["name", "role"],
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
          destructiveEffect: "This token and its sessions are refused from now on.",
          reply: NameReply,
          refusals: ["missing_parameters", "unknown_name", "last_credential"],
        }),
      },
    )
    .post(
      "/users",
      async ({ body, request }) => {
        requireFields(body, ["name", "password"]);
        const name = readUserName(body.name);
        const role = readRole(body.role || "user", USER_ROLES);
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
          refusals: ["missing_parameters", INVALID_USER_NAME, INVALID_PASSWORD, "last_credential"],
        }),
      },
    )
    .post(
      "/users/remove",
      async ({ body, request }) => {
        const name = readName(body.name);
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

function requireFields<F extends string>(
  body: Readonly<Partial<Record<F, string>>>,
  names: readonly F[],
): void {
  const missing = names.filter((name) => !body[name]);
  if (missing.length > 0) refuse({ code: "missing_parameters", fields: missing });
}

/** Events show the name before an `@`, so it has few kinds of characters. */
const TOKEN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/**
 * Where applications log in, this is the user of their slots: an account of a system or an e-mail
 * address, in any script. No colon: in HTTP Basic it ends the name. No `#`: it ends the person in a
 * user name, so a login with it could act as an instance of another.
 */
const USER_NAME = /^[\p{L}\p{N}](?: ?[\p{L}\p{M}\p{N}._@+\\-])*$/u;

function readTokenName(value: string | undefined): string {
  const name = readName(value);
  return TOKEN_NAME.test(name) ? name : refuse(INVALID_TOKEN_NAME);
}

function readUserName(value: string | undefined): string {
  const name = readName(value);
  return USER_NAME.test(name) ? name : refuse(INVALID_USER_NAME);
}

function readName(value: string | undefined): string {
  return readIdentifier("name", value) ?? refuse({ code: "missing_parameters", fields: ["name"] });
}

const DEFAULT_TOKEN_DAYS = 365;

/** Null: the token never expires. */
function readDays(value: string | undefined): number | null {
  if (value === undefined || value === "") return DEFAULT_TOKEN_DAYS;
  if (value === "0") return null;
  if (/^[1-9]\d{0,3}$/.test(value)) return Number(value);
  return refuse({
    code: "invalid_parameter",
    field: "days",
    expected: "1 to 9999, or 0 for no expiry",
  });
}

const TOKEN_ROLES: readonly TokenRole[] = ["admin", "viewer", "metrics"];
const USER_ROLES: readonly UserRole[] = ["admin", "viewer", "user"];

function readRole<R extends Role>(value: string | undefined, roles: readonly R[]): R {
  const role = roles.find((candidate) => candidate === value);
  const expected = `${roles.slice(0, -1).join(", ")} or ${roles.at(-1)}`;
  return role ?? refuse({ code: "invalid_parameter", field: "role", expected });
}

function readPassword(value = ""): string {
  return isAcceptablePassword(value) ? value : refuse(INVALID_PASSWORD);
}
