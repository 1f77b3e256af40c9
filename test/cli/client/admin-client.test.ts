import { expect, test } from "bun:test";
import { join } from "node:path";
import { unwrapReply, withAdminClient } from "../../../src/cli/client/admin-client.ts";
import { runJsonOrThrow, runOrThrow } from "../../support/run-berth.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const refuse = (value: unknown): Promise<unknown> =>
  unwrapReply(Promise.resolve({ data: null, error: { value }, response: new Response() })).catch(
    (error: unknown) => error,
  );

test("unwrapReply says that the server is older if it lacks the route of a command", async () => {
  const reply = { status: 404, code: "not_found", message: "no route has this path" };
  expect(await refuse(reply)).toMatchObject({
    statement: "no route has this path",
    hint: expect.stringContaining("the server is of an older version"),
  });
});

test("unwrapReply passes on the hint of the server", async () => {
  const reply = { status: 404, code: "not_found", message: "no such backup", hint: "list them" };
  expect(await refuse(reply)).toMatchObject({ statement: "no such backup", hint: "list them" });
});

test("unwrapReply says that a reply ended early", async () => {
  const closed = new TypeError("The socket connection was closed");
  const failure = await unwrapReply(Promise.reject(closed)).catch((error: unknown) => error);
  expect(failure).toMatchObject({
    message: "the server's response was interrupted",
    hint: expect.stringContaining("the server's log"),
  });
});

test("a command that changes a stopped folder leaves a checkpoint of its change", async () => {
  const folder = join(tempFolder(), "data");
  const data = ["--data", folder];
  await makeLicensedSite(folder, { product: "cad" });
  const verify = () => runJsonOrThrow<{ seq: number; checkpoint_seq: number }>(["verify", ...data]);
  const before = await verify();
  await runOrThrow(["license", "request", "--product", "cad", ...data]);
  const after = await verify();
  expect(after.seq).toBeGreaterThan(before.seq);
  expect(after.checkpoint_seq).toBe(after.seq);
});

test("a command waits for a server that has too many long jobs, as long as it says", async () => {
  const folder = tempFolder();
  let calls = 0;
  const server = Bun.serve({
    unix: join(folder, "berth.sock"),
    fetch({ url }) {
      if (!url.endsWith("/report")) return Response.json({ status: "ok" });
      calls += 1;
      if (calls === 3)
        return Response.json({ status: 400, code: "unknown_product", message: "no" });
      const fault = { status: 503, code: "too_many_jobs", message: "busy" };
      return Response.json(fault, { status: 503, headers: { "retry-after": "0.01" } });
    },
  });
  const get = () =>
    withAdminClient({ data: folder, identity: null }, { environment: {} }, ({ admin }) =>
      unwrapReply(admin.report.get({ query: {} })),
    );
  expect(await get().finally(() => server.stop(true))).toMatchObject({ code: "unknown_product" });
  expect(calls).toBe(3);
});
