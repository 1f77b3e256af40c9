import { expect, test } from "bun:test";
import type { Operation, RequestField } from "../../src/web/docs/document.ts";
import {
  jsonBodyOf,
  exampleValues,
  buildRequest,
  type RequestFormState,
} from "../../src/web/docs/outgoing-request.ts";

const field = (name: string, more: Partial<RequestField> = {}): RequestField => ({
  name,
  location: "body",
  description: "",
  type: "string",
  isRequired: false,
  maxBytes: null,
  example: "",
  isTime: false,
  ...more,
});

const operation = (more: Partial<Operation> = {}): Operation => ({
  id: "post-api-v4-borrow",
  group: "contract",
  method: "POST",
  path: "/api/v4/borrow",
  summary: "",
  description: "",
  plane: "client",
  destructionWarning: null,
  fields: [
    field("user", { example: "ada" }),
    field("user_info"),
    field("borrowed_until", { example: "2020-01-01T00:00:00Z", isTime: true }),
    field("X-Nonce", { location: "header" }),
  ],
  hasBody: true,
  canUploadFile: false,
  replies: [],
  refusals: [],
  ...more,
});

const filled = (more: Partial<RequestFormState> = {}): RequestFormState => ({
  values: {},
  mode: "fields",
  body: "",
  file: null,
  ...more,
});

const NOW = Date.parse("2026-03-01T12:34:56Z");

test("examples are the document's, and a time is still to come", () => {
  expect(exampleValues(operation(), NOW)).toEqual({
    user: "ada",
    user_info: "",
    borrowed_until: "2026-03-08T12:00:00Z",
    "X-Nonce": "",
  });
});

test("a time without an example stays out", () => {
  const { fields } = operation();
  const without = operation({ fields: fields.map((one) => ({ ...one, example: "" })) });
  expect(exampleValues(without, NOW)["borrowed_until"]).toBe("");
});

test("what is left empty is left out; headers are headers", () => {
  const values = { user: `o'"\\ 名`, user_info: "", "X-Nonce": "0123456789abcdef" };
  expect(buildRequest(operation(), filled({ values }))).toEqual({
    method: "POST",
    path: "/api/v4/borrow",
    headers: {
      Accept: "application/json",
      "Content-Type": "application/json",
      "X-Nonce": "0123456789abcdef",
    },
    body: `{"user":"o'\\"\\\\ 名"}`,
  });
});

test("a name like __proto__ is a name", () => {
  const odd = operation({ fields: [field("__proto__")] });
  expect(jsonBodyOf(odd, JSON.parse('{"__proto__":"x"}') as RequestFormState["values"])).toBe(
    '{"__proto__":"x"}',
  );
});

test("a query is written as a query, and no body goes with it", () => {
  const get = operation({
    method: "GET",
    path: "/api/v4/setKeys",
    hasBody: false,
    fields: [field("apiKey", { location: "query" }), field("sharedKey", { location: "query" })],
  });
  const { path, body, headers } = buildRequest(get, filled({ values: { apiKey: "a&b=c d" } }));
  expect(path).toBe("/api/v4/setKeys?apiKey=a%26b%3Dc+d");
  expect(body).toBeNull();
  expect(headers).toEqual({ Accept: "application/json" });
  expect(buildRequest(get, filled()).path).toBe("/api/v4/setKeys");
});

test("what is written by hand goes out as it is, even broken", () => {
  const json = buildRequest(operation(), filled({ mode: "json", body: '{"user":' }));
  expect([json.body, json.headers["Content-Type"]]).toEqual(['{"user":', "application/json"]);
  const text = buildRequest(
    operation({ canUploadFile: true }),
    filled({ mode: "text", body: "eyJ" }),
  );
  expect([text.body, text.headers["Content-Type"]]).toEqual(["eyJ", "text/plain"]);
});

test("a file goes as a file, and the browser names its type", () => {
  const file = new File(["eyJ"], "answer.jwt");
  const sending = buildRequest(operation({ canUploadFile: true }), filled({ mode: "file", file }));
  expect(sending.body).toBe(file);
  expect(sending.headers).toEqual({ Accept: "application/json" });
});
