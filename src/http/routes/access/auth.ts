import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import type { RouteDeps } from "../deps.ts";

const Reply = Type.Object(
  {
    message: Type.Literal("Login successful"),
    token: Type.String({ description: "Send it as Authorization: Bearer; valid for an hour." }),
  },
  { title: "LoginToken" },
);

const MAX_HEADER_LENGTH = 2_048;

/** The only route that accepts a password. */
export const auth = ({ access, peerOf, setActor }: RouteDeps) =>
  new Elysia({ name: "auth" }).get(
    "/auth",
    async ({ request }): Promise<typeof Reply.static> => {
      const credentials = readBasicCredentials(request.headers.get("authorization") ?? "");
      if (credentials === null) return refuse({ code: "unauthorized", isMissing: true });
      const { name, password } = credentials;
      const { actor, token } = unwrap(await access.login(name, password, peerOf(request)));
      setActor(request, actor);
      return { message: "Login successful", token };
    },
    describeRoute({
      plane: "login",
      id: "logIn",
      summary: "Log in with HTTP Basic to get a token",
      reply: Reply,
      refusals: ["unauthorized", "tls_required", "too_many_requests"],
    }),
  );

const utf8 = new TextDecoder("utf-8", { fatal: true });

function readBasicCredentials(
  header: string,
): { readonly name: string; readonly password: string } | null {
  const encoded = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header)?.[1];
  if (encoded === undefined || encoded.length > MAX_HEADER_LENGTH) return null;
  let text: string;
  try {
    text = utf8.decode(Buffer.from(encoded, "base64"));
  } catch {
    return null;
  }
  const colon = text.indexOf(":");
  if (colon < 1) return null;
  return { name: text.slice(0, colon).normalize("NFC"), password: text.slice(colon + 1) };
}
