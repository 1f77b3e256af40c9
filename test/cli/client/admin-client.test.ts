import { expect, test } from "bun:test";
import { unwrapReply } from "../../../src/cli/client/admin-client.ts";

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
