// `baseline-elysia BYTES`: the speed of the framework alone. It validates the body and answers a
// constant text of so many bytes, without a gate or rules: what Berth adds comes on top of this.
import { Elysia, t } from "elysia";

const text = "x".repeat(Number(process.argv[2]));
const field = t.Optional(t.String());
const body = t.Object({
  product: field,
  user: field,
  os_hostname: field,
  ip_local: field,
  user_info: field,
});

const app = new Elysia()
  .post(
    "/api/v4/register",
    ({ body: { user }, set }) => {
      set.headers["content-type"] = "application/json;charset=utf-8";
      set.status = user === undefined ? 400 : 200;
      return text;
    },
    { body },
  )
  .listen({ hostname: "127.0.0.1", port: 0 });
process.stdout.write(`${app.server?.url.origin}\nready\n`);
