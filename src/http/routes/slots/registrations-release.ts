import { Type, type Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { jsonBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refusalReplyFor, refuse, unwrap } from "../../faults.ts";
import { field, fields, readIdentifier, readLicenseId } from "../../request/fields.ts";
import type { RouteDeps } from "../deps.ts";
import { UnregisterBody } from "./unregister.ts";
import { unwrapRelease } from "./unwrap-release.ts";

/** So many are released in 20 milliseconds, in steps between which other requests are served. */
const MAX_USERS = 500;

const ReleaseUsersBody = Type.Object(
  {
    product: fields.product,
    license_id: fields.license_id,
    users: field(`The users, one per line, at most ${MAX_USERS}.`),
  },
  { title: "ReleaseUsersBody", examples: [{ product: "DEMO", users: "ada\nbob" }] },
);

const ReleaseResult = Type.Object(
  {
    user: Type.String(),
    released: Type.Integer({ description: "Slots released; 0: it was refused." }),
    code: Type.Union([Type.String(), Type.Null()], { description: "Code of the refusal." }),
    message: Type.Union([Type.String(), Type.Null()]),
  },
  { title: "ReleaseResult" },
);

const ReleaseUsersReply = Type.Object(
  { released: Type.Integer(), results: Type.Array(ReleaseResult) },
  { title: "ReleaseUsersReply" },
);

export type ReleaseUsersReply = Static<typeof ReleaseUsersReply>;

const ReleaseAllBody = Type.Object(
  { product: fields.product },
  { title: "ReleaseAllBody", examples: [{ product: "DEMO" }] },
);

const ReleaseAllReply = Type.Object(
  {
    released: Type.Integer(),
    remaining: Type.Integer({
      description: "Slots still in use: borrowed ones that the license keeps until they end.",
    }),
  },
  { title: "ReleaseAllReply" },
);

const released = Type.Object({ released: Type.Integer() }, { title: "Released" });

/** Releases slots on behalf of their users. */
export const registrationsRelease = ({ slots, peerOf }: RouteDeps) =>
  new Elysia({ name: "registrations-release", prefix: "/api/admin/v1/registrations" })
    .post(
      "/release",
      async ({ body, request }) => {
        const input = {
          product: readIdentifier("product", body.product),
          user: readIdentifier("user", body.user),
          licenseId: readLicenseId(body.license_id),
          by: "admin" as const,
          peer: peerOf(request),
        };
        return unwrap(await slots.unregister(input));
      },
      {
        ...jsonBody(UnregisterBody),
        ...describeRoute({
          plane: "admin",
          id: "releaseRegistration",
          summary: "Release a user's slot",
          requiredFields: ["user"],
          destructiveEffect: "The user loses the slot immediately, and other users can take it.",
          reply: released,
          refusals: ["missing_parameters", "user_not_registered", "early_return_not_allowed"],
        }),
      },
    )
    .post(
      "/release/users",
      async ({ body, request }): Promise<ReleaseUsersReply> => {
        const users = readUsers(body.users);
        const results = await slots.unregisterUsers(users, {
          product: readIdentifier("product", body.product),
          licenseId: readLicenseId(body.license_id),
          by: "admin",
          peer: peerOf(request),
        });
        const replies = results.map((result, index) => {
          const user = users[index] ?? "";
          if (result.ok) return { user, ...result.value, code: null, message: null };
          const { code, message } = refusalReplyFor(request, result.fault);
          return { user, released: 0, code, message };
        });
        return {
          released: replies.reduce((sum, reply) => sum + reply.released, 0),
          results: replies,
        };
      },
      {
        ...jsonBody(ReleaseUsersBody),
        ...describeRoute({
          plane: "admin",
          id: "releaseUsers",
          summary: "Release the slots of several users",
          description:
            "Each user has a result of its own, in the order of the request; a refusal of one " +
            "does not affect the others.",
          requiredFields: ["users"],
          destructiveEffect: "The users lose their slots immediately, and others can take them.",
          reply: ReleaseUsersReply,
          refusals: ["missing_parameters", invalidUsers],
        }),
      },
    )
    .post(
      "/release/all",
      async ({ body, request }) => {
        const product =
          readIdentifier("product", body.product) ??
          refuse({ code: "missing_parameters", fields: ["product"] });
        return unwrapRelease(await slots.unregisterAll({ product, peer: peerOf(request) }));
      },
      {
        ...jsonBody(ReleaseAllBody),
        ...describeRoute({
          plane: "admin",
          id: "releaseProduct",
          summary: "Release all slots of a product",
          description:
            "Borrowed slots stay if the license does not allow an early return. The product is " +
            "always required.",
          requiredFields: ["product"],
          destructiveEffect:
            "All users of the product lose their slots immediately, and others can take them.",
          reply: ReleaseAllReply,
          refusals: ["missing_parameters", "unknown_product"],
        }),
      },
    );

const invalidUsers = {
  code: "invalid_parameter" as const,
  field: "users",
  expected: `at most ${MAX_USERS} users, one per line`,
};

/** Each user once: the second release of a slot would always be refused. */
function readUsers(text = ""): readonly string[] {
  const names = text.split("\n").flatMap((line) => readIdentifier("users", line) ?? []);
  const users = [...new Set(names)];
  if (users.length === 0) return refuse({ code: "missing_parameters", fields: ["users"] });
  return users.length > MAX_USERS ? refuse(invalidUsers) : users;
}
