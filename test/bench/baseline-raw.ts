// `baseline-raw BYTES`: the speed of the runtime alone. It parses the JSON of a request and answers
// a constant text with as many bytes as Berth's answer.
const text = "x".repeat(Number(process.argv[2]));
const headers = { "content-type": "application/json;charset=utf-8" };

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request) => {
    const { user } = (await request.json()) as { readonly user?: unknown };
    return new Response(text, { status: typeof user === "string" ? 200 : 400, headers });
  },
});
process.stdout.write(`${server.url.origin}\nready\n`);
