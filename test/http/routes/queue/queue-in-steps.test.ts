import { expect, test } from "bun:test";
import { err, ok } from "../../../../src/domain/result.ts";
import { joinToQueueReply } from "../../../../src/http/routes/queue/queue-reply.ts";
import { expectOk, openAppliance } from "../../../support/appliance.ts";
import { useShortSteps } from "../../../support/short-steps.ts";

const PRODUCTS = ["cad", "cam", "cap"];

const readText = async (parts: AsyncIterable<string>): Promise<string> =>
  (await Array.fromAsync(parts)).join("");

/** When a place ends depends on a clock that goes on. */
const withoutEnds = (reply: unknown): string =>
  JSON.stringify(reply).replaceAll(/"expires_at":"[^"]+"/g, '"expires_at":""');

test("the reply is the same JSON text, whatever the steps are", async () => {
  const site = await openAppliance({
    licenses: Object.fromEntries(
      PRODUCTS.map((product, index) => [index + 1, { product, slots: 1, features: [] }]),
    ),
  });
  // Nobody waits for `cam`.
  for (const [index, product] of PRODUCTS.entries()) {
    for (const user of ["zoe", "ada", "bob"].slice(0, index === 1 ? 1 : 3))
      await site.register({ product, user }, { prefer: "wait=0" });
  }
  const [response, atOnce] = await site.get<{ products: { places: object[] }[] }>(
    "/api/admin/v1/queue",
  );
  expect(response.headers.get("content-type")).toBe("application/json;charset=utf-8");
  expect(atOnce.products.map(({ places }) => places.length)).toEqual([2, 2]);
  useShortSteps();
  const inSteps = expectOk(await site.get("/api/admin/v1/queue"));
  expect(withoutEnds(inSteps)).toBe(withoutEnds(atOnce));
});

test("the text of a reply does not depend on where steps end", async () => {
  const pieces = [
    { isQueue: true, text: '{"product":"cad","places":[' },
    { isQueue: false, text: '{"user":"ada"}' },
    { isQueue: false, text: '{"user":"bob"}' },
    { isQueue: true, text: '{"product":"cam","places":[' },
    { isQueue: true, text: '{"product":"cap","places":[' },
    { isQueue: false, text: '{"user":"cid"}' },
  ];
  const expected =
    '{"products":[{"product":"cad","places":[{"user":"ada"},{"user":"bob"}]},' +
    '{"product":"cam","places":[]},{"product":"cap","places":[{"user":"cid"}]}]}';
  for (let end = 0; end <= pieces.length; end += 1) {
    const steps = async function* () {
      yield ok(pieces.slice(0, end));
      yield ok([]);
      yield ok(pieces.slice(end));
    };
    expect(await readText(joinToQueueReply(steps()))).toBe(expected);
  }
  const none = async function* () {
    yield ok([]);
  };
  expect(await readText(joinToQueueReply(none()))).toBe('{"products":[]}');
});

test("a step that fails ends the reply with its fault", async () => {
  const steps = async function* () {
    yield ok([]);
    yield err({ code: "storage_failed" } as const);
  };
  const fault = readText(joinToQueueReply(steps())).catch((error: unknown) => error);
  expect(await fault).toMatchObject({ fault: { code: "storage_failed" } });
});
