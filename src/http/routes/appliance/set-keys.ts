import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { jsonBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import { fields, readSecret } from "../../request/fields.ts";
import { readQuery } from "../../request/query.ts";
import type { RouteDeps } from "../deps.ts";

const KeysBody = Type.Object(
  { apiKey: fields.apiKey, sharedKey: fields.sharedKey },
  { title: "SetKeysBody", examples: [{ apiKey: "an-api-key", sharedKey: "a-shared-key" }] },
);

const Reply = Type.Object(
  {
    status: Type.Literal(200),
    updated: Type.Array(Type.Union([Type.Literal("apiKey"), Type.Literal("sharedKey")]), {
      description: "Keys that were changed.",
    }),
  },
  { title: "UpdatedKeys" },
);

const operation = {
  plane: "admin" as const,
  summary: "Set the API key and the shared key for the remote licensing cloud",
  description: "No operation shows the keys again. An empty or absent key is not changed.",
  reply: Reply,
};

/** By GET because the contract requires it; by POST so that a URL need not contain secrets. */
export const setKeys = ({ credentials, peerOf }: RouteDeps) => {
  const set = async (keys: Partial<typeof KeysBody.static>, request: Request) => {
    const updated = unwrap(
      await credentials.set(
        {
          apiKey: readSecret("apiKey", keys.apiKey),
          sharedKey: readSecret("sharedKey", keys.sharedKey),
        },
        peerOf(request),
      ),
    );
    return { status: 200 as const, updated };
  };
  return new Elysia({ name: "set-keys" })
    .get(
      "/api/v4/setKeys",
      ({ request, set: { headers } }) => {
        headers["deprecation"] = "true";
        headers["link"] = '</api/v4/setKeys>; rel="alternate"; title="POST"';
        refuseRepeated(request);
        return set(readQuery(KeysBody, request, headers), request);
      },
      describeRoute({
        ...operation,
        id: "setKeys",
        changesByGet: true,
        query: KeysBody,
        refusals: [repeatedParameter("apiKey")],
      }),
    )
    .post("/api/v4/setKeys", ({ body, request }) => set(body, request), {
      ...jsonBody(KeysBody),
      ...describeRoute({ ...operation, id: "setKeysByBody" }),
    });
};

/** Of two values it is unclear which one is meant, so a repeated secret is refused. */
function refuseRepeated(request: Request): void {
  const names = [...new URL(request.url).searchParams.keys()].map((name) => name.toLowerCase());
  for (const field of ["apiKey", "sharedKey"]) {
    const count = names.filter((name) => name === field.toLowerCase()).length;
    if (count > 1) refuse(repeatedParameter(field));
  }
}

const repeatedParameter = (field: string) =>
  ({ code: "invalid_parameter", field, expected: "given once" }) as const;
