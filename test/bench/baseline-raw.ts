// `baseline-raw REPLY`: the ceiling, which is what the runtime alone can do. It parses the JSON of a
// request and sends the same bytes as Berth, in the fastest way that was found: with the headers
// prepared once.
import { readReplyArgument } from "./constant-reply.ts";

const { headers, body } = readReplyArgument();
const init = { headers: new Headers(headers) };

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request) => {
    const { user } = (await request.json()) as { readonly user?: unknown };
    return typeof user === "string"
      ? new Response(body, init)
      : new Response(null, { status: 400 });
  },
});
process.stdout.write(`${server.url.origin}\nready\n`);
