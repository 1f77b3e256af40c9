// `baseline-raw BYTES`: what the runtime itself can do. It reads the JSON of a request and answers a text
// that is always the same, of as many bytes as Berth's answer has.
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
