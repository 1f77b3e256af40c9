// `baseline-elysia REPLY`: the speed of the framework alone. It validates the body and sends the
// same bytes as Berth, without a gate or rules: what Berth adds comes on top of this.
import { Elysia, t } from "elysia";
import { readReplyArgument } from "./constant-reply.ts";

const { headers, body: reply } = readReplyArgument();
const field = t.Optional(t.String());
const body = t.Object({
  product: field,
  user: t.String(),
  os_hostname: field,
  ip_local: field,
  user_info: field,
});

const app = new Elysia()
  .post(
    "/api/v4/register",
    ({ set }) => {
      Object.assign(set.headers, headers);
      return reply;
    },
    { body },
  )
  .listen({ hostname: "127.0.0.1", port: 0 });
process.stdout.write(`${app.server?.url.origin}\nready\n`);
